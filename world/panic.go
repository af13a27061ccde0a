package world

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// PanicError reports a panic in code that a program has given to a world or to its scheduler. What
// that code had written until then stays; the tick or the refresh was completed. A panic that could
// not be contained is a BrokenError instead.
type PanicError struct {
	In    string        // what panicked: "function", "hook", "recorder", "system", "condition of system", "balancer", "function between ticks", "clone function", "place function", "Watchdog.Notify"
	Name  string        // its name; of a clone function the component; of a place function the bundle; of a recorder the method; of what has no name, nothing
	Shard int           // or AllShards, if it runs once for all of them
	Tick  uint64        // number of the tick
	On    handle.Handle // the entity that a function was called on
	Event Event         // the event that a hook was called for
	Value any           // what it panicked with
	Stack []byte        // where it panicked; a refresh keeps those of 64 hooks

	hook *Hook
}

// The values of PanicError.In that a world sets.
const (
	inFunction = "function"
	inHook     = "hook"
	inRecorder = "recorder"
	inClone    = "clone function"
	inPlace    = "place function"
)

// Error names what panicked, where, in which tick, and the panic's value.
func (e *PanicError) Error() string {
	switch e.In {
	case inFunction:
		return fmt.Sprintf("world: function %q panicked on %v, on shard %d, at the end of tick %d: %v", e.Name, e.On, e.Shard, e.Tick, e.Value)
	case inHook:
		return fmt.Sprintf("world: hook %q panicked %v, on shard %d, at the end of tick %d: %v", e.Name, e.Event, e.Shard, e.Tick, e.Value)
	case inRecorder:
		return fmt.Sprintf("world: the recorder panicked in %s, at the end of tick %d: %v", e.Name, e.Tick, e.Value)
	case inClone:
		if e.On != handle.None {
			return fmt.Sprintf("world: the function of CloneBy of component %q panicked on %v, on shard %d, at the end of tick %d: %v", e.Name, e.On, e.Shard, e.Tick, e.Value)
		}
		return fmt.Sprintf("world: the function of CloneBy of component %q panicked, for a frame of tick %d: %v", e.Name, e.Tick, e.Value)
	case inPlace:
		return fmt.Sprintf("world: the function of PlaceBy of bundle %s panicked in tick %d: %v", e.Name, e.Tick, e.Value)
	}
	what, on := e.In, ""
	if e.Name != "" {
		what = fmt.Sprintf("%s %q", e.In, e.Name)
	}
	if e.Shard != AllShards {
		on = fmt.Sprintf(" on shard %d", e.Shard)
	}
	return fmt.Sprintf("scheduler: %s panicked%s in tick %d: %v", what, on, e.Tick, e.Value)
}

// Unwrap returns the panic's value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// failuresMax is how many panics of functions a refresh keeps with all details, including a
// stack. Each shard keeps an equal part of these, at least one: the first in the order of the
// requests. The others are only counted. Hooks that panic beyond this number are kept without
// their stacks. The limit is there because a hostile client may request thousands of calls that
// fail.
const failuresMax = 64

// keepsFailure reports whether a shard that has kept n failures keeps the next.
func (w *World) keepsFailure(n int) bool { return n < max(1, failuresMax/len(w.shards)) }

// Failure returns the panics of the last refresh, joined, or nil if there was none: a *PanicError
// for each function, by shard, and in each shard in the order of the requests; then one for each
// hook, and one for the recorder of an input log. Each shard keeps the errors of 64 functions
// divided by the number of shards, but at least one; if there were more, a last error says how
// many. The world must be idle.
func (w *World) Failure() error {
	w.mustIdle("World.Failure")
	var all []error
	for _, e := range w.failures() {
		all = append(all, e)
	}
	if _, err := w.omitted(); err != nil {
		all = append(all, err)
	}
	for _, e := range w.failedHooks() {
		all = append(all, e)
	}
	if w.recorderErr != nil {
		all = append(all, w.recorderErr)
	}
	return errors.Join(all...)
}

// omitted returns how many panics of functions are not in failures, and an error that says so.
func (w *World) omitted() (calls int, err error) {
	if !w.panicked.Load() {
		return 0, nil
	}
	tick := uint64(0)
	for _, c := range w.contexts {
		if calls += c.omitted; c.omitted > 0 {
			tick = c.failures[0].Tick
		}
	}
	if calls > 0 {
		err = fmt.Errorf("world: %d more functions panicked at the end of tick %d; details are kept of %d", calls, tick, len(w.failures()))
	}
	return calls, err
}

func (w *World) failures() (all []*PanicError) {
	if !w.panicked.Load() {
		return nil
	}
	for _, c := range w.contexts {
		all = append(all, c.failures...)
	}
	return all
}

func (w *World) failedHooks() (all []*PanicError) {
	if !w.panicked.Load() {
		return nil
	}
	for _, c := range w.contexts {
		all = append(all, c.failedHooks...)
	}
	return all
}
