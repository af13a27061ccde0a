package timer

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/wheel"
	"github.com/atoll-sim/atoll/world"
)

// Errors of refused calls, for errors.Is. A refused call changes nothing.
var (
	// ErrMax is returned if the shard has Options.Max timers, or has requested as many changes of
	// other shards' timers in the tick.
	ErrMax = errors.New("timer: the shard has Options.Max timers")
	// ErrGone is returned for a timer that is not set any more.
	ErrGone = errors.New("timer: it is not set any more")
)

// Options shape Timers. The zero value means the defaults.
type Options struct {
	// Max is how many timers may be set in each shard, and by global systems. It is at most
	// 16,777,216. Default: 1,048,576. The memory for the largest number so far is kept. A snapshot
	// with more can be loaded.
	Max int
}

const (
	maxDefault = 1 << 20
	maxMost    = wheel.Most
)

// Timers deliver messages of one type later. Setting one costs about as much as sending a message.
//
// A timer is due at the beginning of a tick, after the messages that were sent for it: in the order
// of the ticks in which the timers were set, of shards, and of the calls. If its entity is dead by
// then, nothing is delivered. What is set within a tick is due in the next one at the earliest.
//
// Contexts set timers at once, in whatever shard the entity is; their ID can be used in the same
// tick. A *world.Port sends a request, so that it can set timers of an entity that it has just
// created. It gets no ID; to reset or cancel a timer it sends a function that does. While
// scheduler.Refuse keeps a port from sending the message, the port can set no timer either. A
// function that a port sends should set timers by its *world.EntityContext, which is not refused.
//
// Ownership: the world's. Methods may be called by the goroutine that holds the Actor.
type Timers[M any] struct {
	w       *world.World
	engine  *engine.World
	message *world.Message[M]
	name    string
	options Options
	wheels  []home[M] // by home
	merged  []merged  // by shard
	away    []bool    // by home: it has due timers of entities in other shards than its own
	deliver extend.Deliver
	owner   func(handle.Handle) int32 // bound once
	asks    *engine.Requests[request[M]]
	undo    []undone[M] // of the transaction under way
	ahead   ahead
}

// ahead has what pending has returned.
//
// Ownership: as for the idle world; in a refresh, the goroutine of transactions.
type ahead struct {
	of [2]uint64 // the tick, and how many changes there were
	by map[ID]change
}

// home has the timers that were set in a shard, or by global systems: in the home of ports, which no
// other timers use. A shard sets timers in its first home.
//
// Ownership: as for the Wheel.
type home[M any] struct {
	wheel.Of[M]
	changes []change // to other wheels' timers, for the refresh
	asked   []change // by others, in a refresh
	_       [64]byte
}

// change is a Cancel or Reset of a timer in another home's wheel.
type change struct {
	id         ID
	due, armed uint64 // due is 0 to cancel
}

// ID names a timer that is set: keep it in a component to reset or cancel the timer. A timer that a
// port has set has None. The ID of a timer that is gone is not given to another until its place was
// used 268 million times.
//
// A copy of an entity has no timers: in copies by world.Copy, prefab.Copy and snapshot.Insert, and
// in instances of a prefab, each ID in a component is None, also within structs and arrays. An ID
// that is kept as another type, or behind a slice, map, pointer or interface, remains that of the
// original's timer. Only snapshot.Insert sets timers that were set where the piece comes from; they
// have other IDs.
type ID uint64

// None is the ID of no timer.
const None ID = 0

func init() { mem.Single[ID]() }

func (i ID) home() int { return wheel.ID(i).Home() }

// request is what a port sends.
type request[M any] struct {
	Due, Period uint64
	Body        M
}

// New makes timers for a message. Errors and snapshots use the name. The world must be idle and,
// if it is to be loaded, new. It panics for a name that is empty or taken, and for options out of
// range.
func New[M any](w *world.World, name string, m *world.Message[M], o Options) *Timers[M] {
	d := engine.Of(w)
	d.MustName("timer.New", name)
	if m == nil {
		panic(fmt.Sprintf("timer: New of %q with a nil Message; pass one of world.RegisterMessage", name))
	}
	if o.Max < 0 || o.Max > maxMost {
		panic(fmt.Sprintf("timer: Options.Max of %q is %d; want 1 to %d, or 0 for %d", name, o.Max, maxMost, maxDefault))
	}
	o.Max = cmp.Or(o.Max, maxDefault)
	t := &Timers[M]{w: w, engine: d, message: m, name: name, options: o, merged: make([]merged, w.Shards())}
	adapter[M]{t}.Arrange()
	t.deliver = d.Delivers(m)
	t.owner = wheel.Owner(d.Space())
	t.asks = engine.NewOwned(d, name, func(shard int, to handle.Handle, r *request[M]) engine.Outcome {
		home := d.Space().FirstOf(shard)
		if t.wheels[home].Count() >= t.options.Max {
			return engine.Refused
		}
		t.set(home, to, r.Due, r.Period, r.Body)
		return engine.Applied
	})
	d.ExtendLate(adapter[M]{t})
	return t
}

// Name returns the name that the timers were made with.
func (t *Timers[M]) Name() string { return t.name }

// Options returns the options with the defaults filled in.
func (t *Timers[M]) Options() Options { return t.options }

