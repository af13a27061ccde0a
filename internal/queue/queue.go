package queue

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Queue carries the requests of one sender to the refresh, in order. Its limits bound how many.
//
//	records  [head|payload][head][head|payload] …   all requests, in order
//	streams  [payload][payload] …                   payloads that hold pointers, by kind
//	         [finisher][finisher] …                 of the requests that are waited for
//
// Invariants: sent minus applied is within the limits. Requests are taken in
// the order in which they were sent, those of a batch in one refresh.
//
// Ownership: one producer sends; one consumer takes, releases and notifies: the refresh or, when
// the world is closed or broken, Ports.Abandon. published and the applied counters connect the two,
// each on a cache line of its writer. Counters of requests and units wrap around: only differences
// between them have a meaning.
type Queue struct {
	kinds     *Registry
	records   records
	streams   atomic.Pointer[[]stream] // nil until used
	maxCount  uint32
	maxSize   uint32
	sent      uint32
	size      uint32 // units sent
	batch     queueBatch
	published atomic.Uint32
	_         [64]byte

	applied     atomic.Uint32
	appliedSize atomic.Uint32
	taken       uint32
	takenSize   uint32
	awaited     []awaited
}

// stream holds the payloads of one kind, in the order in which they were sent.
type stream struct {
	kind uint16
	*Ring
}

// awaited is a request whose sender waits for the outcome.
type awaited struct {
	done    Finisher
	request *Request
	outcome Outcome
}

// New makes a queue that holds at most the given number of requests and bytes, payloads included.
// The sender calls it.
func New(kinds *Registry, requests, bytes int) *Queue {
	q := &Queue{kinds: kinds, maxCount: uint32(requests), maxSize: uint32(bytes / unitBytes)}
	q.records.init(unitType, firstRecords)
	return q
}

// Size returns the units that a request of the kind counts for in a queue.
func (k *Kind) Size() uint32 { return k.size }

// BareSize is how many units a request without a payload counts for.
const BareSize = 1

// BytesOf returns the bytes that n requests of a size count for, or the largest number if they are
// more than that.
func BytesOf(n int, size uint32) uint64 {
	high, bytes := bits.Mul64(uint64(n), uint64(size)*unitBytes)
	if high > 0 {
		return math.MaxUint64
	}
	return bytes
}

// RequestBytes is how many bytes the smallest request counts for.
const RequestBytes = BareSize * unitBytes

// Bare is a request without a payload: to destroy, or to move.
type Bare struct {
	kind  uint16
	flags Flags
}

// Destroying returns the request to destroy one entity. The Kind for many is Destroys.
func Destroying() Bare { return Bare{kind: DestroyKind} }

// MovingTo returns the request to move to a shard.
func MovingTo(shard int) Bare { return Bare{MoveKind, Flags(shard)} }

// Room reports whether n requests of a size fit. Producer only.
func (q *Queue) Room(n int, size uint32) bool {
	return uint64(q.sent-q.applied.Load())+uint64(n) <= uint64(q.maxCount) &&
		uint64(q.size-q.appliedSize.Load())+uint64(n)*uint64(size) <= uint64(q.maxSize)
}

// Fits reports whether n requests of a size would fit in an empty queue.
func (q *Queue) Fits(n int, size uint32) bool {
	return uint64(n) <= uint64(q.maxCount) && uint64(n)*uint64(size) <= uint64(q.maxSize)
}

// Pushed returns the counter of the requests that were pushed so far. Producer only.
func (q *Queue) Pushed() uint32 { return q.sent }

// Staged returns how many requests the batch under way has, and their bytes. Producer only.
func (q *Queue) Staged() (requests int, bytes uint64) {
	if !q.batch.open {
		return 0, 0
	}
	return int(q.sent - q.batch.sent), uint64(q.size-q.batch.size) * unitBytes
}

// Waiting returns how many requests are sent and not yet applied. Safe from any goroutine.
func (q *Queue) Waiting() int {
	for {
		applied := q.applied.Load()
		published := q.published.Load()
		if q.applied.Load() == applied { // so both were so at one moment
			return int(published - applied)
		}
	}
}

