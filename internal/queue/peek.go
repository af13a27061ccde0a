package queue

// Look calls f with each request that Drain would take, in order and one by one, and takes none. The
// argument of f is good until f returns. Consumer only.
func (q *Queue) Look(cut uint32, f func(PendingRequest)) {
	published, taken := q.published.Load(), q.taken
	if taken == published {
		return
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
			p, _ := q.nextMany(r)
			q.kinds.Each(p, f)
			taken += p.of.len() - 1
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
}
