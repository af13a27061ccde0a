package engine

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/store"
)

// Messages is what a world needs of a *world.Message, whatever its type.
type Messages interface {
	refresh.Router
	Type() reflect.Type
	Name() string
	// Drop forgets all messages.
	Drop()
	// Mail returns the messages that are delivered to a shard in the next tick: the receivers and
	// the bodies.
	Mail(shard int) (to []handle.Handle, bodies mem.Cells)
	// Load returns where to store the messages for a shard, to these receivers. put delivers them.
	Load(shard int, to []handle.Handle) (bodies mem.Cells, put func())
}

// AddMessages makes messages of a type known to the idle world. If it panics, they are not.
func (w *World) AddMessages(t reflect.Type, name string, make func() Messages) {
	const call = "world.RegisterMessage"
	mustBe(w, call)
	w.mustIdle(call)
	w.MustRegister("%s of %v as %q", call, t, name)
	if name == "" {
		panic(fmt.Sprintf("world: message %v needs a name; pass one that logs can use", t))
	}
	for _, m := range w.messages {
		if m.Type() == t {
			panic(fmt.Sprintf("world: message type %v is registered already, as %q; use what the first call returned, or make a type of its own", t, m.Name()))
		}
		if m.Name() == name {
			panic(fmt.Sprintf("world: message name %q is taken by %v; pass another", name, m.Type()))
		}
	}
	mustMove(t, "message %q", name)
	m := make()
	w.messages = append(w.messages, m)
	w.engine.Mail.Routers = append(w.engine.Mail.Routers, m)
}

// messagesOf returns the messages of a type, for the constructor of a system. user names the caller
// for the panic if there are none.
func (w *World) messagesOf(t reflect.Type, user string) Messages {
	for _, m := range w.messages {
		if m.Type() == t {
			return m
		}
	}
	panic(fmt.Sprintf("world: %s: %v is not a message of this world; call world.RegisterMessage[%v] first", user, t, t))
}

// List makes the next refreshes look at a box of messages of a shard, for the goroutine that has
// the shard.
func (w *World) List(shard int, box refresh.Mailbox) { w.engine.Mail.List(shard, box) }

// DeliveredBy returns what a *world.Message embeds when it is registered: its messages are requests
// of a kind, and deliver takes one that a timer sends.
func (w *World) DeliveredBy(name string, kind *queue.Kind, deliver extend.Deliver) Delivered {
	return Delivered{Requested{w, name, kind}, deliver}
}

// Wake takes flags from an entity of the shard, on the goroutine that has the shard. It reports
// whether the entity had any.
func (w *World) Wake(s *store.Shard, h handle.Handle, f Flags) bool {
	l := w.space.Locate(h)
	if l == 0 || w.space.FlagsAt(l)&f == 0 {
		return false
	}
	s.SetFlags(l, 0, f)
	return true
}

// Sends says that the idle world sends a message to an entity, and returns its shard. After an
// error it must not be sent.
func (w *World) Sends(call string, to handle.Handle) (shard int, err error) {
	if err := w.ready(call); err != nil {
		return 0, err
	}
	l := w.space.Locate(to)
	if l == 0 {
		return 0, ErrStale
	}
	w.Touched()
	return w.space.Owner(l), nil
}

// Changes says that the idle world is about to change. It returns the error of a closed one, which
// must not.
func (w *World) Changes(call string) error {
	err := w.ready(call)
	if err == nil {
		w.Touched()
	}
	return err
}

// MustHaveShard panics if a message is sent to a shard that there is not. A port's batch is then
// refused.
func MustHaveShard(by Self, to, shards int, message string) {
	if to < 0 || to >= shards {
		turnDownBy(by)
		panic(fmt.Sprintf("world: message %q is sent to shard %d; the world has 0 to %d", message, to, shards-1))
	}
}

// Resource is what a world needs of a *world.Resource, whatever its type.
type Resource interface {
	Type() reflect.Type
	Name() string
	// Merge merges the parts that the shards have added.
	Merge()
	// Cells returns the value and how many parts there are, and PartCells the part of a shard. Both
	// are in place, without Values.
	Cells() (value mem.Cells, parts int)
	PartCells(shard int) mem.Cells
	// Load returns where to store the value and the parts; put sets them. Keep returns a function
	// that gives the resource the value and parts that it has now.
	Load(shards int) (value, parts mem.Cells, put func())
	Keep() (restore func())
}

