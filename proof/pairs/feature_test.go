package pairs_test

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// feature is one way to touch rows or slots. Every field but name may be nil.
type feature struct {
	name string
	// options shapes the world.
	options func(dice randomNumbers, o *world.Options)
	// prepare registers types and makes hooks, systems and extensions, in a world before its
	// first tick: also in that of a replay.
	prepare func(o *objects)
	// draw draws one thing to do; nil if there is nothing to be done now. The scene decides
	// by whom it is done, of those that by allows; rate is how often in a tick.
	draw func(d *drawer) *act
	by   holders
	rate int
	// between does what else is done between two ticks.
	between func(s *scene)
	// check compares what can be seen with the model, after a refresh, and shows what only
	// other worlds can be compared with.
	check func(s *scene)
	// end is called behind the last tick, before the world is closed.
	end func(s *scene)
}

// holders is a set of kinds of actors.
type holders uint8

const (
	byIdle   holders = 1 << iota
	byPort           // between ticks
	bySystem         // on the shard that holds the entity
	byOther          // a system on another shard, which defers it
	byGlobal         // a system of the world, with all shards to itself
	byAny    = byIdle | byPort | bySystem | byOther | byGlobal
)

// features is the table.
func features() []*feature {
	return []*feature{
		create(), destroy(), move(), level(), flags(), hooks(), uniqueNames(), relations(), references(),
		batches(), many(), functions(), questions(), transactions(), messages(), coalesce(), changes(), sets(), rows(), copies(), queries(),
		foreign(), deferred(), globals(), accumulators(), reopen(), wear(), order(), shrink(), insert(), timers(), turns(), ladder(), asks(), places(), viewers(),
		prefabs(), clones(), failing(), pauses(), guesses(), during(), outputs(), travel(),
		frames(), snapshots(), reshards(), inputs(), closing(), // their ends in this order
	}
}

// act is one thing that is done: in the world by whoever holds the actor, and in the
// model in its place among everything that is done.
type act struct {
	name string
	h    handle.Handle
	// do does it, or requests it, and returns whom it created.
	do func(o *objects, by world.Actor) ([]handle.Handle, error)
	// model does it in the model, to the entity h, nil if that is not alive, or for a
	// request marked.
	model func(m *model, e *entity) world.Outcome
	// born is what do creates; nil if it creates nothing.
	born *creation
	// links is what is asked behind that, about whom it created.
	links func(made []handle.Handle, byPort bool) []*act

	own   bool // a system does it at once to an entity of its shard
	away  bool // a system does it at once to any entity, as functions and hooks do what is own
	last  bool // it is joint, and done behind all others
	joint bool // it concerns several entities, and is done behind all that concerns one
	again bool // a system that does it to a marked entity is not told
	moves bool // an idle world refuses it for the marked
	outer bool // it is no part of the world, so no replay does it

	// refuses reports whether a system may be told an error at once, and nothing is done.
	refuses func(m *model, e *entity, err error) bool
}

// creation is what entities are created with.
type creation struct {
	has    parts
	value  func(i int) values
	copies bool          // it is a copy
	of     handle.Handle // of whom
}

// drawer is what acts are drawn with.
type drawer struct {
	dice   *rand.Rand
	shards int
	known  []handle.Handle // alive, or just dead
	next   func() int64    // a number that was not there before
	now    uint64          // the tick
	crowd  int             // how many live, as far as is known
	rush   int             // the shard where most of this tick go who move
}

// n draws a number below k.
func (d *drawer) n(k int) int { return d.dice.IntN(k) }

// coin draws true or false.
func (d *drawer) coin() bool { return d.dice.IntN(2) == 0 }

// someone draws an entity.
func (d *drawer) someone() handle.Handle {
	if len(d.known) == 0 {
		return handle.None
	}
	return d.known[d.dice.IntN(len(d.known))]
}

// on is the act of a method that takes an actor and an entity.
func on(name string, h handle.Handle, do func(o *objects, by world.Actor, h handle.Handle) error, model func(m *model, e *entity) world.Outcome) *act {
	return &act{
		name: name, h: h, model: model,
		do: func(o *objects, by world.Actor) ([]handle.Handle, error) { return nil, do(o, by, h) },
	}
}
