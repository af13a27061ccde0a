package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Message is a registered message type: the right to send an M to an entity. A message that is sent
// in a tick is delivered in the next, to the systems of the shard that holds the entity. Messages
// of ports come first, by port number, then those of shards, by number; those of one sender come in
// the order sent. Safe for concurrent use.
type Message[M any] struct {
	w       *World
	name    string
	typ     reflect.Type
	sending queue.Kind
	wakes   Flags                           // flags that a delivered message takes from its receiver
	boxes   []messageBox[M]                 // by shard
	came    store.Groups[leavingMessage[M]] // in a refresh: messages of atoms that migrate
}

// Envelope is a delivered message.
type Envelope[M any] struct {
	To   handle.Handle // handle.None: to the shard
	Body M
}

// anyMessage is a *Message of any type.
type anyMessage interface {
	messageType() reflect.Type
	messageName() string
	// drop forgets all messages.
	drop()
}

// RegisterMessage makes M a message of the world, under a name. When to call it: see Register.
//
// It panics if the name is empty, if the type or name is registered already, or if an M cannot be
// moved: see Register.
func RegisterMessage[M any](w *World, name string) *Message[M] {
	mustBe(w, "world.RegisterMessage")
	w.mustIdle("world.RegisterMessage")
	t := reflect.TypeFor[M]()
	w.mustRegister("world.RegisterMessage of %v as %q", t, name)
	if name == "" {
		panic(fmt.Sprintf("world: message %v needs a name; pass one that logs can use", t))
	}
	for _, m := range w.messages {
		if m.messageType() == t {
			panic(fmt.Sprintf("world: message type %v is registered already, as %q; use what the first call returned, or make a type of its own", t, m.messageName()))
		}
		if m.messageName() == name {
			panic(fmt.Sprintf("world: message name %q is taken by %v; pass another", name, m.messageType()))
		}
	}
	mustMove(t, "message %q", name)
	m := &Message[M]{w: w, name: name, typ: t, boxes: make([]messageBox[M], len(w.shards))}
	m.sending = store.NewKind(w.space, mem.TypeOf[M](), deliverer[M]{m})
	for i := range m.boxes {
		m.boxes[i].of = m
	}
	w.messages = append(w.messages, m)
	w.engine.Mail.Routers = append(w.engine.Mail.Routers, (*router[M])(m))
	return m
}

func (m *Message[M]) messageName() string { return m.name }

// Wakes makes each message of the type take flags from the entity that it is delivered to. So
// queries that leave out entities with those flags see the entity in the tick in which the message
// is delivered. The flags are taken after all other requests of that refresh, such as Flag.
// Entities that sleep cost a query a bit each:
//
//	const asleep world.Flags = 1
//	hits.Wakes(asleep)
//	minds := b.Query(mind, world.WithoutFlags(b, asleep))
//
// A message to a shard wakes no entity. Call Wakes before the first tick, in each process alike, as
// snapshots and logs do not have it; after durable.Open it panics. A message of the idle world
// clears the flags at once; flags that are set after it stay set. It panics if f is empty.
func (m *Message[M]) Wakes(f Flags) {
	if m == nil {
		panic(fmt.Sprintf("world: Message.Wakes of a nil %T; use what world.RegisterMessage returned", m))
	}
	m.w.mustIdle("Message.Wakes")
	m.w.mustRegister("Message.Wakes of %q", m.name)
	if f == 0 {
		panic("world: Message.Wakes of no flags; name one or more")
	}
	m.wakes |= f
}

// wake takes flags from an entity of the shard, in a step that the shard runs. It reports whether
// the entity had any.
func (w *World) wake(s *store.Shard, h handle.Handle, f Flags) bool {
	l := w.space.Locate(h)
	if l == 0 || w.space.FlagsAt(l)&f == 0 {
		return false
	}
	s.SetFlags(l, 0, f)
	return true
}

// Send sends a message to an entity. If a *World sends it, it is delivered in the next tick. By
// other actors Send is a request that the refresh applies: an entity that is dead by then does not
// get the message. Once warm, neither sending nor delivering allocates.
//
// The outcome Applied means that the message was delivered: a later request of the same refresh
// may still destroy the entity, and then no system looks at the message.
//
// It returns ErrStale if the entity is known not to be alive, ErrFull if the
// message was not accepted.
func (m *Message[M]) Send(by Actor, to handle.Handle, body M) error {
	m.check(by, "Message.Send")
	w, ok := by.(*World)
	if !ok {
		x, err := request(by, "Message.Send", &m.sending, to)
		if err == nil {
			*mem.As[M](x.to) = body
			x.done()
		}
		return err
	}
	if err := w.ready("Message.Send by the World"); err != nil {
		return err
	}
	l := w.space.Locate(to)
	if l == 0 {
		return ErrStale
	}
	m.put(w.space.Owner(l), to, body)
	w.touched = true
	return nil
}

