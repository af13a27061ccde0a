package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/store"
)

// TurnsMax is the highest number of runs among which Turns and TurnsFor divide entities.
const TurnsMax = 1 << 16

// turns says how a query divides its entities among the runs of a system.
type turns struct {
	n    uint32 // the number of runs; 0: it does not divide them
	rows int    // the largest number of rows in a run, which determines the number of runs; 0: n does
	tick uint64 // the filter is that of this tick; the first has 1
}

// Turns is the condition that it is the entity's turn. Each run of a system is the turn of one in n
// entities, and in n runs each entity has one turn. So work that need not be done in every tick is
// spread evenly over the ticks:
//
//	minds := b.Query(pos, mind, world.Turns(b, 8))
//
// The turn of an entity depends only on its handle and the number of the tick. So there are always
// n runs from one turn of an entity to the next, even if its row moves, and nothing has to be
// saved. Query.Delta returns the time since its last turn. A system that runs Every m ticks divides
// its entities among n of those runs. If When or Disable keep a system from a run, the turns of
// that run are lost. scheduler.Stretch makes n larger for as long as ticks take too long. In the
// query of an idle world or of a frame, a tick counts as a run.
//
// A loop looks at the handle of each row, which takes less than a nanosecond. It yields each run of
// rows whose turn it is as a chunk; most such chunks have one row.
//
// It panics unless n is a power of two, from 1 to TurnsMax.
func Turns(a Binder, n int) Term {
	b := bind(a, "world.Turns")
	if n < 1 || n > TurnsMax || n&(n-1) != 0 {
		panic(fmt.Sprintf("world: %s of %d; want a power of two, from 1 to %d", b.call, n, TurnsMax))
	}
	return term{kind: takesTurns, asked: b.lookup, turns: turns{n: uint32(n)}, names: "Turns"}
}

// TurnsFor is Turns with the least n for which a run has about rows entities or fewer: the number
// of entities that match, divided by n, is at most rows. n is from 1 to TurnsMax. A system has an n
// for each shard, found by counting at its first loop in a tick; an idle world, a frame and a
// global system have one for all shards together. When n doubles, an entity waits for up to twice
// as many runs; when it halves, for half of them or for as many as before.
//
// It panics if rows is less than 1.
func TurnsFor(a Binder, rows int) Term {
	b := bind(a, "world.TurnsFor")
	if rows < 1 {
		panic(fmt.Sprintf("world: %s of %d rows; want 1 or more", b.call, rows))
	}
	return term{kind: takesTurns, asked: b.lookup, turns: turns{n: 1, rows: rows}, names: "TurnsFor"}
}

// addTurns makes the turns of a term a condition of the query.
func (q *Query) addTurns(b *binding, t term) {
	if q.turns.n != 0 {
		panic(fmt.Sprintf("world: %s: there are two of Turns and TurnsFor; pass one", b.call))
	}
	q.turns = t.turns
}

// matching returns the filter for a loop that begins now.
func (q *Query) matching() *store.Filter {
	if q.turns.n != 0 && !q.frame { // a frame's query is used by several goroutines, and got its filter when it was made
		q.findTurn()
	}
	return &q.filter
}

// findTurn sets the filter to the entities whose turn it is. For a system's query it stays the same
// within a tick.
func (q *Query) findTurn() {
	tick := q.w.engine.Tick.Load()
	if q.turns.tick == tick+1 && !q.idle {
		return
	}
	q.turns.tick = tick + 1
	n := q.turns.n
	if q.turns.rows > 0 {
		n = q.turnsFor(q.turns.rows)
	}
	if !q.idle && !q.frame {
		n = uint32(min(uint64(n)*uint64(max(1, q.w.stretch)), TurnsMax))
	}
	q.filter.Turn, q.filter.Mask = uint32(tick/max(1, q.access.Every)), n-1
}

// turnsFor returns the least number of runs with at most so many rows each.
func (q *Query) turnsFor(rows int) (n uint32) {
	all := 0
	f := store.Filter{With: q.filter.With, Without: q.filter.Without}
	for i := range q.parts {
		p := &q.parts[i]
		p.look(q)
		for _, t := range p.tables {
			all += t.MatchingRows(&f)
		}
	}
	for n = 1; n < TurnsMax && (all-1)/int(n) >= rows; n *= 2 {
	}
	return n
}

// Delta returns the simulated time from one turn of an entity to the next, in seconds:
// Context.Delta times the number of runs of Turns or TurnsFor, or times 1 without them. For a query
// of an idle world or of a frame it is the time of that number of ticks. After TurnsFor has changed
// the number, the first result does not fit the time that passed.
func (q *Query) Delta() float64 {
	q.mustBeOf("Query.Delta")
	if check.Enabled {
		q.guard.Must()
	}
	once := q.w.options.TickInterval.Seconds()
	if !q.idle && !q.frame {
		once = q.access.Delta
	}
	return once * float64(q.matching().Mask+1)
}
