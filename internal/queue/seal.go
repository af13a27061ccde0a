package queue

import "github.com/atoll-sim/atoll/internal/mem"

// A sealed tick fixes at its beginning what its refresh will take: Measure says how much, Sealed
// shows it, and Drain takes just that.

// Measure returns the counter up to which Drain may take requests that were sent in epoch cut or
// before, so that they count for at most so many bytes, and what they count for. A batch is taken
// whole or not at all. With one, the first is taken even if it is larger. Consumer only.
func (q *Queue) Measure(cut uint32, most uint64, one bool) (upto uint32, bytes uint64) {
	upto = q.taken
	at, sum, over := q.taken, uint64(0), false // with the batch that is looked at
	end := func() {
		if over = sum > most && !(one && bytes == 0); !over {
			upto, bytes = at, sum
		}
	}
	q.walk(q.published.Load(), func(r *Request, n, size uint32) bool {
		if r.flags&together == 0 {
			if end(); over || int32(r.mark-cut) > 0 {
				over = true
				return false
			}
		}
		at, sum = at+n, sum+BytesOf(int(n), size)
		return true
	}, nil)
	if !over {
		end()
	}
	return upto, bytes
}

// Sealed calls f with each request up to a counter that Measure returned, in order; a record of many
// is one of them. They are good until Drain has taken them and Release was called. Consumer only.
func (q *Queue) Sealed(upto uint32, f func(PendingRequest)) { q.walk(upto, nil, f) }

// walk goes through the requests that were published up to a counter, and takes none.
func (q *Queue) walk(published uint32, measure func(r *Request, n, size uint32) bool, f func(PendingRequest)) {
	taken := q.taken
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
	for n := uint32(1); taken != published; taken += n {
		r := q.records.peek()
		if q.records.passed(r) {
			r = q.records.seek()
		}
		var p PendingRequest
		k := &q.kinds.kinds[r.kind&^many]
		if n = 1; r.kind >= many {
			p, _ = q.nextMany(r)
			n = p.of.len()
		} else {
			q.records.got += k.units
			p = PendingRequest{Request: r, payload: r.payload(k.units)}
			if !k.plain {
				p.payload = q.nextOf(r.kind)
			}
		}
		if measure != nil && !measure(r, n, k.size) {
			return
		}
		if f != nil {
			f(p)
		}
	}
}

// A request that cannot be recorded stays in its queue, and Drain decides it as Failed. Its mark says
// so: it is far behind every epoch that Drain is called with.
const failedAhead = 1 << 30

// Fail has Drain decide a request as Failed that Sealed has shown. A record of many fails as a whole.
// Its batch is sealed by now, so that the mark is looked at. Consumer only.
func (r *Request) Fail(cut uint32) {
	r.mark = FailedEpoch(cut)
	r.flags &^= together
}

// FailedEpoch is the epoch to push a request with that failed where it was recorded, in place of the
// present one.
func FailedEpoch(now uint32) uint32 { return now + failedAhead }

// isFailed reports whether Fail was called for a request.
func (r *Request) isFailed(cut uint32) bool { return r.mark-cut > failedAhead/2 }

// drainFailed takes a request that Fail was called for, and returns how many it stands for.
func (q *Queue) drainFailed(r *Request, to *Drained) (n, size uint32) {
	k := &q.kinds.kinds[r.kind&^many]
	p := PendingRequest{Request: r}
	if n = 1; r.kind >= many {
		p, _ = q.nextMany(r)
		n = p.of.len()
	} else {
		q.records.got += k.units
		if !k.plain {
			q.nextOf(r.kind)
		}
	}
	if r.flags&notify != 0 {
		q.awaited = append(q.awaited, awaited{done: *mem.As[Finisher](q.nextOf(doneKind)), request: r})
		r.mark = uint32(Failed)
	}
	to.Failed += int(n)
	return n, n * k.size
}
