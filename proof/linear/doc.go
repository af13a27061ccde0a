// Package linear records what clients do to the handles of one world and when,
// and checks that each slot behaved as if those operations had happened one by one,
// in an order that real time allows: linearizability, after Herlihy and Wing.
//
//	go test ./proof/linear -run TestLinear -v                              a thousand histories
//	go test ./proof/linear -run TestLinear -v -timeout 0 -histories 100000
//
// Clients are ports, each on a goroutine of its own; systems of a scheduler, on its
// workers; and the world between ticks. What a handle may answer depends on its slot
// alone, so a history is checked slot by slot. The checker is porcupine.
//
// TestTrades does the same for transactions: ports trade between few purses, and look at two of them
// by questions, by a transaction or in a frame, which is one step each.
//
// Time is one atomic counter. What it orders, the memory model orders too. A plain
// clock would also order operations without synchronization between them. Then
// a release store, by which Atoll publishes a slot, may rightly be seen late.
package linear
