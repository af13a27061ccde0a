//go:build !amd64 || race

package shard

import "sync/atomic"

// storeRelease stores v so that whoever loads it atomically sees every write
// before it. The race detector needs to see an atomic store, and elsewhere than
// on amd64 it costs no more than a release.
func storeRelease(addr *uint32, v uint32) { atomic.StoreUint32(addr, v) }
