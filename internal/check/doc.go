// Package check is the one gate for checks that a release build does without:
// they run under the race detector and under the build tag atollcheck, and cost
// nothing elsewhere.
package check
