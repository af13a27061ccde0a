package main

// The components of the entities.
type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }
)

// contender is something that entities can be created in from many goroutines.
type contender struct {
	name string
	open func(s setting) field
	slow bool // does a tenth of what the others do in a round: it would take minutes
}

// setting is how many act on a field, and how.
type setting struct {
	goroutines int
	resident   int  // entities that are there all the time
	chunk      int  // entities
	batch      bool // entities are created and destroyed by the chunk
}

// field is a contender that has been set up.
type field struct {
	worker func(i int) worker // for one goroutine
	begin  func()             // before workers work
	end    func()             // returns when all that they asked for is done
	count  func() int         // entities, when nobody works
}

// worker creates and destroys entities for one goroutine, in chunks. A chunk is
// created in one of several places, in turn, and destroyed when its place is next
// needed: it has lived for some chunks then.
type worker interface {
	create(place int)
	destroy(place int)
}

const (
	chunkSize   = 1024 // entities, if nothing else is said
	placesMost  = 256  // chunks of that size of all goroutines together
	placesLeast = 8    // of one goroutine, at the least
)

// places is how many chunks each goroutine has: so many that few goroutines do not wait for the
// next tick most of the time, also if chunks are small.
func (s setting) places() int { return max(placesLeast, placesMost/s.goroutines) * chunkSize / s.chunk }

// nothing is what those have to do at the beginning and the end who do all at once.
func nothing() {}

// contenders in the order of the tables; ours is the first.
var contenders = []contender{
	{name: "atoll", open: openAtoll},
	{name: "ark, mutex", open: openArk},
	{name: "maps, 64 locks", open: openMaps},
	{name: "column", open: openColumn, slow: true},
}
