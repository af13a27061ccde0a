package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Component is a registered component type: the right to ask entities for it. Safe for concurrent
// use.
type Component[T any] struct {
	part
	core engine.Component
}

// Register makes T a component of the world under a name that logs, tools and saved states use. A
// component is any Go type whose values may be moved by assignment, as rows are in a refresh; one
// without pointers costs the garbage collector nothing. The world must be idle: before the first
// tick, or between two. If durable.Open is to keep the world, register before it; that holds for
// all registrations. Two worlds that are to be compared must register the same components in the
// same order, before the same tick; so must a world that replays the log of another.
//
// T must not hold a strings.Builder, a struct of package sync, a list, ring or timer of the
// standard library, or what is marked as not to be copied: hold these behind a pointer. Structs of
// sync/atomic are allowed. T must not hold a pointer to itself or a slice of an array of its own
// either, which types do not show: when the row has moved, that points to another row.
//
// It panics if the name is empty, if the type or name is registered already, if T cannot be moved,
// if there are 256 components already, or after durable.Open.
func Register[T any](w *World, name string) *Component[T] {
	c := new(Component[T])
	c.core.Register((*engine.World)(w), name, mem.TypeOf[T](), mem.TypeOf[*Answer[T]]())
	c.part = c.core.Part()
	return c
}

// Set stores v. A *World, a *Context in its own shard, and an *EntityContext in its own entity
// store at once. For other entities, and by a *Port, Set is a request that the refresh applies.
//
// It returns ErrStale if the entity is known not to be alive, ErrMissing if it
// is known to lack the component, ErrFull if the request was not accepted. A
// *Context must have asked its Build to Write the component.
func (c *Component[T]) Set(by Actor, h handle.Handle, v T) error {
	x, err := c.core.Set(selfOf(by), h)
	if err != nil {
		return err
	}
	*mem.As[T](x.To) = v
	x.Done()
	return nil
}

// SetN is Set for several entities, with values in the order of the handles. A *Port sends the
// requests in one step, all or none; its queue and limits count a request for each handle. A
// Completion of Port.Notify gets Applied if all were applied, otherwise the first other outcome in
// their order. With any other actor, too, all values are set or requested, or none. It returns
// ErrFull if a queue has no room for all requests, and ErrTooLarge if it can never
// have. It panics if the slices differ in length. SetN keeps neither slice. If two of the values
// share a map, slice or pointer, the entities share it: SetN refuses that while the world's inputs
// are recorded or replayed, as Copy does.
func (c *Component[T]) SetN(by Actor, hs []handle.Handle, values []T) error {
	self := selfOf(by)
	if c.core.MayShare() {
		if err := c.core.MustNotShare(self, values); err != nil {
			return err
		}
	}
	x, sent, err := c.core.SetN(self, hs, len(values))
	switch {
	case err != nil || len(hs) == 0:
		return err
	case sent:
		copy(mem.Slice[T](x.To.Address, len(hs)), values)
		x.Done()
		return nil
	}
	for i, h := range hs {
		if err := c.Set(by, h, values[i]); err != nil {
			panic(fmt.Sprintf("world: Component.SetN of %q sets what was looked at before: %v", c.core.Name(), err))
		}
	}
	return nil
}

// Add gives an entity the component; an entity that has it already gets the value. A *World
// adds at once. With any other actor Add is a request that the refresh applies, even by a
// *Context in its own shard or an *EntityContext on its own entity: adding moves the row to
// another table, and nothing moves while systems run.
//
// It returns ErrStale if the entity is known not to be alive, ErrFull if the
// request was not accepted, ErrChunks if the world is full. What the requests of one port take to
// add and remove components, and to move entities, has a limit for each shard and refresh, beyond
// which their outcome is Refused; see docs/limits.md.
func (c *Component[T]) Add(by Actor, h handle.Handle, v T) error {
	x, err := c.core.Add(selfOf(by), h)
	if err != nil {
		return err
	}
	*mem.As[T](x.To) = v
	x.Done()
	return nil
}

