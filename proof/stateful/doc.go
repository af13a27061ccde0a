// Package stateful does random operations on a world and on a naive model, a
// map of entities and a list of requests, and compares all answers.
//
//	go test ./proof/stateful -v                              a short run
//	go test ./proof/stateful -v -timeout 0 -operations 100000000
//
// The operations are those of the whole API: as the idle world, one by one and in
// batches, as ports, and as systems through a scheduler. Slots have 3 to 8 bits of
// versions, so they retire all the time. rapid draws the operations. It shrinks a
// failure, and the message says how to run it again.
//
// TestModel in package world is a small version without another module: a few thousand
// operations on creating, destroying and commanding.
package stateful
