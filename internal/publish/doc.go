// Package publish makes words known that have one writer at a time, who does not need
// to see others' later stores: the gen of a slot.
//
// Go's atomic store on amd64 is a locked exchange, which also orders later loads and
// takes twenty times as long. A plain store is a release there: the processor makes
// stores visible in their order, and the compiler emits them in that of the program,
// since each takes the memory that the one before left. Likewise a plain load is an
// acquire there for what is loaded behind a branch on it. TestReleaseLitmus of package
// shard looks for a reader that sees a word too early. Under the race detector, which
// needs to see an atomic store, and on other processors, where that costs no more
// than a release, the store is an atomic one.
package publish
