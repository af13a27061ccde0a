//go:build !amd64 || race

package publish

import "sync/atomic"

// Store32 stores v. A goroutine that loads v atomically also sees every write before it.
func Store32(addr *uint32, v uint32) { atomic.StoreUint32(addr, v) }
