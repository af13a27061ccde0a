package soak

import (
	"time"

	"go.uber.org/atomic"
)

// rest stops the clients: first all stop offering contests, then they
// wait for what they have sent, then they wait for the release.
//
// Ownership: resume is the conductor's, written before asked.
type rest struct {
	asked    atomic.Bool
	stopped  atomic.Int32 // clients that offer nothing
	parked   atomic.Int32
	contests atomic.Int32 // under way
	resume   chan struct{}
}

// ask makes the clients park.
func (r *rest) ask() {
	r.stopped.Store(0)
	r.parked.Store(0)
	r.resume = make(chan struct{})
	r.asked.Store(true) // publishes resume
}

// release lets them continue.
func (r *rest) release() {
	r.asked.Store(false)
	close(r.resume)
}

// park waits until the audit is over.
func (c *client) park() {
	r := &c.s.rest
	resume := r.resume
	r.stopped.Inc()
	for int(r.stopped.Load()) < len(c.s.clients) || r.contests.Load() > 0 || c.port.Waiting() > 0 || c.watches.newest() != nil {
		if c.s.patience.Err() != nil {
			return
		}
		c.serve()
		c.watches.settle(c)
		time.Sleep(time.Millisecond)
	}
	r.parked.Inc()
	<-resume
}
