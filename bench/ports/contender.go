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
	slow bool // does a tenth of the others' work in a round: it would take minutes
}

// setting says how many goroutines act on a field, and how.
type setting struct {
	goroutines int
	resident   int  // entities that stay all the time
	chunk      int  // entities
	batch      bool // entities are created and destroyed by the chunk
}

// field is a contender that has been set up.
type field struct {
	worker func(i int) worker // for one goroutine
	begin  func()             // before workers start
	end    func()             // returns when all their requests are done
	count  func() int         // entities, when no worker runs
}

// worker creates and destroys entities for one goroutine, in chunks. A chunk is
// created in one of several places, in turn, and destroyed when its place is needed
// again, some chunks later.
type worker interface {
	create(place int)
	destroy(place int)
}

const (
	chunkSize   = 1024 // entities, the default
	placesMost  = 256  // chunks of that size of all goroutines together
	placesLeast = 8    // of one goroutine, at the least
)

// places is how many chunks each goroutine has: enough that few goroutines do not spend most of the
// time waiting for the next tick, even if chunks are small.
func (s setting) places() int { return max(placesLeast, placesMost/s.goroutines) * chunkSize / s.chunk }

// nothing is begin and end of contenders that do their work at once.
func nothing() {}

// contenders in the order of the tables; ours is the first.
var contenders = []contender{
	{name: "atoll", open: openAtoll},
	{name: "ark, mutex", open: openArk},
	{name: "maps, 64 locks", open: openMaps},
	{name: "column", open: openColumn, slow: true},
}
