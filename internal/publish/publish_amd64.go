//go:build !race

package publish

// Store32 stores v so that whoever loads it atomically sees every write before it.
func Store32(addr *uint32, v uint32) { *addr = v }
