package server

import "sync"

// traffic counts what is under way in a server, so that it can be drained.
//
// Invariants: once closed, the count only falls.
//
// Ownership: any goroutine.
type traffic struct {
	mu struct {
		sync.Mutex
		underWay int
		closed   bool
		drained  chan struct{} // closed when closed and nothing is under way
	}
}

func (t *traffic) init() { t.mu.drained = make(chan struct{}) }

// enter counts one more, and reports false if the traffic is closed.
func (t *traffic) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.closed {
		return false
	}
	t.mu.underWay++
	return true
}

// leave counts one less.
func (t *traffic) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.underWay--
	t.end()
}

// close refuses further entries. The channel is closed when all have left.
func (t *traffic) close() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.mu.closed {
		t.mu.closed = true
		t.end()
	}
	return t.mu.drained
}

func (t *traffic) end() {
	if t.mu.closed && t.mu.underWay == 0 {
		close(t.mu.drained)
	}
}

// left returns how many are under way.
func (t *traffic) left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.underWay
}