// Remove takes the component from an entity, at once or by request as Add does. It returns
// ErrStale, ErrMissing if the entity is known to lack the component, or ErrFull.
func (c *Component[T]) Remove(by Actor, h handle.Handle) error { return c.core.Remove(selfOf(by), h) }

// AddTo gives the component to all entities that match and lack it. It calls init, if not nil, with
// their rows, to be filled in with an accessor's Slice; the new component is zero before. Calls
// that would move rows panic within init. Whole chunks change tables without being copied. If only
// some entities of a table change, because of their flags or a Limit, they are moved one by one.
// For an idle world; within a system use Add.
//
// It returns ErrChunks, and changes nothing, if the world may have too few chunks left. If init
// creates entities, it may use them up: then some entities have not changed.
func (c *Component[T]) AddTo(q *Query, init func(rows Chunk)) error {
	return (*engine.Query)(q).AddTo("Component.AddTo", init, c, nil)
}

// Read returns the component of the entity that a function is called on, or nil if the entity
// lacks it. The component must not be written, and is good until the function returns.
func (c *Component[T]) Read(self *EntityContext) *T {
	return (*T)(c.core.At((*engine.EntityContext)(self)))
}

// Write is Read for writing.
func (c *Component[T]) Write(self *EntityContext) *T {
	return (*T)(c.core.AtWrite((*engine.EntityContext)(self)))
}

// Get returns a copy of an entity's component within a transaction, as the transaction has left it.
// It returns false if the entity is not alive, or lacks the component. An entity that is marked can
// be read.
func (c *Component[T]) Get(tx *Tx, h handle.Handle) (T, bool) {
	if p := c.core.Get((*engine.Tx)(tx), h); p != nil {
		return *(*T)(p), true
	}
	return *new(T), false
}

// Edit returns an entity's component for a transaction to write, or nil if the entity is not alive,
// is marked, or lacks the component. It points to a copy, made by CloneBy or by assignment, that
// takes the component's place when the transaction has returned without an error. So if the value
// has a map, slice or pointer, replace that rather than write through it, or give the component a
// CloneBy. Asked again, Edit returns the same pointer.
func (c *Component[T]) Edit(tx *Tx, h handle.Handle) *T {
	return (*T)(c.core.Edit((*engine.Tx)(tx), h))
}

// CloneBy says how a value of the component is copied out of the world, for frames, Ask and
// DescribeEntity: it is for a type in which a plain copy would share something with the world. f
// sets *to, which may hold an old value, to a copy of *from. The copy must share nothing with *from
// that is ever written. It must need no release: no share of a reference.Owner, no count of
// references. f is called in the refresh, for frames for each entity of a chunk that was handed out
// for writing, on several goroutines at once. If it panics, the frame is not made, and callers that
// wait for it get a *PanicError; an Ask has the outcome Failed. The world must be idle. CloneBy
// returns the component.
func (c *Component[T]) CloneBy(f func(to, from *T)) *Component[T] {
	c.core.CloneBy(f == nil, func(to, from mem.Address) { f((*T)(to), (*T)(from)) })
	return c
}

// Ask asks for a copy of an entity's component, as it is when the refresh reaches the request:
// earlier requests of the same port are done, and later ones are not. What the component points to,
// such as the elements of a slice, the copy shares with the world, unless the component has a
// CloneBy. Ask returns ErrFull if the request was not accepted. The outcome is Gone or Missing if
// there is nothing to copy, and Failed if the function of CloneBy panicked. It is Refused if this
// port has already asked the entity's shard, for this refresh, for 16 MB of components that have
// 4 KB or more each; see docs/limits.md.
func (c *Component[T]) Ask(p *Port, of handle.Handle, answer *Answer[T]) error {
	if answer == nil {
		panic(c.core.NilAnswer())
	}
	x, err := c.core.Ask((*engine.Port)(p), of, (*engine.Completion)(&answer.Completion))
	if err == nil {
		answer.failure = nil
		answer.value = *new(T) // otherwise a CloneBy might reuse what the sender was given before
		*mem.As[*Answer[T]](x.To) = answer
		x.Done()
	}
	return err
}
