package queue

// Look calls f with each request that Drain would take, in order, and takes none. The argument of f
// is good until f returns. Look returns the counter of the last request that it looked at, to be
// passed to Drain: the sender may send more meanwhile. Consumer only.
func (l *Queue) Look(cut uint32, f func(PendingRequest)) (seen uint32) {
	published, taken := l.published.Load(), l.taken
	if taken == published {
		return published
	}
	var streams []stream // of the published requests; the producer may add more
	if all := l.streams.Load(); all != nil {
		streams = *all
	}
	l.records.Hold()
	for i := range streams {
		streams[i].Hold()
	}
	defer func() { // also if f panics
		l.records.Rewind()
		for i := range streams {
			streams[i].Rewind()
		}
	}()
	l.records.look()
	for ; taken != published; taken++ {
		r := l.records.peek()
		if l.records.passed(r) {
			r = l.records.seek()
		}
		if r.flags&together == 0 && int32(r.mark-cut) > 0 {
			break
		}
		if r.kind >= many {
			taken += l.lookMany(r, f) - 1
			continue
		}
		k := &l.kinds.kinds[r.kind]
		l.records.got += k.units
		q := PendingRequest{Request: r, payload: r.payload(k.units)}
		if !k.plain {
			q.payload = l.nextOf(r.kind)
		}
		f(q)
	}
	return published
}
