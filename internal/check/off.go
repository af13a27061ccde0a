//go:build !race && !atollcheck

package check

// Enabled says whether the costly checks run.
const Enabled = false

// Count is the length of fields that only the checks use.
const Count = 0
