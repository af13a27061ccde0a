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
		t.run(p, s, c)
		ran = true
	}
	return ran
}

// pass ends the system that the program is at, and publishes what it wrote in
// this shard to who waits behind.
func (t *tick) pass(p *program) {
	k := p.next
	p.next++
	left := t.passed[k].left.Add(-1)
	if left == 0 && (t.systems[k].awaited || p.next == len(t.systems)) {
		t.gate.raise()
	}
}

// run runs one system on the shard and passes it, even if it panics, or ends the
// goroutine as a failed test does: then the program is given up, for another
// worker.
func (t *tick) run(p *program, s *system, c *world.Context) {
	returned := false
	c.Start(s.name, s.access)
	defer func() {
		c.Stop()
		v := recover()
		exits := v == nil && !returned
		if exits {
			v = errGoexit
		}
		if v != nil {
			p.errs = append(p.errs, &SystemError{System: s.name, Shard: p.shard, Tick: c.Tick(), Value: v, Stack: debug.Stack()})
		}
		t.pass(p)
		if exits {
			p.claimed.Store(false)
			t.gate.raise()
		}
	}()
	s.run[p.shard](c)
	c.Returned()
	returned = true
}
