package scheduler

import (
	"slices"

	"github.com/atoll-sim/atoll/internal/extend"
)

// AppendState appends the scheduler's state that decides what the next tick does: which systems are
// enabled, on which shards a panic disabled them, and what the Balancer's method of the same name
// appends, if it has one. Times are not included. It is for the hash of package state. While a log
// of inputs is written, Enable and Disable count from the next tick on, which records them. Only the
// goroutine that owns the scheduler may call it, between ticks.
func (s *Scheduler) AppendState(dst []byte) []byte {
	s.mustRest("AppendState")
	if !s.tick.engine.Logged() {
		s.takeSwitches()
		s.switches = s.switches[:0] // what is recorded from now on begins with them
	}
	for _, x := range s.graph.inOrder() {
		dst = append(dst, x.name...)
		dst = append(dst, 0, bit(x.on))
		if !slices.Contains(x.off, true) || x.restarts {
			dst = append(dst, extend.OffNowhere)
			continue
		}
		dst = append(dst, x.offs())
		for _, off := range x.off {
			dst = append(dst, bit(off))
		}
	}
	if b := &s.balancing; b.by != nil {
		dst = append(dst, bit(b.system.enabled.Load()))
		if x, ok := b.by.(interface{ AppendState(dst []byte) []byte }); ok {
			dst = x.AppendState(dst)
		}
	}
	return dst
}

// LoadState restores the state of the scheduler when AppendState wrote src. All systems of src must
// have been added, in any order. Systems that src lacks, and a Balancer that it lacks, keep their
// state. The state of a Balancer is left out if there is none now, or one without a state. A
// Balancer with a state must have a method LoadState, like this one. If LoadState cannot load src,
// it returns an error and changes nothing. Only the goroutine that owns the scheduler may call it,
// between ticks.
func (s *Scheduler) LoadState(src []byte) error {
	s.mustRest("LoadState")
	enabled, off := map[*system]bool{}, map[*system][]bool{}
	for {
		saved, rest, more, err := extend.NextSystem(src, s.World().Shards())
		if err != nil {
			return err
		}
		if !more {
			break
		}
		x, err := s.find(saved.Name)
		if err != nil {
			return err
		}
		enabled[x], off[x] = saved.On, make([]bool, len(x.off))
		for k := range off[x] {
			off[x][k] = len(saved.Off) == len(x.off) && saved.Off[k] == 1
		}
		if len(saved.Off) != len(x.off) && slices.Contains(saved.Off, 1) { // it was global, or is now
			for k := range off[x] {
				off[x][k] = true
			}
		}
		src = rest
	}
	if err := s.balancing.load(src); err != nil {
		return err
	}
	s.tick.engine.Touched()
	for x, on := range enabled {
		x.enabled.Store(on)
		x.reenabled.Store(false)
		x.on, x.restarts = on, false
		copy(x.off, off[x])
	}
	s.planned = false // each step has a copy of off
	return nil
}

// offs says how many shards have a byte in the state.
func (s *system) offs() byte {
	if s.global {
		return extend.OffSystem
	}
	return extend.OffShards
}