// SendShard sends a message to a shard, whatever entities it holds. Its systems find the message in
// the next tick with handle.None as To, in order among the others. It returns ErrFull if the
// message was not accepted, and panics if there is no such shard.
func (m *Message[M]) SendShard(by Actor, to int, body M) error {
	m.check(by, "Message.SendShard")
	if to < 0 || to >= len(m.w.shards) {
		turnDownBy(by)
		panic(fmt.Sprintf("world: message %q is sent to shard %d; the world has 0 to %d", m.name, to, len(m.w.shards)-1))
	}
	return m.direct(by, "Message.SendShard", to, to+1, body)
}

// Broadcast is SendShard to every shard: all get the message or none. It counts as one request
// for each shard.
func (m *Message[M]) Broadcast(by Actor, body M) error {
	m.check(by, "Message.Broadcast")
	return m.direct(by, "Message.Broadcast", 0, len(m.w.shards), body)
}

func (m *Message[M]) check(by Actor, call string) {
	if by == nil || by.world() != m.w {
		m.w.panicForeign(by, call, "message", m.name)
	}
}

// direct sends a message to each of a run of shards; call is the name for panics.
func (m *Message[M]) direct(by Actor, call string, from, to int, body M) error {
	w, ok := by.(*World)
	if !ok {
		x, err := roomFor(by, call, &m.sending, to-from)
		if err != nil {
			return err
		}
		for i := from; i < to; i++ {
			*mem.As[M](x.direct(m.w, &m.sending, i)) = body
		}
		x.done()
		return nil
	}
	if err := w.ready(call); err != nil {
		return err
	}
	for i := from; i < to; i++ {
		m.put(i, handle.None, body)
	}
	w.touched = true
	return nil
}

// put delivers a message for the next tick, on the idle world or after the swap of the boxes.
func (m *Message[M]) put(shard int, to handle.Handle, body M) {
	m.add(shard, to, body)
	if s := m.w.shards[shard]; m.wakes != 0 && m.w.wake(s, to, m.wakes) {
		s.PublishFlags()
	}
}

// add puts a message in a box. It wakes nobody: a load restores flags as they were.
func (m *Message[M]) add(shard int, to handle.Handle, body M) {
	box := m.box(shard)
	box.now = append(box.now, Envelope[M]{to, body})
	if of := m.sending.Type(); of.HasTimes() {
		of.DropClocks(mem.PointerTo(&box.now[len(box.now)-1].Body).Address, 1)
	}
}

func (m *Message[M]) delivers(w *World) drive.Deliver {
	if m.w != w {
		panic(fmt.Sprintf("world: message %q belongs to another world; use that world's own", m.name))
	}
	return m.deliver
}

// deliver is a drive.Deliver.
func (m *Message[M]) deliver(shard int, to handle.Handle, body mem.Pointer) {
	m.put(shard, to, *mem.As[M](body))
}

// deliverer applies a request to send at the refresh.
type deliverer[M any] struct{ m *Message[M] }

func (d deliverer[M]) Apply(s *store.Shard, h handle.Handle, _ slots.Loc, body mem.Pointer) queue.Outcome {
	box := d.m.box(s.ID())
	box.next = append(box.next, Envelope[M]{h, *mem.As[M](body)})
	if s.InMigration {
		box.order = append(box.order, s.Order())
	}
	return queue.Applied
}

func (m *Message[M]) messageType() reflect.Type { return m.typ }

// Receiver reads the messages of one type that were delivered to the shard for
// this tick.
type Receiver[M any] struct {
	box   *messageBox[M]
	guard check.Guard
}

// Receive asks for the messages of type M. It panics if M is not registered, and in a global
// system, to which no messages go: let a system on each shard receive them, and pass them on by an
// accumulator ([RegisterAccumulator]).
func Receive[M any](b *Build) *Receiver[M] {
	bound := b.bind("world.Receive")
	b.mustHaveShard("world.Receive", "messages are delivered to the shard that holds the entity")
	t := reflect.TypeFor[M]()
	for _, m := range b.w.messages {
		if m.messageType() == t {
			return &Receiver[M]{box: &m.(*Message[M]).boxes[b.Shard()], guard: bound.guard(fmt.Sprintf("the receiver of message %v", t))}
		}
	}
	panic(fmt.Sprintf("world: %s: %v is not a message of this world; call world.RegisterMessage[%v] first", bound.call, t, t))
}

// All returns this tick's messages in order. The slice is good until the refresh. The entity a
// message is for was alive when the message was delivered; look it up before use.
func (r *Receiver[M]) All() []Envelope[M] {
	if check.Enabled {
		r.guard.Must()
	}
	return r.box.now
}
