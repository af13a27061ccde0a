package realm

import (
	"errors"
	"fmt"

	"go.uber.org/atomic"
)

// ErrMailboxes is returned when as many mailboxes are open as the realm allows.
var ErrMailboxes = errors.New("realm: too many clients")

// mailboxes is where the islands leave what they tell clients. Whoever runs an
// island never waits for a client: a reply that does not fit is counted as
// unheard and dropped. Clients that have no more commands under way than their
// mailbox is large, and take out their deaths, always have room.
//
// Invariants: a number has at most one mailbox at a time.
//
// Ownership: any island's worker posts, whoever opened a mailbox receives. Each
// may open and close at any time.
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

// post leaves a reply. It reports false if nobody will hear it.
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
