package scheduler

import (
	"runtime/debug"
	"sync/atomic"

	"github.com/atoll-sim/atoll/world"
)

// program is one shard's way through the systems of a tick.
//
// Ownership: whoever holds claimed, which hands the rest over.
type program struct {
	claimed atomic.Bool
	next    int // the system to run next
	shard   int
	errs    []*SystemError
	_       [64]byte // programs are claimed by different workers
}

// advance runs the shard forward until it is done or stands before a closed
// fence. It reports whether it ran anything.
func (t *tick) advance(p *program) (ran bool) {
	c := t.world.Context(p.shard)
	for p.next < len(t.systems) {
		s := t.systems[p.next]
		if s.fence >= 0 && t.passed[s.fence].left.Load() > 0 {
			return ran
		}
		p.run(s, c)
		ran = true
		// Publishes what the system wrote in this shard to who waits behind.
		left := t.passed[p.next].left.Add(-1)
		if left == 0 && (s.awaited || p.next == len(t.systems)-1) {
			t.gate.raise()
		}
		p.next++
	}
	return ran
}

// run runs one system on the shard and keeps a panic.
func (p *program) run(s *system, c *world.Context) {
	c.Start(s.name, s.access)
	defer func() {
		c.Stop()
		if v := recover(); v != nil {
			p.errs = append(p.errs, &SystemError{System: s.name, Shard: p.shard, Tick: c.Tick(), Value: v, Stack: debug.Stack()})
		}
	}()
	s.run[p.shard](c)
}
