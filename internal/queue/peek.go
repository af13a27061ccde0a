package queue

// Look calls f with each request that Drain would take, in order, and takes none. The argument of f
// is good until f returns. Look returns the counter of the last request that it looked at, to be
// passed to Drain: the sender may send more meanwhile. Consumer only.
func (q *Queue) Look(cut uint32, f func(PendingRequest)) (seen uint32) {
	published, taken := q.published.Load(), q.taken
	if taken == published {
		return published
	}
	var streams []stream // of the published requests; the producer may add more
	if all := q.streams.Load(); all != nil {
		streams = *all
	}
	q.records.Hold()
	for i := range streams {
		streams[i].Hold()
	}
	defer func() { // also if f panics
		q.records.Rewind()
		for i := range streams {
			streams[i].Rewind()
		}
	}()
	q.records.look()
	for ; taken != published; taken++ {
		r := q.records.peek()
		if q.records.passed(r) {
			r = q.records.seek()
		}
		if r.flags&together == 0 && int32(r.mark-cut) > 0 {
			break
		}
		if r.kind >= many {
			taken += q.lookMany(r, f) - 1
			continue
		}
		k := &q.kinds.kinds[r.kind]
		q.records.got += k.units
		p := PendingRequest{Request: r, payload: r.payload(k.units)}
		if !k.plain {
			p.payload = q.nextOf(r.kind)
		}
		f(p)
	}
	return published
}
