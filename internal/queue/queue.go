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

// New makes a queue that holds at most the given number of requests and
// bytes, payloads included.
func New(kinds *Registry, requests, bytes int) *Queue {
	l := &Queue{kinds: kinds, maxCount: uint32(requests), maxSize: uint32(bytes / unitBytes)}
	l.records.init(unitType, firstRecords)
	return l
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

// Destroying returns the request to destroy.
func Destroying() Bare { return Bare{kind: DestroyKind} }

// MovingTo returns the request to move to a shard.
func MovingTo(shard int) Bare { return Bare{MoveKind, Flags(shard)} }

// Room reports whether n requests of a size fit. Producer only.
func (l *Queue) Room(n int, size uint32) bool {
	return uint64(l.sent-l.applied.Load())+uint64(n) <= uint64(l.maxCount) &&
		uint64(l.size-l.appliedSize.Load())+uint64(n)*uint64(size) <= uint64(l.maxSize)
}

// Fits reports whether n requests of a size would fit in an empty queue.
func (l *Queue) Fits(n int, size uint32) bool {
	return uint64(n) <= uint64(l.maxCount) && uint64(n)*uint64(size) <= uint64(l.maxSize)
}

// Staged returns how many requests the batch under way has, and their bytes. Producer only.
func (l *Queue) Staged() (requests int, bytes uint64) {
	if !l.batch.open {
		return 0, 0
	}
	return int(l.sent - l.batch.sent), uint64(l.size-l.batch.size) * unitBytes
}

// Waiting returns how many requests are sent and not yet applied. Safe from any goroutine.
func (l *Queue) Waiting() int {
	for {
		applied := l.applied.Load()
		published := l.published.Load()
		if l.applied.Load() == applied { // so both were so at one moment
			return int(published - applied)
		}
	}
}

// Push adds a request with a payload. It returns the request, and the place where the caller fills
// in the payload. Before Push, the caller checks Room and loads the epoch of the world; after it,
// unless a batch is under way, the caller calls Publish. done, if not nil, is notified of the
// outcome. Producer only.
func (k *Kind) Push(l *Queue, h handle.Handle, epoch uint32, how Flags, done Finisher) (*Request, mem.Pointer) {
	r := l.push(h, epoch, k.number, how, k.units, k.size)
	if done != nil {
		l.await(r, done)
	}
	if k.plain {
		return r, r.payload(k.units)
	}
	return r, mem.Pointer{Address: l.ringOf(k.number, k.of).Push()}
}

// PushBare is Push for a request without a payload.
func (l *Queue) PushBare(b Bare, h handle.Handle, epoch uint32, done Finisher) {
	r := l.push(h, epoch, b.kind, b.flags, 1, BareSize)
	if done != nil {
		l.await(r, done)
	}
}

func (l *Queue) push(h handle.Handle, epoch uint32, kind uint16, how Flags, units, size uint32) *Request {
	q := l.records.tail
	n := q.size
	at := l.records.put & (n - 1)
	if at+units > n || l.records.put+units-q.head.Load() > n {
		q, at = l.records.turn(units)
	}
	r := q.record(at)
	l.records.put += units
	if l.batch.open {
		how |= l.batch.add(r)
	}
	*r = Request{h, epoch, kind, how}
	if at%unitsPerLine+units >= unitsPerLine {
		prefetchWrite(q.record((l.records.put + unitsAhead) & (q.size - 1)))
	}
	l.sent++
	l.size += size
	return r
}

// await arranges that done is notified of the outcome of a request.
func (l *Queue) await(r *Request, done Finisher) {
	r.flags |= notify
	*mem.As[Finisher](mem.Pointer{Address: l.ringOf(doneKind, finisherType).Push()}) = done
}

var finisherType = mem.TypeOf[Finisher]()

// ringOf returns the ring of the payloads of a kind, made on the first call.
func (l *Queue) ringOf(kind uint16, of *mem.Type) *Ring {
	var have []stream
	if all := l.streams.Load(); all != nil {
		have = *all
	}
	for i := range have {
		if have[i].kind == kind {
			return have[i].Ring
		}
	}
	q := NewRing(of)
	if l.batch.open {
		q.Begin()
	}
	next := append(have[:len(have):len(have)], stream{kind, q})
	l.streams.Store(&next) // the consumer looks for it only after a request that is published later
	return q
}

// Publish hands over what was pushed. Producer only; or its consumer, if it is known that the
// producer has stopped: so the refresh publishes what systems pushed.
func (l *Queue) Publish() {
	l.published.Store(l.sent) // publishes the requests and their payloads
}

// queueBatch is a run of requests that are to be taken in one refresh.
type queueBatch struct {
	open       bool
	first      *Request // gets the epoch; the others are taken together with it
	sent, size uint32   // of the queue, before the batch
}

// add adds a request to the batch and returns the flags that mark it as part of the batch.
func (b *queueBatch) add(r *Request) Flags {
	if b.first != nil {
		return together
	}
	b.first = r
	return 0
}

// Begin begins a batch: what is pushed until Commit or Rollback is not
// published. Producer only.
func (l *Queue) Begin() {
	l.batch = queueBatch{open: true, sent: l.sent, size: l.size}
	l.eachRing((*Ring).Begin)
}

// Commit publishes the batch, with the world's epoch as it was loaded just
// before. Producer only.
func (l *Queue) Commit(epoch uint32) {
	if l.batch.first != nil {
		l.batch.first.mark = epoch
	}
	l.batch = queueBatch{}
	l.eachRing((*Ring).Commit)
	l.Publish()
}

// Rollback takes back the requests that were pushed since Begin, and returns how many there
// were. Producer only.
func (l *Queue) Rollback() int {
	n := l.sent - l.batch.sent
	l.sent, l.size = l.batch.sent, l.batch.size
	l.batch = queueBatch{}
	l.eachRing((*Ring).Rollback)
	return int(n)
}

func (l *Queue) eachRing(f func(*Ring)) {
	f(&l.records.Ring)
	if all := l.streams.Load(); all != nil {
		for i := range *all {
			f((*all)[i].Ring)
		}
	}
}

// Drain takes the requests that had been published when Sent returned published and that were sent
// in epoch cut or before. It adds them to those taken from other queues. It returns the number of
// creates. Consumer only.
func (l *Queue) Drain(published, cut uint32, to *Drained) (creates int) {
	kinds, taken, size := l.kinds.kinds, l.taken, l.takenSize
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
			n := l.drainMany(r, to)
			size += n * kinds[r.kind&^many].size
			taken += n - 1
			if r.flags&Create != 0 {
				creates += int(n)
			}
			continue
		}
		k := &kinds[r.kind]
		l.records.got += k.units
		size += k.size
		if r.flags&notify != 0 {
			l.awaited = append(l.awaited, awaited{done: *mem.As[Finisher](l.nextOf(doneKind)), request: r})
		}
		q := PendingRequest{Request: r, payload: r.payload(k.units)}
		if !k.plain {
			q.payload = l.nextOf(r.kind)
		}
		if r.flags&Create != 0 {
			at := &to.Creates[r.flags&Shards]
			*at = append(*at, q)
			creates++
		} else {
			q.slot = l.kinds.slots.Slot(r.Handle)
			to.add(q, k)
		}
	}
	l.taken, l.takenSize = taken, size
	return creates
}

