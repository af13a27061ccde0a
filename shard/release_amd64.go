//go:build amd64 && !race

package shard

// storeRelease stores v so that whoever loads it atomically sees every write
// before it. Go's atomic store on amd64 is a locked exchange that also orders
// later loads, for four times the cost; a plain store is a release there, since
// the processor keeps stores in order and the compiler does not move anything
// across the call. It serves a word with one writer at a time, who does not
// need to see others' later stores: a slot's gen.
//
//go:noescape
func storeRelease(addr *uint32, v uint32)