// AddResource makes a resource known to the idle world. If it panics, it is not.
func (w *World) AddResource(t reflect.Type, call, name string, r Resource) {
	mustBe(w, call)
	w.mustIdle(call)
	w.MustRegister("%s of %v as %q", call, t, name)
	switch {
	case name == "":
		panic(fmt.Sprintf("world: resource %v needs a name; pass one that logs can use", t))
	case len(w.resources) == store.ComponentsMax:
		panic(fmt.Sprintf("world: resource %q is one more than the %d a world can hold; register fewer, or put several into one struct", name, store.ComponentsMax))
	}
	for _, other := range w.resources {
		switch {
		case other.Type() == t:
			panic(fmt.Sprintf("world: resource type %v is registered already, as %q; use what the first call returned, or make a type of its own", t, other.Name()))
		case other.Name() == name:
			panic(fmt.Sprintf("world: resource name %q is taken by another type than %v; pass another", name, t))
		}
	}
	w.resources = append(w.resources, r)
}

// resourceOf returns the number of the resource of a type and the resource, for the constructor of
// a system. user names the caller for the panic if there is none.
func (w *World) resourceOf(t reflect.Type, user string) (int, Resource) {
	for i, r := range w.resources {
		if r.Type() == t {
			return i, r
		}
	}
	panic(fmt.Sprintf("world: %s: %v is not a resource of this world; call world.RegisterResource[%v] or RegisterAccumulator first", user, t, t))
}

// Refusable is a request that may be refused to ports while a server is late: a *world.Message,
// *world.Func or *world.Question. See scheduler.Refuse.
type Refusable interface{ requested() *Requested }

// Requested makes what it is embedded in a Refusable: what has requests of a kind.
type Requested struct {
	w    *World
	name string
	kind *queue.Kind
}

// requested implements Refusable.
func (r *Requested) requested() *Requested { return r }

// ApplyLast has the requests of a *world.Transaction applied when all other requests of a refresh
// are. The world must be idle.
func ApplyLast(x Refusable) {
	r := x.requested()
	r.w.space.Registry.SetLast(r.kind.Number())
}

// Delivering is a *world.Message.
type Delivering interface {
	Refusable
	delivers(w *World) extend.Deliver
	registered() string
}

// Delivered makes what it is embedded in a Delivering.
type Delivered struct {
	Requested
	deliver extend.Deliver
}

// delivers implements Delivering.
func (d *Delivered) delivers(w *World) extend.Deliver {
	if d.w != w {
		panic(fmt.Sprintf("world: message %q belongs to another world; use that world's own", d.name))
	}
	return d.deliver
}

// registered returns the name of the message.
func (d *Delivered) registered() string { return d.name }

// NameOf returns the name of a message.
func NameOf(m Delivering) string { return m.registered() }

// Delivers returns the function that delivers a message, for a Late. It panics if the message is of
// another world.
func (w *World) Delivers(m Delivering) extend.Deliver { return m.delivers(w) }

// refusedNow returns an error, and counts n requests as rejected, if ports may not send requests of
// this kind now. A port or batch that sends nothing more in any case has its own error, and counts
// nothing.
func (p *Port) refusedNow(k *queue.Kind, n int) error {
	if atomic.LoadInt32(&k.Refused) == 0 {
		return nil
	}
	err := p.unusable()
	switch {
	case err != nil:
	case p.batch != nil && p.batch.err != nil:
		err = p.batch.err
	default:
		err = ErrRefused
		p.reject(n)
	}
	return p.turnDown(err)
}

// RefusedAtPort returns the error with which a port may not send x now, or nil. With an error it
// ends the call, as Requests.Refuse does, and counts the request as rejected. by is a port, and its
// goroutine calls.
func (w *World) RefusedAtPort(by Actor, x Refusable) error {
	p := by.self().(*Port)
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	return p.refusedNow(x.requested().kind, 1)
}
