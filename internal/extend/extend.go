// Package extend is what a world and what stands on it agree on: the methods that a refresh calls,
// and the words in which a tick, its inputs and its state are described. It lies below packages
// refresh and engine, so that these can call an extension, a Recorder or a system without knowing
// it. What is called in the other direction is in package engine.
//
// What an extension implements, in the order in which a refresh comes to it:
//
//	extension.go  Extension, which relations and names are; DyingSet; Naming, Excerpt
//	late.go       Late: work when the rows are where they stay, such as timers
//	derived.go    Derived: an index, which can be computed again
//	framed.go     Framed: what frames can have a copy of; Runs copies memory in parts
//	saved.go      Saved: what snapshots and hashes have
//	measured.go   Measurable: what metrics have
//
// Words for the engine and its other users:
//
//	access.go acting.go  what a system may touch, and which system a Context acts for
//	refresh.go           the steps of a refresh
//	inputs.go            Recorder, Inputs: what a log has
//	survey.go            what a program has registered, and the state of a world as a whole
//	systems.go           the state of a scheduler as bytes
//	form.go              how package state writes values, for packages below it
//	cursor.go            numbers and lists as bytes
//	copying.go           the entities of a copy by package hierarchy
//	liveness.go          what references hold of a world
package extend

// Parallel runs f(0) … f(n-1), on as many goroutines as it likes, and returns when all are done.
// f does not panic.
type Parallel = func(n int, f func(i int))

// Shift is a decision to move a number of entities from one shard to another, without naming
// them. The last rows of From's tables move, from each table in proportion to its rows, so that
// From keeps its mixture. Which ones move depends on the world alone, so a log of inputs only needs
// to hold the decision. Entities that are dying, that a request moves already, or that have a
// pinned component stay; if From has too few others, fewer move.
type Shift struct {
	From, To, Entities int
}
