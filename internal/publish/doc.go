// Package publish stores words of which many are written in one loop, and which other
// goroutines read by atomic loads: the generation of slots, in batches of creates and destroys.
// Each word has one writer at a time, who need not see others' later stores.
//
// Go's atomic store on amd64 is a locked exchange, which also orders later loads; in a
// batch of destroys it takes a third of the time. A plain store is a release there: the
// processor makes stores visible in their order, and the compiler emits them in that of
// the program, since each takes the memory that the one before left. By Go's memory model
// it is a data race all the same, so this is the only one, and TestReleaseLitmus of
// package store looks for a reader that sees a word too early. Under the race detector, which needs
// to see an atomic store, and on other processors, where that costs no more than a release,
// the store is an atomic one. docs/decisions/0002-plain-stores-in-batches.md has the
// measurements.
package publish
