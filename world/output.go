package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Output is a registered output: the way out of a system. What systems, functions, transactions,
// hooks and the idle world put into it is passed to a handler, which sends it to clients, writes it
// to a database or calls a service:
//
//	said := world.RegisterOutput[Said](w, "said")
//	said.Handle(func(at world.Moment, v Said) { send(v) })
//	err := said.Put(c, Said{h, "hello"}) // c is what the system, function, hook or transaction has
//
// The handler is called when the refresh has ended: by the goroutine that runs the scheduler, or
// that calls World.Refresh, on the idle world. Where ticks are sealed, as with durable.Options.Sync,
// the tick is then on disk. The order is the same with any number of workers: what the idle world
// has put; what systems have put, by shard, and then what global systems have; what functions have
// put, by shard; transactions; hooks, by shard. Within each of these it is the order of the calls,
// of all outputs together.
//
// A value is handled at most once, and not in a replay of a log. It is not a part of the state: no
// snapshot or log has it, so what waits when the process ends, or when the world is closed, is lost.
// For what must not be lost see package async and its Options.Rerun.
type Output[T any] struct {
	w       *engine.World
	name    string
	number  int
	size    int // of a T
	handler func(at Moment, v T)
	boxes   []outputBox[T]
	due     []T // what waits for the handler, from next on
	next    int
}

// outputBox holds what was put by one shard, or by one of the others that package engine counts.
//
// Ownership: whoever runs on the shard; in and after a refresh the world's goroutine.
type outputBox[T any] struct {
	values []T
	taken  int
	_      [64]byte // other workers write other boxes
}

// Moment is when a value was put into an output. No two values of a world have the same, so a
// database or a service outside can tell by it whether it has seen a value. Moments are ordered by
// their fields, the first one first, as the values are.
//
// A world that is loaded or opened again goes on where its state was saved. What it does again after
// a crash that has lost ticks has Moments that were used, unless it is another incarnation, as
// durable.Open makes it: see World.Reincarnate and Options.VersionsEach.
type Moment struct {
	Incarnation uint32 // World.Incarnation
	Tick        uint64 // the number of the tick that ended
	N           uint32 // how many values were put in that tick before it, into all outputs
}

// RegisterOutput makes an output of the world, under a name for errors. Several may have the same T.
// It panics if the name is empty or taken by another output, or if a T cannot be moved. When to call
// it, and what can be moved: see Register.
func RegisterOutput[T any](w *World, name string) *Output[T] {
	o := &Output[T]{w: (*engine.World)(w), name: name}
	o.number = o.w.AddOutput(reflect.TypeFor[T](), name, (*output[T])(o))
	o.size = int(mem.TypeOf[T]().Size)
	o.boxes = make([]outputBox[T], o.w.OutputBoxes())
	return o
}

// Put puts a value into the output. It is for all actors but a *Port. What a system, function or hook
// has put before it panics stays; what a transaction has put goes with the transaction if that fails.
// What the idle world puts, a handler for one, is handled after the next refresh.
//
// The value is copied by assignment. What it points to is shared with the handler, and must not
// change any more; copy what lies in components. An entity in it may be dead when it is handled.
//
// It returns ErrFull, and puts nothing, if a shard, the global systems, or the idle world together
// with transactions have put as many values in this tick as OutboxRequests allows, or as many bytes
// as OutboxBytes does; ErrTooLarge if a T is larger than that. For a *Tx see also ErrTx. Once warm it
// does not allocate.
func (o *Output[T]) Put(by Actor, v T) error {
	self := selfOf(by)
	o.w.Check(self, "Output.Put", "output", o.name)
	i, err := o.w.Put(self, o.number, o.size)
	if err == nil {
		box := &o.boxes[i]
		box.values = append(box.values, v)
	}
	return err
}

// Handle sets the function that is called with each value, in place of an earlier one. Without one,
// values are dropped, and counted in Stats. It may be set at any time on the idle world.
//
// f may use the *World, as a function of Scheduler.Between may: look at it, save it, change it.
// Where ticks are sealed, a change panics; use a transaction or a port. The next tick waits for f, so
// it should pass on what takes long, to a goroutine that has a queue. It must not wait for the outcome
// of a request, or for a function of Scheduler.Between, as that comes with the next tick.
//
// If f panics, that is an error of the tick, or of World.Failure, and the next values are handled all
// the same. If f ends its goroutine, they are handled after the next refresh.
func (o *Output[T]) Handle(f func(at Moment, v T)) {
	if o == nil {
		panic(fmt.Sprintf("world: Output.Handle of a nil %T; use what world.RegisterOutput returned", o))
	}
	o.w.MustIdle("Output.Handle")
	if f == nil {
		panic(fmt.Sprintf("world: Output.Handle of %q with a nil function; pass one to call", o.name))
	}
	o.handler = f
}

// output is an Output as an engine.Output, whose comments say what the methods do.
type output[T any] Output[T]

// Name implements engine.Output.
func (o *output[T]) Name() string { return o.name }

// Take implements engine.Output.
func (o *output[T]) Take(box, n int) {
	b := &o.boxes[box]
	o.due = append(o.due, b.values[b.taken:b.taken+n]...)
	if b.taken += n; b.taken == len(b.values) {
		clear(b.values)
		b.values, b.taken = b.values[:0], 0
	}
}

// Undo implements engine.Output.
func (o *output[T]) Undo(box, n int) {
	b := &o.boxes[box]
	left := len(b.values) - n
	clear(b.values[left:])
	b.values = b.values[:left]
}

// HandleNext implements engine.Output.
func (o *output[T]) HandleNext(at engine.Moment) bool {
	v := o.due[o.next]
	o.due[o.next] = *new(T)
	if o.next++; o.next == len(o.due) {
		o.due, o.next = o.due[:0], 0
	}
	if o.handler == nil {
		return false
	}
	o.handler(Moment(at), v)
	return true
}

// Drop implements engine.Output.
func (o *output[T]) Drop() {
	clear(o.boxes)
	o.due, o.next, o.handler = nil, 0, nil
}
