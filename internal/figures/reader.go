package figures

import (
	"context"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Reader reads the figures of a scheduler and its world, from any goroutine.
//
// Ownership: any goroutine; mu guards what is nested with it.
type Reader struct {
	s  *scheduler.Scheduler
	mu struct {
		sync.Mutex
		under   <-chan error // gets the result of a reading that has not ended, or nil
		samples [2]Sample    // used in turns: a reading that must allocate would keep the tick waiting
		last    int          // the newest; the next reading fills the other
		is      bool         // there is a newest
	}
}

// NewReader makes a Reader.
func NewReader(s *scheduler.Scheduler) *Reader { return &Reader{s: s} }

// Read returns the figures between two ticks, read after the call. Any goroutine may call it, such
// as one that serves an HTTP request; callers wait for each other. It waits for the figures until
// the context ends. Then, or if the world is closed, it returns the last figures there were, or
// only atoll_up if there are none.
func (r *Reader) Read(ctx context.Context) []Family {
	m := &r.mu
	m.Lock()
	defer m.Unlock()
	if m.under != nil {
		r.wait(ctx) // of a caller whose context ended: the reading may have ended long ago
	}
	if m.under == nil {
		next := &m.samples[1-m.last]
		m.under = r.s.Between(func(w *world.World) { next.Take(r.s, w) })
		r.wait(ctx)
	}
	if !m.is {
		return []Family{up(0)}
	}
	last := &m.samples[m.last]
	age := Family{"atoll_sample_age_seconds", "How old these figures are: they are read between ticks.", Gauge, nil, []Figure{{Value: time.Since(last.at).Seconds()}}}
	return append(last.Families(), up(1), age)
}

// wait waits for the reading that is under way, or until the context ends: then the reading stays
// under way, for the next caller. The lock is held.
func (r *Reader) wait(ctx context.Context) {
	m := &r.mu
	select {
	case err := <-m.under:
		if m.under = nil; err == nil {
			m.last, m.is = 1-m.last, true
		}
	case <-ctx.Done():
	}
}

// up makes the family that says whether there are figures of the world.
func up(is float64) Family {
	return Family{"atoll_up", "1 if there are figures of the world.", Gauge, nil, []Figure{{Value: is}}}
}