// nextOf takes the next payload of a kind.
func (l *Queue) nextOf(kind uint16) mem.Pointer {
	return mem.Pointer{Address: l.streamOf(kind).Pop()}
}

// streamOf returns the stream of a kind, which must have one.
func (l *Queue) streamOf(kind uint16) *Ring {
	for i, all := 0, *l.streams.Load(); ; i++ {
		if all[i].kind == kind {
			return all[i].Ring
		}
	}
}

// Sent returns the counter of requests published so far, for Drain. Consumer only.
func (l *Queue) Sent() uint32 { return l.published.Load() }

// Ready returns how many requests can be taken. Consumer only.
func (l *Queue) Ready() int { return int(l.published.Load() - l.taken) }

// Empty reports whether everything sent so far was taken. Consumer only.
func (l *Queue) Empty() bool { return l.taken == l.published.Load() }

// Release ends a refresh: all that was taken is applied, and its room is given
// back. Consumer only.
func (l *Queue) Release() {
	if l.taken == l.applied.Load() {
		return
	}
	for i := range l.awaited {
		if t := &l.awaited[i]; t.request != nil { // nil: it was released, and then the world broke
			t.outcome, t.request = Outcome(t.request.mark&outcomeMask), nil
		}
	}
	l.eachRing((*Ring).Release)
	l.appliedSize.Store(l.takenSize)
	l.applied.Store(l.taken) // the sender may reuse the room
}

// DecideAll decides the outcome of all requests that were taken and not released, and overwrites
// outcomes that are decided already. Release must follow. Consumer only.
func (l *Queue) DecideAll(o Outcome) {
	for i := range l.awaited {
		if r := l.awaited[i].request; r != nil {
			r.mark = uint32(o)
		}
	}
}

// Notify notifies the waiting Finishers of the outcomes of released requests. Consumer only.
func (l *Queue) Notify() {
	for i := range l.awaited {
		l.awaited[i].done.Finish(l.awaited[i].outcome)
	}
	clear(l.awaited)
	l.awaited = l.awaited[:0]
}
