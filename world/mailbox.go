package world

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// messageBox holds a shard's messages of one type: those of this tick and those of the next
// tick.
//
// Invariants: in a refresh in which atoms migrate, order holds the places of the messages in
// next among all requests, ascending.
//
// Ownership: the shard's owner; in CountLeaving and AddLeaving the coordinator.
type messageBox[M any] struct {
	of        *Message[M]
	now, next []Envelope[M]
	order     []uint64
	leaving   []leavingMessage[M] // taken out of next, in order
	listed    bool                // in the engine's Mail
	_         [64]byte            // other shards' boxes are written by other workers
}

// leavingMessage is a message whose entity leaves for another shard.
type leavingMessage[M any] struct {
	to    int
	order uint64
	Envelope[M]
}

// box returns a shard's box, to put a message in, for the goroutine that has the shard. The next
// refreshes look at it.
func (m *Message[M]) box(shard int) *messageBox[M] {
	box := &m.boxes[shard]
	if !box.listed {
		box.listed = true
		m.w.List(shard, box)
	}
	return box
}

// Swap makes the messages of the next tick the messages of this one, and wakes their receivers. It
// returns false if there are none: then the box is no longer listed. On the worker of shard s, whose
// box this is, at the end of each tick that has mail.
func (b *messageBox[M]) Swap(s *store.Shard) bool {
	clear(b.now)
	b.now, b.next = b.next, b.now[:0]
	b.order = b.order[:0]
	clear(b.leaving)
	b.leaving = b.leaving[:0]
	b.listed = len(b.now) > 0
	if f := b.of.wakes; f != 0 {
		for i := range b.now {
			b.of.w.Wake(s, b.now[i].To, f)
		}
	}
	return b.listed
}

// CollectOutgoing takes the messages of entities that migrate out of next. The worker of shard s,
// whose box this is, calls it in the step collect outgoing.
func (b *messageBox[M]) CollectOutgoing(s *store.Shard) {
	kept := 0
	for i, e := range b.next {
		if to, ok := s.MigratesTo(e.To); ok {
			b.leaving = append(b.leaving, leavingMessage[M]{to, b.order[i], e})
			continue
		}
		b.next[kept], b.order[kept] = e, b.order[i]
		kept++
	}
	clear(b.next[kept:])
	b.next, b.order = b.next[:kept], b.order[:kept]
}

// CountLeaving counts the messages that leave, by shard. Coordinator only, between the steps
// collect outgoing and copy incoming.
func (b *messageBox[M]) CountLeaving() {
	for i := range b.leaving {
		b.of.came.Count(b.leaving[i].to)
	}
}

// AddLeaving hands the messages that leave over to the shards that they go to. Coordinator only,
// when all are counted.
func (b *messageBox[M]) AddLeaving() {
	for i := range b.leaving {
		b.of.came.Add(b.leaving[i].to, b.leaving[i])
	}
}

// messages is a message type as package engine sees it.
type messages[M any] Message[M]

// Type returns M.
func (m *messages[M]) Type() reflect.Type { return reflect.TypeFor[M]() }

// Name returns the name of the messages.
func (m *messages[M]) Name() string { return m.name }

// Drop forgets all messages, when the world is closed or broken, or a load is undone.
func (m *messages[M]) Drop() {
	for i := range m.boxes {
		m.boxes[i] = messageBox[M]{of: (*Message[M])(m)}
	}
}

// Mail returns the messages of a box that the next tick receives. The world is idle.
func (m *messages[M]) Mail(box int) (to []handle.Handle, bodies mem.Cells) {
	var all []M
	for _, e := range m.boxes[box].now {
		to, all = append(to, e.To), append(all, e.Body)
	}
	return to, mem.CellsOf(all)
}

// Load returns where a load stores messages for a box; put delivers them, and nothing before.
func (m *messages[M]) Load(box int, to []handle.Handle) (bodies mem.Cells, put func()) {
	all := make([]M, len(to))
	return mem.CellsOf(all), func() {
		for i, h := range to {
			(*Message[M])(m).add(box, h, all[i])
		}
	}
}

// Reset begins to count messages that change boxes. Coordinator only.
func (m *messages[M]) Reset() { m.came.Reset(len(m.boxes)) }

// Counted ends the counting, before AddLeaving. Coordinator only.
func (m *messages[M]) Counted() { m.came.Counted() }

// CopyIncoming puts the messages that have come to a shard into its box, in order. The worker of
// the shard calls it in the step copy incoming.
func (m *messages[M]) CopyIncoming(shard int) {
	came := m.came.Of(shard)
	if len(came) == 0 {
		return
	}
	slices.SortFunc(came, func(a, b leavingMessage[M]) int { return cmp.Compare(a.order, b.order) })
	(*Message[M])(m).box(shard).merge(came)
	clear(came)
}

// merge puts the messages in came among the messages of the next tick, in order, beginning with the
// last.
func (b *messageBox[M]) merge(came []leavingMessage[M]) {
	i, k := len(b.next), len(came)
	b.next, b.order = slices.Grow(b.next, k)[:i+k], slices.Grow(b.order, k)[:i+k]
	for k > 0 {
		if i > 0 && b.order[i-1] > came[k-1].order {
			i--
			b.next[i+k], b.order[i+k] = b.next[i], b.order[i]
		} else {
			k--
			b.next[i+k], b.order[i+k] = came[k].Envelope, came[k].order
		}
	}
}

// Forward puts messages into the boxes of the shards that their entities are in now. The goroutine
// that begins a tick calls it, before a shard runs.
func (b *messageBox[M]) Forward(shard int) {
	kept := b.now[:0]
	for _, e := range b.now {
		if to, ok := b.of.w.ShardOf(e.To); ok && to != shard {
			box := b.of.box(to)
			box.now = append(box.now, e)
		} else {
			kept = append(kept, e)
		}
	}
	clear(b.now[len(kept):])
	b.now = kept
}
