package queue

import (
	"math"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// A record can hold many requests of one kind, in columns. Limits and counters count each of its
// handles as a request; together they have one Finisher.
//
//	[head][manyHead][handle][handle] … [payload][payload] … [run] …
//
// Payloads with pointers are in the stream of their kind, next to each other.

// many is set in the kind of such a record.
const many = 1 << 15

// manyHead says what a record of many requests holds.
type manyHead struct {
	n     uint32 // requests
	units uint32 // of the record
	runs  uint32 // of creates
	skip  uint32 // elements of the stream to skip before the payloads
}

// run is a run of creates that go to one shard. It ends where the next begins.
type run struct{ from, shard uint32 }

// span is a run of requests in a record: the first, and how many.
type span uint64

// spanOf returns the span of n requests of a record, from number from on.
func spanOf(from, n uint32) span { return span(from)<<32 | span(n) }
func (s span) from() uint32      { return uint32(s >> 32) }
func (s span) len() uint32       { return uint32(s) }

// Many is a record of many requests, for the sender to fill in.
//
// Ownership: the sender, until it publishes.
type Many struct {
	Handles []handle.Handle
	Values  mem.Pointer // the first payload; the others are behind it

	head *manyHead
	runs []run
}

// Place says that the creates from number i on go to a shard. The sender calls it with rising i.
func (m *Many) Place(i, shard int) {
	if n := m.head.runs; n == 0 || m.runs[n-1].shard != uint32(shard) {
		m.runs[n] = run{uint32(i), uint32(shard)}
		m.head.runs++
	}
}

// PushMany is Push for n requests in one record. Creates go to shards in at most runs runs; see
// Many.Place. done, if not nil, gets Applied if all are applied, otherwise the first other outcome
// in the order of the requests. Producer only.
func (k *Kind) PushMany(q *Queue, n, runs int, epoch uint32, flags Flags, done Finisher) Many {
	values := uint64(0)
	if k.plain {
		values = uint64(n) * uint64(k.of.Size)
	}
	units := 2 + uint32((runsAt(uint64(n), values)+uint64(runs)*runBytes+unitBytes-1)/unitBytes)
	r := q.push(handle.None, epoch, k.number|many, flags, units, uint32(n)*k.size)
	q.sent += uint32(n) - 1 // push has counted one
	if done != nil {
		q.addFinisher(r, done)
	}
	head := r.many()
	*head = manyHead{n: uint32(n), units: units}
	m := Many{Handles: r.handles(), head: head, runs: r.runs(values, runs)}
	if k.plain {
		m.Values.Address = r.values(values)
	} else {
		m.Values.Address, head.skip = q.ringOf(k.number, k.of).PushRun(n)
	}
	return m
}

// runsAt returns the offset of the runs from the end of the manyHead.
func runsAt(n, values uint64) uint64 { return n*handleBytes + (values+7)&^7 }

// Destroys is the kind of requests to destroy, for PushMany. Destroying returns a single one.
var Destroys = Kind{number: DestroyKind, plain: true, units: 1, size: BareSize, of: mem.TypeOf[struct{}]()}

// drainMany takes a record of many requests, for Drain. It returns how many there are.
func (q *Queue) drainMany(r *Request, to *Drained) (n uint32) {
	p, k := q.nextMany(r)
	if r.flags&notify != 0 {
		q.awaited = append(q.awaited, awaited{done: *mem.As[Finisher](q.nextOf(doneKind)), request: r})
		r.mark = allApplied
	}
	n = p.of.len()
	if k.times {
		k.kind.of.DropClocks(p.payload.Address, int(n))
	}
	if to.Keep {
		to.Kept = append(to.Kept, p)
	}
	if r.flags&Create == 0 {
		to.addMany(p)
		return n
	}
	runs := r.runs(k.inRecord(n), int(r.many().runs))
	for i, x := range runs {
		end := n
		if i+1 < len(runs) {
			end = runs[i+1].from
		}
		p.of = spanOf(x.from, end-x.from)
		to.Creates[x.shard] = append(to.Creates[x.shard], p)
	}
	return n
}

// nextMany takes the units of a record of many requests, and its payloads. Consumer only.
func (q *Queue) nextMany(r *Request) (PendingRequest, *kindInfo) {
	k, head := &q.kinds.kinds[r.kind&^many], r.many()
	q.records.got += head.units
	p := PendingRequest{Request: r, payload: mem.Pointer{Address: r.values(k.inRecord(head.n))}, of: spanOf(0, head.n)}
	if !k.plain {
		p.payload.Address = q.streamOf(r.kind&^many).PopRun(head.skip, head.n)
	}
	return p, k
}

// inRecord returns how many bytes of a record hold the payloads of n requests; payloads with
// pointers are in a Ring.
func (k *kindInfo) inRecord(n uint32) uint64 {
	if k.plain {
		return uint64(n) * uint64(k.bytes)
	}
	return 0
}

// Each calls f with each request of a whole record of many, as if it had been sent alone. While f
// runs, the head of the record is replaced by the head of the single request. Consumer only.
func (x *Registry) Each(many PendingRequest, f func(PendingRequest)) {
	r, k := many.Request, &x.kinds[many.Kind()]
	head := *r
	defer func() { *r = head }() // also if f panics
	r.kind, r.flags = uint16(many.Kind()), r.flags&^(notify|together)
	runs := r.runs(k.inRecord(many.of.len()), int(r.many().runs))
	for i, h := range r.handles() {
		if len(runs) > 0 && runs[0].from == uint32(i) {
			r.flags = r.flags&^Shards | Flags(runs[0].shard)
			runs = runs[1:]
		}
		r.Handle = h
		f(PendingRequest{Request: r, payload: many.payload.At(i, k.bytes)})
	}
}

// IsMany reports whether the request stands for many, which go to one shard if they are creates.
func (r PendingRequest) IsMany() bool { return r.of != 0 }

// Len returns how many requests it stands for.
func (r PendingRequest) Len() int { return max(1, int(r.of.len())) }

// Handles returns the handles of many requests.
func (r PendingRequest) Handles() []handle.Handle { return r.handles()[r.of.from():][:r.of.len()] }

// Values returns the first payload of many creates; the others are behind it.
func (x *Registry) Values(r PendingRequest) mem.Pointer {
	return r.payload.At(int(r.of.from()), x.kinds[r.Kind()].bytes)
}

// PayloadOf returns the payload of request i of many that are no creates.
func (x *Registry) PayloadOf(r PendingRequest, i int) mem.Pointer {
	return r.payload.At(i, x.kinds[r.Kind()].bytes)
}

// addMany adds many requests that are not creates, as one. Whether they cancel creates is known
// only when they are routed to their shards.
func (d *Drained) addMany(r PendingRequest) {
	d.Others = append(d.Others, r)
	d.Count += int(r.of.len())
}

// The mark of many requests holds the number of the first one that was not applied and, in the
// lowest bits, its outcome.
const (
	outcomeBits = 4
	outcomeMask = 1<<outcomeBits - 1
	allApplied  = math.MaxUint32&^outcomeMask | uint32(Applied)
)

// DecideOne decides the outcome of request i of many, and counts it. Several shards may do so for
// one record at the same time, each with its own Outcomes.
func (b *Outcomes) DecideOne(r PendingRequest, i int, o Outcome) {
	b.counts[o]++
	if o == Applied || r.flags&notify == 0 {
		return
	}
	v := (r.of.from()+uint32(i))<<outcomeBits | uint32(o)
	for {
		m := atomic.LoadUint32(&r.mark)
		if m <= v || atomic.CompareAndSwapUint32(&r.mark, m, v) {
			return
		}
	}
}