// Push adds a request with a payload. It returns the request, and the place where the caller fills
// in the payload. Before Push, the caller checks Room and loads the epoch of the world; after it,
// unless a batch is under way, the caller calls Publish. done, if not nil, is notified of the
// outcome. Producer only.
func (k *Kind) Push(q *Queue, h handle.Handle, epoch uint32, flags Flags, done Finisher) (*Request, mem.Pointer) {
	r := q.push(h, epoch, k.number, flags, k.units, k.size)
	if done != nil {
		q.addFinisher(r, done)
	}
	if k.plain {
		return r, r.payload(k.units)
	}
	return r, mem.Pointer{Address: q.ringOf(k.number, k.of).Push()}
}

// PushBare is Push for a request without a payload. Producer only.
func (q *Queue) PushBare(b Bare, h handle.Handle, epoch uint32, done Finisher) {
	r := q.push(h, epoch, b.kind, b.flags, 1, BareSize)
	if done != nil {
		q.addFinisher(r, done)
	}
}

// push adds the head of a request, and counts it; the caller fills in what follows. It returns the
// request.
func (q *Queue) push(h handle.Handle, epoch uint32, kind uint16, flags Flags, units, size uint32) *Request {
	s := q.records.tail
	n := s.size
	at := q.records.put & (n - 1)
	if at+units > n || q.records.put+units-s.head.Load() > n {
		s, at = q.records.turn(units)
	}
	r := s.record(at)
	q.records.put += units
	if q.batch.open {
		flags |= q.batch.add(r)
	}
	*r = Request{h, epoch, kind, flags}
	if at%unitsPerLine+units >= unitsPerLine {
		prefetchWrite(s.record((q.records.put + unitsAhead) & (s.size - 1)))
	}
	q.sent++
	q.size += size
	return r
}

// addFinisher arranges that done is notified of the outcome of a request. Producer only.
func (q *Queue) addFinisher(r *Request, done Finisher) {
	r.flags |= notify
	*mem.As[Finisher](mem.Pointer{Address: q.ringOf(doneKind, finisherType).Push()}) = done
}

var finisherType = mem.TypeOf[Finisher]()

// ringOf returns the ring of the payloads of a kind, made on the first call. Producer only.
func (q *Queue) ringOf(kind uint16, of *mem.Type) *Ring {
	var have []stream
	if all := q.streams.Load(); all != nil {
		have = *all
	}
	for i := range have {
		if have[i].kind == kind {
			return have[i].Ring
		}
	}
	r := NewRing(of)
	if q.batch.open {
		r.Begin()
	}
	next := append(have[:len(have):len(have)], stream{kind, r})
	q.streams.Store(&next) // the consumer looks for it only after a request that is published later
	return r
}

// Publish hands over what was pushed. Producer only; or its consumer, if it is known that the
// producer has stopped: so the refresh publishes what systems pushed.
func (q *Queue) Publish() {
	q.published.Store(q.sent) // publishes the requests and their payloads
}

// queueBatch is a run of requests that are to be taken in one refresh.
type queueBatch struct {
	open       bool
	first      *Request // gets the epoch; the others are taken together with it
	sent, size uint32   // of the queue, before the batch
}

// add adds a request to the batch and returns the flags that mark it as part of the batch. Producer
// only.
func (b *queueBatch) add(r *Request) Flags {
	if b.first != nil {
		return together
	}
	b.first = r
	return 0
}

// Begin begins a batch: what is pushed until Commit or Rollback is not
// published. Producer only.
func (q *Queue) Begin() {
	q.batch = queueBatch{open: true, sent: q.sent, size: q.size}
	q.eachRing((*Ring).Begin)
}

// Commit publishes the batch, with the world's epoch as it was loaded just
// before. Producer only.
func (q *Queue) Commit(epoch uint32) {
	if q.batch.first != nil {
		q.batch.first.mark = epoch
	}
	q.batch = queueBatch{}
	q.eachRing((*Ring).Commit)
	q.Publish()
}

// Rollback takes back the requests that were pushed since Begin, and returns how many there
// were. Producer only.
func (q *Queue) Rollback() int {
	n := q.sent - q.batch.sent
	q.sent, q.size = q.batch.sent, q.batch.size
	q.batch = queueBatch{}
	q.eachRing((*Ring).Rollback)
	return int(n)
}

// eachRing calls f with all rings, on the producer or the consumer.
func (q *Queue) eachRing(f func(*Ring)) {
	f(&q.records.Ring)
	if all := q.streams.Load(); all != nil {
		for i := range *all {
			f((*all)[i].Ring)
		}
	}
}