// After sets a timer that is due that many ticks after the one that runs, or after the next one if
// the world is idle; less than 1 counts as 1. To deliver something in the next tick from the idle
// world use Message.Send.
//
// It returns ErrMax if the shard has as many timers as it may, and world.ErrStale if the entity is
// known not to be alive. A port's call returns no ID; it returns world.ErrFull if the request was
// not accepted, and world.ErrRefused as Message.Send does; its outcome is Refused for ErrMax.
func (t *Timers[M]) After(by world.Actor, to handle.Handle, ticks int, body M) (ID, error) {
	return t.start(by, "Timers.After", to, t.in(ticks), 0, body)
}

// At sets a timer that is due at the beginning of a tick, as World.Tick and Context.Tick count
// them, but no earlier than one that After sets. For the rest as After.
func (t *Timers[M]) At(by world.Actor, to handle.Handle, tick uint64, body M) (ID, error) {
	return t.start(by, "Timers.At", to, tick, 0, body)
}

// Every sets a timer that is due every so many ticks, counted from when it was last due, until it
// is cancelled or its entity is dead. Each message has the same slices, maps and pointers, so
// receivers must not write what they point to. It panics for less than
// 1. For the rest as After.
func (t *Timers[M]) Every(by world.Actor, to handle.Handle, ticks int, body M) (ID, error) {
	if ticks < 1 {
		panic(fmt.Sprintf("timer: Timers.Every of %q with %d ticks; want 1 or more", t.name, ticks))
	}
	return t.start(by, "Timers.Every", to, t.in(ticks), uint64(ticks), body)
}

// Reset makes a timer due in some ticks from now, as with After. One of Every continues from there.
//
// It returns ErrGone for a timer that is known not to be set any more. A timer that another
// shard has set is changed at the refresh, unless it is gone by then.
func (t *Timers[M]) Reset(by world.Actor, id ID, ticks int) error {
	return t.change(by, "Timers.Reset", change{id, t.in(ticks), t.w.Tick()})
}

// Cancel ends a timer. It is no error if the timer is not set any more. A timer that another shard
// has set ends at the refresh, before timers are due there.
func (t *Timers[M]) Cancel(by world.Actor, id ID) error {
	return t.change(by, "Timers.Cancel", change{id: id})
}

// Len returns how many timers are set, including those of dead entities that have not come due
// since. The world must be idle.
func (t *Timers[M]) Len() (n int) {
	t.engine.MustIdle("Timers.Len")
	for i := range t.wheels {
		n += t.wheels[i].Count()
	}
	return n
}

// in returns the tick that is some ticks from now.
func (t *Timers[M]) in(ticks int) uint64 { return t.w.Tick() + uint64(max(ticks, 1)) }

// start sets a timer, or requests it.
func (t *Timers[M]) start(by world.Actor, call string, to handle.Handle, due, period uint64, body M) (ID, error) {
	if x, ok := engine.Is(by).(*engine.Tx); ok {
		t.engine.MustOwn(by, t.name)
		return t.startIn(x, call, to, t.options.Max, due, period, body)
	}
	home, err := t.engine.Acts(by, t.name, call)
	switch {
	case err != nil:
		return None, err
	case home == engine.ByPort:
		if err := t.engine.RefusedAtPort(by, t.message); err != nil {
			return None, err
		}
		return None, t.asks.Send(by, to, request[M]{due, period, body})
	}
	idle := home == engine.ByWorld
	if idle {
		home = wheel.Home(t.engine.Space(), t.owner(to))
	}
	if home < 0 || !by.Alive(to) {
		return None, world.ErrStale
	}
	if t.wheels[home].Count() >= t.options.Max {
		return None, ErrMax
	}
	id := t.set(home, to, due, period, body)
	if idle {
		t.engine.Touched()
	}
	return id, nil
}

// set sets a timer in a home, in which there is room.
func (t *Timers[M]) set(home int, to handle.Handle, due, period uint64, body M) ID {
	w := &t.wheels[home]
	now := t.w.Tick()
	index, id := w.Add(home, to, max(due, now+1), now, period)
	*w.Body(index) = body
	return ID(id)
}

// change changes a timer: at once if the actor's home has it, otherwise at the refresh.
func (t *Timers[M]) change(by world.Actor, call string, c change) error {
	if x, ok := engine.Is(by).(*engine.Tx); ok {
		t.engine.MustOwn(by, t.name)
		return t.changeIn(x, call, c)
	}
	home, err := t.engine.Acts(by, t.name, call)
	switch {
	case err != nil:
		return err
	case home == engine.ByPort:
		panic(fmt.Sprintf("timer: %s of %q by a *world.Port; call a world.Func that does it", call, t.name))
	case c.id.home() >= len(t.wheels) || home == engine.ByWorld || home == c.id.home():
		did := t.apply(c)
		if did && home == engine.ByWorld {
			t.engine.Touched()
		}
		if !did && c.due != 0 {
			return ErrGone
		}
		return nil
	}
	w := &t.wheels[home]
	if len(w.changes) >= t.options.Max {
		return ErrMax
	}
	w.changes = append(w.changes, c)
	return nil
}

// apply changes a timer, and reports whether it is set.
func (t *Timers[M]) apply(c change) bool {
	home := c.id.home()
	if home >= len(t.wheels) {
		return false
	}
	w := &t.wheels[home]
	index, ok := w.Find(wheel.ID(c.id))
	if !ok {
		return false
	}
	w.Unset(index)
	if c.due != 0 {
		w.Set(index, c.due, c.armed)
		return true
	}
	w.Release(index)
	*w.Body(index) = *new(M)
	return true
}
