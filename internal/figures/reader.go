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
		under   <-chan error // of a reading that has not ended, or nil
		samples [2]Sample    // by turns, so that a reading has memory: it keeps the tick waiting
		last    int          // the newest; a reading fills the other
		is      bool         // there is one
		at      time.Time
	}
}

// NewReader makes one.
func NewReader(s *scheduler.Scheduler) *Reader { return &Reader{s: s} }

// Read returns the figures as they are between two ticks. It waits for that until the context ends; then, or if the
// world is closed, it returns the last ones there were, or only their age if there are none. Callers wait for each other.
func (r *Reader) Read(ctx context.Context) []Family {
	m := &r.mu
	m.Lock()
	defer m.Unlock()
	if m.under == nil {
		next := &m.samples[1-m.last]
		m.under = r.s.Between(func(w *world.World) { next.Take(r.s, w) })
	}
	select {
	case err := <-m.under:
		if m.under = nil; err == nil {
			m.last, m.is, m.at = 1-m.last, true, time.Now()
		}
	case <-ctx.Done():
	}
	if !m.is {
		return []Family{up(0)}
	}
	age := Family{"atoll_sample_age_seconds", "How old these figures are: they are read between ticks.", Gauge, nil, []Figure{{Value: time.Since(m.at).Seconds()}}}
	return append(m.samples[m.last].Families(), up(1), age)
}

func up(is float64) Family {
	return Family{"atoll_up", "1 if there are figures of the world.", Gauge, nil, []Figure{{Value: is}}}
}
