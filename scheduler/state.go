package scheduler

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// AppendState appends what the scheduler knows that decides what the next tick does: which
// systems are enabled, on which shards they were disabled because they panicked, and what the
// Balancer's method of the same name appends, if it has one. Times are not included. It is for
// the hash of package state. Only the goroutine that owns the scheduler may call it, between
// ticks.
func (s *Scheduler) AppendState(dst []byte) []byte {
	s.mustRest("AppendState")
	for _, x := range s.sorted {
		dst = append(dst, x.name...)
		dst = append(dst, 0, bit(x.enabled.Load()))
		if !slices.Contains(x.off, true) || x.reenabled.Load() {
			dst = append(dst, 0)
			continue
		}
		dst = append(dst, 1)
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

// LoadState makes the scheduler what it was when AppendState wrote src. All systems of src must be
// there, in the same order. A Balancer with a state must have a method LoadState, like this one.
// It returns an error, and changes nothing, for what it cannot load. Only the goroutine that owns
// the scheduler may call it, between ticks.
func (s *Scheduler) LoadState(src []byte) error {
	s.mustRest("LoadState")
	enabled, off := make([]bool, len(s.sorted)), make([][]bool, len(s.sorted))
	for i, x := range s.sorted {
		name, rest, ok := bytes.Cut(src, []byte{0})
		if !ok || string(name) != x.name {
			return fmt.Errorf("scheduler: system %d is %q, and was %q", i, x.name, name)
		}
		if off[i] = make([]bool, len(x.off)); len(rest) > 1 && rest[1] == 1 && len(rest) >= 2+len(x.off) {
			for k := range x.off {
				off[i][k] = rest[2+k] == 1
			}
			src = rest[2+len(x.off):]
		} else if len(rest) > 1 && rest[1] == 0 {
			src = rest[2:]
		} else {
			return fmt.Errorf("scheduler: the state of system %q is none", x.name)
		}
		enabled[i] = rest[0] == 1
	}
	if err := s.balancing.load(src); err != nil {
		return err
	}
	for i, x := range s.sorted {
		x.enabled.Store(enabled[i])
		x.reenabled.Store(false)
		copy(x.off, off[i])
	}
	s.planned = false // steps know where they are off
	return nil
}

// load gives the Balancer the state that AppendState wrote.
func (b *balancing) load(src []byte) error {
	if b.by == nil {
		if len(src) > 0 {
			return errors.New("scheduler: there is more state than its systems have; add the same systems and Balancer")
		}
		return nil
	}
	if len(src) == 0 {
		return errors.New("scheduler: the state of the Balancer is missing; it was saved without one")
	}
	by, loads := b.by.(interface{ LoadState(src []byte) error })
	if !loads && len(src) > 1 {
		return fmt.Errorf("scheduler: the Balancer, a %T, has a state and no LoadState", b.by)
	}
	if loads {
		if err := by.LoadState(src[1:]); err != nil {
			return err
		}
	}
	b.system.enabled.Store(src[0] == 1)
	return nil
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}
