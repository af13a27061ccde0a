package scheduler

import (
	"fmt"
	"slices"
)

// find returns the system of that name. Safe from any goroutine.
func (s *Scheduler) find(name string) (*system, error) {
	s.names.RLock()
	defer s.names.RUnlock()
	x := s.names.systems[name]
	if x == nil {
		return nil, fmt.Errorf("scheduler: there is no system %q", name)
	}
	return x, nil
}

// Enable makes a system run on all shards from the next tick on, also after a panic disabled it. It
// returns an error if there is no such system. Safe from any goroutine at any time; a system may
// call it. Which tick is the next depends on the moment of the call: where the same inputs must
// give the same world, use When.
func (s *Scheduler) Enable(name string) error {
	x, err := s.find(name)
	if err == nil {
		x.reenabled.Store(true)
		x.enabled.Store(true)
		s.switched.Store(true)
	}
	return err
}

// Disable makes a system not run from the next tick on. It returns the same error as Enable,
// and the same goroutines may call it.
func (s *Scheduler) Disable(name string) error {
	x, err := s.find(name)
	if err == nil {
		x.enabled.Store(false)
		s.switched.Store(true)
	}
	return err
}

// takeSwitches puts the calls of Enable and Disable into effect for the next tick, all at once. A
// system that is switched later changes only in the tick after that, even if the next tick has not
// asked its conditions yet.
func (s *Scheduler) takeSwitches() {
	if !s.switched.Load() || !s.switched.Swap(false) {
		return
	}
	s.names.RLock()
	defer s.names.RUnlock()
	for _, x := range s.names.systems {
		on, restarts := x.enabled.Load(), x.reenabled.Swap(false) && slices.Contains(x.off, true)
		s.changed = s.changed || on != x.on || restarts
		x.on, x.restarts = on, x.restarts || restarts
	}
}

// Enabled reports whether the system is there and enabled. Safe from any
// goroutine.
func (s *Scheduler) Enabled(name string) bool {
	x, err := s.find(name)
	return err == nil && x.enabled.Load()
}
