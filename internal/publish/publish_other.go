//go:build !amd64 || race

package publish

import "sync/atomic"

// Store32 stores v so that whoever loads it atomically sees every write before it.
func Store32(addr *uint32, v uint32) { atomic.StoreUint32(addr, v) }
