// Package extend is what extensions of a world agree on with its refresh: the methods that a refresh
// calls, and the words in which a tick, its inputs and its state are described. It lies below package
// engine, which extensions call.
package extend

// Parallel runs f(0) … f(n-1), on as many goroutines as it likes, and returns when all are done.
// f does not panic.
type Parallel = func(n int, f func(i int))

// Transfer is a decision to move a number of entities from one shard to another, without naming
// them. The last rows of From's tables move, from each table in proportion to its rows, so that
// From keeps its mixture. Which ones move depends on the world alone, so a log of inputs only needs
// to hold the decision. Entities that are marked, that a request moves already, or that have a
// pinned component stay; if From has too few others, fewer move.
type Transfer struct {
	From, To, Entities int
}
