package realm

import (
	"errors"
	"fmt"

	"go.uber.org/atomic"
)

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
