package world

import (
	"fmt"
	"iter"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
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
	delivered
	w       *engine.World
	name    string
	sending queue.Kind
	wakes   engine.Flags                    // flags that a delivered message takes from its receiver
	boxes   []messageBox[M]                 // by shard
	came    store.Groups[leavingMessage[M]] // in a refresh: messages of atoms that migrate
	drafts  []draftMessage[M]               // of the transaction that runs
}

// Envelope is a delivered message.
type Envelope[M any] struct {
	To   handle.Handle // handle.None: to the shard
	Body M
}

// RegisterMessage makes M a message of the world, under a name. When to call it: see Register.
//
// It panics if the name is empty, if the type or name is registered already, or if an M cannot be
// moved: see Register.
func RegisterMessage[M any](w *World, name string) *Message[M] {
	m := &Message[M]{w: (*engine.World)(w), name: name}
	m.w.AddMessages(reflect.TypeFor[M](), name, func() engine.Messages {
		m.sending = store.NewKind(m.w.Space(), mem.TypeOf[M](), deliverer[M]{m})
		m.delivered = m.w.DeliveredBy(name, &m.sending, m.deliver)
		m.boxes = make([]messageBox[M], w.Shards())
		for i := range m.boxes {
			m.boxes[i].of = m
		}
		return (*messages[M])(m)
	})
	return m
}

// Wakes makes each message of the type take flags from the entity that it is delivered to. So
// queries that leave out entities with those flags see the entity in the tick in which the message
// is delivered. The flags are taken after all other requests of that refresh, such as AddFlags.
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
	m.w.MustBeNamed("Message.Wakes", m.name)
	if f == 0 {
		panic("world: Message.Wakes of no flags; name one or more")
	}
	m.wakes |= engine.Flags(f)
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
	self := selfOf(by)
	m.w.Check(self, "Message.Send", "message", m.name)
	if w, ok := self.(*engine.World); ok {
		shard, err := w.Sends("Message.Send by the World", to)
		if err == nil {
			m.put(shard, to, body)
		}
		return err
	}
	if t, ok := self.(*engine.Tx); ok {
		if err := t.Write("Message.Send", (*draftMessages[M])(m)); err != nil {
			return err
		}
		shard, err := t.Target(to)
		if err == nil {
			err = m.draft(t, shard, to, body)
		}
		return err
	}
	x, err := engine.Request(self, "Message.Send", &m.sending, to)
	if err == nil {
		*mem.As[M](x.To) = body
		x.Done()
	}
	return err
}

// SendShard sends a message to a shard, whatever entities it holds. Its systems find the message in
// the next tick with handle.None as To, in order among the others. It returns ErrFull if the
// message was not accepted, and panics if there is no such shard.
func (m *Message[M]) SendShard(by Actor, to int, body M) error {
	const call = "Message.SendShard"
	self := selfOf(by)
	m.w.Check(self, call, "message", m.name)
	engine.MustHaveShard(self, to, len(m.boxes), m.name)
	return m.direct(self, call, to, to+1, body)
}

// Broadcast is SendShard to every shard: all get the message or none. It counts as one request for
// each shard.
func (m *Message[M]) Broadcast(by Actor, body M) error {
	const call = "Message.Broadcast"
	self := selfOf(by)
	m.w.Check(self, call, "message", m.name)
	return m.direct(self, call, 0, len(m.boxes), body)
}

// direct sends a message to each of a run of shards, to all or none; call is the name for panics.
func (m *Message[M]) direct(by engine.Self, call string, from, to int, body M) error {
	if w, ok := by.(*engine.World); ok {
		if err := w.Changes(call); err != nil {
			return err
		}
		for i := from; i < to; i++ {
			m.put(i, handle.None, body)
		}
		return nil
	}
	if t, ok := by.(*engine.Tx); ok {
		if err := t.Write(call, (*draftMessages[M])(m)); err != nil {
			return err
		}
		for i := from; i < to; i++ {
			if err := m.draft(t, i, handle.None, body); err != nil {
				return err // the transaction fails
			}
		}
		return nil
	}
	x, err := engine.RoomFor(by, call, &m.sending, to-from)
	if err != nil {
		return err
	}
	for i := from; i < to; i++ {
		*mem.As[M](x.Direct(m.w, &m.sending, i)) = body
	}
	x.Done()
	return nil
}

// put delivers a message for the next tick, on the idle world or, by the worker of the shard, after
// the swap of the boxes.
func (m *Message[M]) put(shard int, to handle.Handle, body M) {
	m.add(shard, to, body)
	if s := m.w.Shard(shard); m.wakes != 0 && m.w.Wake(s, to, m.wakes) {
		s.PublishFlags()
	}
}

// add puts a message in a box, as put does, or a load. It wakes nobody: a load restores flags as
// they were.
func (m *Message[M]) add(shard int, to handle.Handle, body M) {
	box := m.box(shard)
	box.now = append(box.now, Envelope[M]{to, body})
	if of := m.sending.Type(); of.HasTimes() {
		of.DropClocks(mem.PointerTo(&box.now[len(box.now)-1].Body).Address, 1)
	}
}

// Waiting yields the messages that were delivered and that the next tick receives, shard by shard,
// in order. What is in them belongs to nobody yet: who adds up money, say, counts them beside
// entities. The world must be idle, and nothing may be sent in the loop.
func (m *Message[M]) Waiting() iter.Seq[Envelope[M]] {
	m.w.MustIdle("Message.Waiting")
	return func(yield func(Envelope[M]) bool) {
		m.w.MustIdle("Message.Waiting")
		for i := range m.boxes {
			for _, e := range m.boxes[i].now {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// deliver is an extend.Deliver: the worker of the shard calls it in the step deliver.
func (m *Message[M]) deliver(shard int, to handle.Handle, body mem.Pointer) {
	m.put(shard, to, *mem.As[M](body))
}

// deliverer applies a request to send at the refresh.
type deliverer[M any] struct{ m *Message[M] }

// Apply puts a message in the box of the shard, for the next tick. The worker of the shard calls it
// in the step apply.
func (d deliverer[M]) Apply(s *store.Shard, h handle.Handle, _ slots.Loc, body mem.Pointer) queue.Outcome {
	box := d.m.box(s.ID())
	box.next = append(box.next, Envelope[M]{h, *mem.As[M](body)})
	if s.InMigration {
		box.order = append(box.order, s.Order())
	}
	return queue.Applied
}

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
	m, guard := (*engine.Build)(b).AskMessages(reflect.TypeFor[M]())
	return &Receiver[M]{box: &m.(*messages[M]).boxes[b.Shard()], guard: guard}
}

// All returns this tick's messages in order. The slice is good until the refresh. The entity a
// message is for was alive when the message was delivered; look it up before use.
func (r *Receiver[M]) All() []Envelope[M] {
	if check.Enabled {
		r.guard.Must()
	}
	return r.box.now
}

// Describe says that messages may be for a shard.
func (d deliverer[M]) Describe() store.Description {
	return store.Description{Name: engine.Describe("message", d.m.name).Name, Direct: true}
}
