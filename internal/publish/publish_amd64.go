//go:build !race

package publish

// Store32 stores v. A goroutine that loads v atomically also sees every write before it.
func Store32(addr *uint32, v uint32) { *addr = v }
