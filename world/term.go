package world

import (
	"reflect"

	"github.com/atoll-sim/atoll/internal/engine"
)

// Term is a condition of a query: a *Reader or *Writer (the entity has the component), With,
// Without, Optional, AnyOf, WithFlags, WithoutFlags, Turns or TurnsFor. All terms of a query must
// be asked of the World or Build that the query is asked of.
type Term interface{ term }

// Binder makes accessors and filters: a *Build within a system's constructor, a *World for use
// between ticks, a *Frame for reading at any time.
type Binder interface{ binder }

// termsOf returns terms as package engine takes them.
func termsOf(terms []Term) []engine.Term {
	all := make([]engine.Term, len(terms))
	for i, t := range terms {
		all[i] = t
	}
	return all
}

// With is the condition that the entity has the component. The component is not accessed. It
// panics if T is not registered.
func With[T any](a Binder) Term { return engine.With(a, reflect.TypeFor[T]()) }

// Without is the condition that the entity lacks the component. It panics if T is
// not registered.
func Without[T any](a Binder) Term { return engine.Without(a, reflect.TypeFor[T]()) }

// Optional makes an accessor usable in the query without a condition: its Slice is nil where a
// chunk lacks the component. It panics about another term.
func Optional(accessor Term) Term { return engine.Optional(accessor) }

// AnyOf is the condition that the entity has at least one of the components that the terms, each a
// *Reader, *Writer or With, name. Their Slice is nil where a chunk lacks them. It panics about
// other terms.
func AnyOf(terms ...Term) Term { return engine.AnyOf(termsOf(terms)...) }

// WithFlags is the condition that the entity has all of the flags. A query with it skips rows
// without them, 64 at a time, and yields each run of the others as a chunk. It panics if f is
// empty.
func WithFlags(a Binder, f Flags) Term { return engine.WithFlags(a, engine.Flags(f)) }

// WithoutFlags is the condition that the entity has none of the flags. Everything else is as for
// WithFlags.
func WithoutFlags(a Binder, f Flags) Term { return engine.WithoutFlags(a, engine.Flags(f)) }

// TurnsMax is the highest number of runs among which Turns and TurnsFor divide entities.
const TurnsMax = engine.TurnsMax

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
func Turns(a Binder, n int) Term { return engine.Turns(a, n) }

// TurnsFor is Turns with the least n for which a run has about rows entities or fewer: the number
// of entities that match, divided by n, is at most rows. n is from 1 to TurnsMax. A system has an n
// for each shard, found by counting at its first loop in a tick; an idle world, a frame and a
// global system have one for all shards together. When n doubles, an entity waits for up to twice
// as many runs; when it halves, for half of them or for as many as before.
//
// It panics if rows is less than 1.
func TurnsFor(a Binder, rows int) Term { return engine.TurnsFor(a, rows) }
