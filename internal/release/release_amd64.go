//go:build !race

package shard

// storeRelease stores v so that whoever loads it atomically sees every write
// before it. Go's atomic store on amd64 is a locked exchange, which also orders
// later loads and takes twenty times as long. A plain store is a release there:
// the processor makes stores visible in their order, and the compiler emits them
// in that of the program, since each takes the memory that the one before left. It
// serves a word with one writer at a time, who does not need to see others' later
// stores: a slot's gen. A test looks for a reader that sees the word too early;
// under the race detector, and elsewhere, the store is an atomic one.
func storeRelease(addr *uint32, v uint32) { *addr = v }
