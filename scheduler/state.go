package scheduler

import "slices"

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

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}