// Drain takes the requests that had been published when Sent returned published and that were sent
// in epoch cut or before. It adds them to those taken from other queues. It returns the number of
// creates. Times in payloads lose what a log does not have of them. Consumer only.
func (q *Queue) Drain(published, cut uint32, to *Drained) (creates int) {
	kinds, taken, size, keep := q.kinds.kinds, q.taken, q.takenSize, to.Keep
	q.records.look()
	for ; taken != published; taken++ {
		r := q.records.peek()
		if q.records.passed(r) {
			r = q.records.seek()
		}
		if r.flags&together == 0 && int32(r.mark-cut) > 0 {
			if !r.isFailed(cut) {
				break
			}
			n, units := q.drainFailed(r, to)
			taken, size = taken+n-1, size+units
			continue
		}
		if r.kind >= many {
			n := q.drainMany(r, to)
			size += n * kinds[r.kind&^many].size
			taken += n - 1
			if r.flags&Create != 0 {
				creates += int(n)
			}
			continue
		}
		k := &kinds[r.kind]
		q.records.got += k.units
		size += k.size
		if r.flags&notify != 0 {
			q.awaited = append(q.awaited, awaited{done: *mem.As[Finisher](q.nextOf(doneKind)), request: r})
		}
		p := PendingRequest{Request: r, payload: r.payload(k.units)}
		if !k.plain {
			p.payload = q.nextOf(r.kind)
			if k.times {
				k.kind.of.DropClocks(p.payload.Address, 1)
			}
		}
		if keep {
			to.Kept = append(to.Kept, p)
		}
		if r.flags&Create != 0 {
			at := &to.Creates[r.flags&Shards]
			*at = append(*at, p)
			creates++
		} else {
			p.slot = q.kinds.slots.Slot(r.Handle)
			to.add(p, k)
		}
	}
	q.taken, q.takenSize = taken, size
	return creates
}

// nextOf takes the next payload of a kind. Consumer only.
func (q *Queue) nextOf(kind uint16) mem.Pointer {
	return mem.Pointer{Address: q.streamOf(kind).Pop()}
}

// streamOf returns the ring of a kind, which must have one. Consumer only.
func (q *Queue) streamOf(kind uint16) *Ring {
	for i, all := 0, *q.streams.Load(); ; i++ {
		if all[i].kind == kind {
			return all[i].Ring
		}
	}
}

// Sent returns the counter of requests published so far, for Drain. Consumer only.
func (q *Queue) Sent() uint32 { return q.published.Load() }

// Ready returns how many requests can be taken. Consumer only.
func (q *Queue) Ready() int { return q.ReadyTo(q.published.Load()) }

// ReadyTo returns how many requests can be taken up to a counter. Consumer only.
func (q *Queue) ReadyTo(upto uint32) int { return int(upto - q.taken) }

// Empty reports whether everything sent so far was taken. Consumer only.
func (q *Queue) Empty() bool { return q.taken == q.published.Load() }

// Release ends a refresh: all that was taken is applied, and its room is given back to the
// producer. Outcomes are kept for Notify. Consumer only.
func (q *Queue) Release() {
	if q.taken == q.applied.Load() {
		return
	}
	for i := range q.awaited {
		if t := &q.awaited[i]; t.request != nil { // nil: it was released, and then the world broke
			t.outcome, t.request = Outcome(t.request.mark&outcomeMask), nil
		}
	}
	q.eachRing((*Ring).Release)
	q.appliedSize.Store(q.takenSize)
	q.applied.Store(q.taken) // the sender may reuse the room
}

// DecideAll decides the outcome of all requests that were taken and not released, and overwrites
// outcomes that are decided already. Release must follow. Consumer only.
func (q *Queue) DecideAll(o Outcome) {
	for i := range q.awaited {
		if r := q.awaited[i].request; r != nil {
			r.mark = uint32(o)
		}
	}
}

// Notify notifies the waiting Finishers of the outcomes of released requests, in the step notify or
// when the world ends. Consumer only.
func (q *Queue) Notify() {
	for i := range q.awaited {
		q.awaited[i].done.Finish(q.awaited[i].outcome)
	}
	clear(q.awaited)
	q.awaited = q.awaited[:0]
}
