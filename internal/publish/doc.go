// Package publish stores words that are written by the thousand in one loop and that other
// goroutines read by atomic loads: the generation of slots, in batches of creates and destroys.
// Each word has one writer at a time, which need not see others' later stores.
//
// Go's atomic store on amd64 is a locked exchange, which also orders later loads; in a batch of
// destroys it takes a third of the time. A plain store is a release there: the processor makes
// stores visible in program order, and the compiler keeps that order, since each store takes the
// memory state that the one before left. By Go's memory model it is a data race all the same. So
// this package has the only such store, and TestReleaseLitmus of package store looks for a reader
// that sees a word too early. The race detector needs to see an atomic store, and on other
// processors an atomic store costs no more than a release; in both cases the store is atomic.
// docs/decisions/0002-plain-stores-in-batches.md has the measurements.
package publish
