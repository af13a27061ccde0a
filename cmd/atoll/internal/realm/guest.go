package realm

import (
	"errors"
	"fmt"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// OpenMailbox gives a client its number and the channel on which the islands
// reply to it. They never wait: if the channel is full, a reply is dropped
// and counted. It returns ErrMailboxes if there are too many clients. Safe from
// any goroutine.
func (r *Realm) OpenMailbox(size int) (client uint32, box <-chan Reply, err error) {
	return r.mailboxes.open(size)
}

// CloseMailbox gives the number back. No command of the client may be under way,
// and its avatar must be dead. Safe from any goroutine.
func (r *Realm) CloseMailbox(client uint32) { r.mailboxes.close(client) }

// Join requests an avatar for a client, at a random place.
func (r *Realm) Join(p *world.Port, client, seq uint32) (handle.Handle, error) {
	return r.avatars.Create(p, avatar{
		Position: Position{scatter(client, seq) * r.extent().X, scatter(seq, client) * r.extent().Y},
		Health:   Health{avatarHealth},
		Avatar:   Avatar{Client: client},
	})
}

// Command sends a command to a client's avatar.
func (r *Realm) Command(p *world.Port, avatar handle.Handle, c Command) error {
	return r.commands.Send(p, avatar, c)
}

// SetStance sets an avatar's stance.
func (r *Realm) SetStance(p *world.Port, avatar handle.Handle, s Stance) error {
	return r.stance.Set(p, avatar, s)
}

// scatter returns a number from 0 to 1 that looks random and depends on a and b
// alone.
func scatter(a, b uint32) float32 {
	x := uint64(a)<<32 | uint64(b)
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return float32(x>>40) / (1 << 24)
}

// ErrMailboxes is returned when as many mailboxes are open as the realm allows.
var ErrMailboxes = errors.New("realm: too many clients")

// mailboxes is where the islands leave replies for clients. An
// island never waits for a client: a reply that does not fit is counted as
// unheard and dropped. A client always has room if it has no more commands under way than its
// mailbox holds, and receives its deaths.
//
// Invariants: a number has at most one mailbox at a time.
//
// Ownership: any island's worker posts; the opener of a mailbox receives. Any
// client may open and close one at any time.
type mailboxes struct {
	boxes []atomic.Pointer[chan Reply] // by client
	free  chan uint32
}

func newMailboxes(n int) *mailboxes {
	m := &mailboxes{boxes: make([]atomic.Pointer[chan Reply], n), free: make(chan uint32, n)}
	for i := range n {
		m.free <- uint32(i)
	}
	return m
}

func (m *mailboxes) open(size int) (client uint32, box <-chan Reply, err error) {
	select {
	case client = <-m.free:
	default:
		return 0, nil, fmt.Errorf("%w: %d are here", ErrMailboxes, len(m.boxes))
	}
	c := make(chan Reply, size)
	m.boxes[client].Store(&c)
	return client, c, nil
}

func (m *mailboxes) close(client uint32) {
	m.boxes[client].Store(nil)
	m.free <- client
}

// post leaves a reply. It returns false if it is dropped.
func (m *mailboxes) post(client uint32, r Reply) bool {
	if int(client) >= len(m.boxes) {
		return false
	}
	box := m.boxes[client].Load()
	if box == nil {
		return false
	}
	select {
	case *box <- r:
		return true
	default:
		return false
	}
}
