package queue

import "math"

// Look calls f with each request that Drain would take, in order and one by one, and takes none. The
// argument of f is good until f returns. Consumer only.
func (q *Queue) Look(cut uint32, f func(PendingRequest)) {
	upto, _ := q.Measure(cut, math.MaxUint64, false)
	q.Sealed(upto, func(p PendingRequest) {
		if p.IsMany() {
			q.kinds.Each(p, f)
		} else {
			f(p)
		}
	})
}
