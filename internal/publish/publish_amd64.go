//go:build !race

package publish

// Store32 stores v so that whoever loads it atomically sees every write before it.
func Store32(addr *uint32, v uint32) { *addr = v }

// Load32 is an atomic load for a word that is compared at once: what else is loaded
// must be behind a branch that the comparison decides.
func Load32(addr *uint32) uint32 { return *addr }
