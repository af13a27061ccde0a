package scheduler

import "sync"

// names finds systems by name.
//
// Ownership: safe for concurrent use; mu guards.
type names struct {
	mu struct {
		sync.RWMutex
		byName map[string]*system
	}
}

func (n *names) init() { n.mu.byName = map[string]*system{} }

func (n *names) add(s *system) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.byName[s.name] = s
}

func (n *names) find(name string) *system {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.mu.byName[name]
}

// Enable makes a system run from the next tick on, on all shards, also after it
// was disabled because it panicked. It returns an error if there is no such
// system. Safe from any goroutine at any time; a system may call it. Which tick is
// the next depends on the moment: where the same inputs must give the same world,
// use When.
func (s *Scheduler) Enable(name string) error {
	x := s.names.find(name)
	if x == nil {
		return errUnknown(name)
	}
	x.reenabled.Store(true)
	x.enabled.Store(true)
	return nil
}

// Disable makes a system not run from the next tick on. It returns the same error as Enable,
// and the same goroutines may call it.
func (s *Scheduler) Disable(name string) error {
	x := s.names.find(name)
	if x == nil {
		return errUnknown(name)
	}
	x.enabled.Store(false)
	return nil
}

// Enabled reports whether the system is there and enabled. Safe from any
// goroutine.
func (s *Scheduler) Enabled(name string) bool {
	x := s.names.find(name)
	return x != nil && x.enabled.Load()
}
