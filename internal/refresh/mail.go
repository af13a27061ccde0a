package refresh

import "github.com/atoll-sim/atoll/internal/store"

// Mail has the messages of a world, by shard and type.
//
// Ownership: the boxes of a shard belong to the shard's owner; the rest to the world, on an idle
// world, and to the coordinator in a refresh.
type Mail struct {
	Routers   []Router // by type of message
	Misrouted bool     // messages may be in another shard's box than their entity

	shards []mailboxes
}

// mailboxes lists the boxes of one shard that hold messages, of any type.
type mailboxes struct {
	boxes []Mailbox
	_     [64]byte // other shards' mail is changed by other workers
}

// Mailbox holds a shard's messages of one type: those of this tick and those of the next tick.
type Mailbox interface {
	// Swap makes the messages of the next tick those of this one, and wakes their receivers. It
	// returns false if there are none: then the box is no longer listed.
	Swap(s *store.Shard) bool
	// CollectOutgoing takes out the messages for atoms that leave the shard.
	CollectOutgoing(s *store.Shard)
	// CountLeaving and AddLeaving tell the Router of the type of the messages that were taken
	// out.
	CountLeaving()
	AddLeaving()
	// Forward is Mail.Forward for one box.
	Forward(shard int)
}

// Router groups the messages of one type for migrating atoms by the shard they go to.
type Router interface {
	Reset()
	// Counted is called between the calls of CountLeaving and those of AddLeaving.
	Counted()
	// CopyIncoming takes in the messages that came to a shard with migrating atoms.
	CopyIncoming(shard int)
}

// List adds a box that gets its first message.
func (m *Mail) List(shard int, box Mailbox) {
	of := &m.shards[shard]
	of.boxes = append(of.boxes, box)
}

// Empty reports whether there are no messages. The world is idle.
func (m *Mail) Empty() bool { return m.boxes() == 0 }

// Clear takes all boxes off the list. The caller has emptied them.
func (m *Mail) Clear() {
	for i := range m.shards {
		m.shards[i].boxes = nil
	}
}

// boxes returns how many boxes hold messages, while no shard runs.
func (m *Mail) boxes() (n int) {
	for i := range m.shards {
		n += len(m.shards[i].boxes)
	}
	return n
}

// Forward moves the messages of this tick to the shards where their entities are now, after the
// messages that are there already. The goroutine that begins a tick calls it, before a shard runs.
func (m *Mail) Forward() {
	if !m.Misrouted {
		return
	}
	m.Misrouted = false
	for i := range m.shards {
		for _, box := range m.shards[i].boxes {
			box.Forward(i)
		}
	}
}

// swap swaps the boxes of a shard, so that the next tick receives what was sent in this one, and
// keeps those that still hold messages. The shard's worker calls it in the step end tick.
func (m *Mail) swap(s *store.Shard) {
	of := &m.shards[s.ID()]
	if len(of.boxes) == 0 {
		return
	}
	kept := of.boxes[:0]
	for _, box := range of.boxes {
		if box.Swap(s) {
			kept = append(kept, box)
		}
	}
	clear(of.boxes[len(kept):])
	of.boxes = kept
}

// collectOutgoing takes out the messages for atoms that leave a shard, on its worker.
func (m *Mail) collectOutgoing(s *store.Shard) {
	for _, box := range m.shards[s.ID()].boxes {
		box.CollectOutgoing(s)
	}
}

// gather groups the messages that were taken out by the shard they go to. The coordinator calls it
// between collect outgoing and copy incoming.
func (m *Mail) gather() {
	for _, r := range m.Routers {
		r.Reset()
	}
	for i := range m.shards {
		for _, box := range m.shards[i].boxes {
			box.CountLeaving()
		}
	}
	for _, r := range m.Routers {
		r.Counted()
	}
	for i := range m.shards {
		for _, box := range m.shards[i].boxes {
			box.AddLeaving()
		}
	}
}

// copyIncoming takes in the messages that came to a shard with migrating atoms, on its worker.
func (m *Mail) copyIncoming(shard int) {
	for _, r := range m.Routers {
		r.CopyIncoming(shard)
	}
}
