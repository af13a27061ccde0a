package queue_test

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
)

// traffic is a queue with three kinds of requests, which carry their number:
// without pointers, with pointers, and not at all.
type traffic struct {
	t       testing.TB
	kinds   *queue.Registry
	queue   *queue.Queue
	plain   queue.Kind
	boxed   queue.Kind
	bare    queue.Kind
	drained queue.Drained
}

func newTraffic(t testing.TB, requests, bytes int) *traffic {
	kinds := newKinds()
	x := &traffic{t: t, kinds: kinds, plain: queue.NewKind(kinds, mem.TypeOf[[3]uint64]()), boxed: queue.NewKind(kinds, mem.TypeOf[*uint64]()), bare: queue.NewKind(kinds, mem.TypeOf[struct{}]())}
	x.queue = queue.New(kinds, requests, bytes)
	x.drained.Creates = make([][]queue.PendingRequest, 2)
	return x
}

// push pushes request n, if there is room. What it is follows from its number:
// every fifth destroys, every seventh of the plain creates.
func (x *traffic) push(n uint64, epoch uint32, done queue.Finisher) bool {
	l, h := x.queue, handle.Handle(n)
	switch {
	case n%5 == 4:
		if !l.Room(1, queue.BareSize) {
			return false
		}
		l.PushBare(queue.Destroying(), h, epoch, done)
	case n%5 == 3:
		if !l.Room(1, x.bare.Size()) {
			return false
		}
		x.bare.Push(l, h, epoch, 0, done)
	case n%5 == 2:
		if !l.Room(1, x.boxed.Size()) {
			return false
		}
		_, p := x.boxed.Push(l, h, epoch, 0, done)
		v := n
		*mem.As[*uint64](p) = &v
	default:
		if !l.Room(1, x.plain.Size()) {
			return false
		}
		how := queue.Flags(0)
		if creates(n) {
			how = queue.Create
		}
		r, p := x.plain.Push(l, h, epoch, how, done)
		*mem.As[[3]uint64](p) = [3]uint64{n, n, n}
		if creates(n) {
			r.Place(1)
		}
	}
	return true
}

func creates(n uint64) bool { return n%5 < 2 && n%7 == 0 }

// send pushes and publishes.
func (x *traffic) send(n uint64, epoch uint32) bool {
	ok := x.push(n, epoch, nil)
	if ok {
		x.queue.Publish()
	}
	return ok
}

// drain takes what was sent up to the cut, and checks that these are the requests
// from number next on. It returns the number of the one that is to follow.
func (x *traffic) drain(cut uint32, next uint64) uint64 {
	x.t.Helper()
	made := x.queue.Drain(x.queue.Sent(), cut, &x.drained)
	require.Len(x.t, x.drained.Creates[1], made)
	require.Empty(x.t, x.drained.Creates[0])
	others, creating := x.drained.Others, x.drained.Creates[1]
	for ; len(others)+len(creating) > 0; next++ {
		from := &others
		if creates(next) {
			from = &creating
		}
		if len(*from) == 0 || (*from)[0].Handle != handle.Handle(next) {
			x.t.Fatalf("request %d is not where it should be", next)
		}
		x.mustHold((*from)[0], next)
		*from = (*from)[1:]
	}
	return next
}

// mustHold checks the payload of request n.
func (x *traffic) mustHold(r queue.PendingRequest, n uint64) {
	x.t.Helper()
	switch n % 5 {
	case 0, 1:
		if got := *mem.As[[3]uint64](r.Payload()); got != [3]uint64{n, n, n} {
			x.t.Fatalf("request %d holds %v", n, got)
		}
	case 2:
		if got := **mem.As[*uint64](r.Payload()); got != n {
			x.t.Fatalf("request %d points to %d", n, got)
		}
	}
}

// release ends the refresh.
func (x *traffic) release() {
	x.drained.Forget()
	x.queue.Release()
	x.queue.Notify()
}

// TestQueueLimits fills queues by number and by bytes. Room comes back when what
// was taken is released, not when it is taken.
func TestQueueLimits(t *testing.T) {
	for _, limits := range [][2]int{{1, 1 << 20}, {10, 1 << 20}, {1 << 20, 1000}, {1 << 20, 10_000}} {
		x := newTraffic(t, limits[0], limits[1])
		sent, taken := uint64(0), uint64(0)
		for range 10 {
			before := sent
			for x.send(sent, 1) {
				sent++
			}
			require.Greater(t, sent, before)
			require.Equal(t, int(sent-taken), x.queue.Waiting())
			if limits[0] < limits[1] {
				require.Equal(t, limits[0], x.queue.Waiting())
			} else {
				require.Less(t, x.queue.Waiting(), limits[1]/16)
			}
			require.False(t, x.queue.Empty())
			require.Equal(t, int(sent-taken), x.queue.Ready())
			taken = x.drain(1, taken)
			require.Equal(t, sent, taken)
			require.True(t, x.queue.Empty())
			require.False(t, x.send(sent, 1), "taken is not released")
			x.release()
			x.release()
			require.Zero(t, x.queue.Waiting())
		}
	}
}

// TestQueueSizes asks for room for payloads of different sizes.
func TestQueueSizes(t *testing.T) {
	kinds := newKinds()
	large, small := queue.NewKind(kinds, mem.TypeOf[[960]byte]()), queue.NewKind(kinds, mem.TypeOf[[1]byte]())
	text := queue.NewKind(kinds, mem.TypeOf[string]())
	l := queue.New(kinds, 100, 1000)
	require.False(t, l.Fits(2, large.Size()))
	require.False(t, l.Fits(101, queue.BareSize))
	require.True(t, l.Fits(62, queue.BareSize), "992 bytes")
	require.False(t, l.Fits(63, queue.BareSize))
	require.True(t, l.Fits(1, large.Size()))
	require.True(t, l.Room(1, large.Size()), "60 units of payload, one of head")
	large.Push(l, 1, 0, 0, nil)
	l.Publish()
	require.False(t, l.Room(1, small.Size()), "a head and a payload count")
	require.False(t, l.Room(1, text.Size()), "also if the payload is not in the record")
	require.True(t, l.Room(1, queue.BareSize))
	l.PushBare(queue.Destroying(), 2, 0, nil)
	l.Publish()
	require.False(t, l.Room(1, queue.BareSize))
	require.Equal(t, 2, l.Waiting())
}

// TestQueueCut takes only what was sent in an epoch up to the cut, also where the
// numbers of the epochs wrap.
func TestQueueCut(t *testing.T) {
	for _, first := range []uint32{0, 5, 1<<32 - 2} {
		x := newTraffic(t, 100, 1<<20)
		for i := range uint32(6) { // two in each of three epochs
			require.True(t, x.send(uint64(i), first+i/2))
		}
		n := uint64(0)
		for cut := range uint32(3) {
			n = x.drain(first+cut, n)
			require.Equal(t, uint64(2*(cut+1)), n)
			require.Equal(t, cut == 2, x.queue.Empty())
			x.drained.Forget()
			require.Equal(t, n, x.drain(first+cut, n), "no more")
			x.release()
			require.Equal(t, int(6-n), x.queue.Waiting())
		}
	}
}

// TestQueueBatch publishes many in one step: they are taken together, in the epoch
// of the commit, and nothing shows before.
func TestQueueBatch(t *testing.T) {
	x := newTraffic(t, 1000, 1<<20)
	require.True(t, x.send(0, 1))
	x.queue.Begin()
	for n := range uint64(100) {
		require.True(t, x.push(n+1, 1, nil)) // the epoch of a batch is that of its end
	}
	require.Equal(t, 1, x.queue.Waiting())
	require.Equal(t, uint64(1), x.drain(1, 0))
	x.release()
	x.queue.Commit(3)
	require.Equal(t, 100, x.queue.Waiting())
	require.Equal(t, uint64(1), x.drain(2, 1), "sent in epoch 3")
	require.Equal(t, uint64(101), x.drain(3, 1))
	x.release()

	x.queue.Begin()
	x.queue.Commit(4) // nothing in it
	require.True(t, x.queue.Empty())
	require.True(t, x.send(101, 4), "and then one alone")
	require.Equal(t, uint64(101), x.drain(3, 101))
	require.Equal(t, uint64(102), x.drain(4, 101))
}

// TestQueueBatchWraps sends a batch in an epoch to which those that its requests
// were pushed with are yet to come: it is taken whole.
func TestQueueBatchWraps(t *testing.T) {
	const epoch = 1<<31 + 10
	x := newTraffic(t, 100, 1<<20)
	x.queue.Begin()
	for n := range uint64(10) {
		require.True(t, x.push(n, 0, nil))
	}
	x.queue.Commit(epoch)
	require.Zero(t, x.drain(epoch-1, 0))
	require.Equal(t, uint64(10), x.drain(epoch, 0))
}

// TestQueueRollbackGivesRoom takes back more than a queue has room for, in requests
// and in bytes.
func TestQueueRollbackGivesRoom(t *testing.T) {
	x := newTraffic(t, 50, 4096)
	for range 100 {
		x.queue.Begin()
		for n := range uint64(20) {
			require.True(t, x.push(n, 1, nil))
		}
		require.Equal(t, 20, x.queue.Rollback())
	}
}

// TestQueueRandom sends singly and in batches, rolls back, takes and releases, at
// random, and compares with numbers. Rings are grown, wrapped and taken back.
func TestQueueRandom(t *testing.T) {
	for seed := range uint64(iterations(60)) {
		r := newRand(t, seed)
		limit := 1 + r.IntN(200)
		x := newTraffic(t, limit, 1<<20)
		sent, taken, released := uint64(0), uint64(0), uint64(0)
		for range 1500 {
			switch r.IntN(8) {
			case 0, 1:
				for range r.IntN(20) {
					if x.send(sent, 1) {
						sent++
					}
				}
			case 2, 3:
				n := sent
				x.queue.Begin()
				for range r.IntN(2 * limit) {
					if !x.push(n, 1, nil) {
						break
					}
					n++
				}
				require.Equal(t, int(sent-released), x.queue.Waiting())
				if r.IntN(2) == 0 {
					x.queue.Commit(1)
					sent = n
				} else {
					require.Equal(t, int(n-sent), x.queue.Rollback())
				}
			case 4, 5:
				x.drained.Forget()
				taken = x.drain(1, taken)
				require.Equal(t, sent, taken)
			default:
				x.release()
				released = taken
			}
			require.Equal(t, int(sent-released), x.queue.Waiting())
			require.Equal(t, sent == taken, x.queue.Empty())
		}
	}
}

// TestQueueStress has a producer send, singly, in batches, and taking back some of
// those, while a consumer takes, in refreshes of its own: everything comes, in
// order, each payload with its request, batches whole, and never more is under
// way than the limits allow.
func TestQueueStress(t *testing.T) {
	const limit = 50
	n := uint64(iterations(200_000))
	x := newTraffic(t, limit, 1<<20)
	var epoch atomic.Uint32
	go func() {
		r := newRand(t, 3)
		for i := uint64(0); i < n; {
			before := i
			if r.IntN(3) > 0 {
				if x.send(i, epoch.Load()) {
					i++
				}
			} else {
				x.queue.Begin()
				for range 1 + r.IntN(10) {
					if i == n || !x.push(i, 0, nil) {
						break
					}
					i++
				}
				if r.IntN(4) == 0 {
					x.queue.Rollback()
					i = before
				} else {
					x.queue.Commit(epoch.Load())
				}
			}
			if i == before {
				runtime.Gosched()
			}
			if w := x.queue.Waiting(); w > limit {
				t.Errorf("%d are under way", w)
			}
		}
	}()
	for got := uint64(0); got < n; {
		before := got
		got = x.drain(epoch.Add(1)-1, got)
		if got-before > limit {
			t.Fatalf("%d were under way", got-before)
		}
		x.release()
		runtime.Gosched()
	}
}

// TestQueueTells tells who waits what was decided, once, and not before.
func TestQueueTells(t *testing.T) {
	x := newTraffic(t, 100, 1<<20)
	var told [6]finished
	require.True(t, x.push(0, 1, &told[0]))
	require.True(t, x.push(2, 1, nil))
	require.True(t, x.push(4, 1, &told[1]))
	x.queue.Publish()
	x.queue.Begin()
	require.True(t, x.push(8, 1, &told[2]))
	x.queue.Rollback()
	x.queue.Begin()
	require.True(t, x.push(12, 1, &told[3]))
	x.queue.Commit(1)

	x.queue.Drain(x.queue.Sent(), 1, &x.drained)
	in := new(queue.Outcomes)
	in.Decide(x.drained.Creates[1][0].Request, queue.Applied)
	for i, o := range []queue.Outcome{queue.Applied, queue.Gone, queue.Missing} {
		in.Decide(x.drained.Others[i].Request, o)
	}
	x.queue.Release()
	require.Empty(t, slices.Concat(told[:]...), "not yet")
	x.queue.Notify()
	x.queue.Notify()
	require.Equal(t, [6]finished{{queue.Applied}, {queue.Gone}, nil, {queue.Missing}}, told)
	require.Equal(t, []uint64{2, 1, 1}, []uint64{in.Count(queue.Applied), in.Count(queue.Gone), in.Count(queue.Missing)})
}

// TestQueueEndsTwice ends a queue whose requests were released and not told yet, when one more
// was sent: as in a world that breaks between the two.
func TestQueueEndsTwice(t *testing.T) {
	x := newTraffic(t, 100, 1<<20)
	var told [2]finished
	for i := range told {
		require.True(t, x.push(0, 1, &told[i]))
		x.queue.Publish()
		x.queue.Drain(x.queue.Sent(), 1, &x.drained)
		x.queue.DecideAll([]queue.Outcome{queue.Applied, queue.Closed}[i])
		x.queue.Release()
	}
	x.queue.Notify()
	require.Equal(t, [2]finished{{queue.Applied}, {queue.Closed}}, told)
}

// TestQueueForgets keeps nothing alive of what was released or taken back.
func TestQueueForgets(t *testing.T) {
	kinds := newKinds()
	kind := queue.NewKind(kinds, mem.TypeOf[*[64]byte]())
	l := queue.New(kinds, 1000, 1<<20)
	push := func(n int) (seen []weak.Pointer[[64]byte]) {
		for range n {
			p := new([64]byte)
			_, at := kind.Push(l, 1, 0, 0, nil)
			*mem.As[*[64]byte](at) = p
			seen = append(seen, weak.Make(p))
		}
		return seen
	}
	mustBe := func(there bool, seen []weak.Pointer[[64]byte]) {
		t.Helper()
		runtime.GC()
		runtime.GC()
		for i, w := range seen {
			require.Equal(t, there, w.Value() != nil, "%d of %d", i, len(seen))
		}
	}
	for _, n := range []int{1, 5, 8, 9, 100} {
		l.Begin()
		back := push(n)
		mustBe(true, back)
		l.Rollback()
		mustBe(false, back)

		kept := push(n)
		l.Publish()
		l.Begin()
		back = push(300)
		l.Rollback()
		mustBe(true, kept)
		mustBe(false, back)

		var drained queue.Drained
		l.Drain(l.Sent(), 0, &drained)
		mustBe(true, kept)
		drained.Forget()
		l.Release()
		mustBe(false, kept)
	}
	runtime.KeepAlive(l)
}

// TestQueueSteady sends as much again and again: once warm, nothing is allocated.
func TestQueueSteady(t *testing.T) {
	x := newTraffic(t, 1000, 1<<20)
	var told quiet
	round := func() {
		for n := range uint64(200) {
			if n%5 != 2 && !x.push(n, 1, &told) { // those allocate what they point to
				panic("full")
			}
			x.queue.Publish()
		}
		x.queue.Begin()
		for n := range uint64(300) {
			if n%5 != 2 && !x.push(n, 1, &told) {
				panic("full")
			}
		}
		x.queue.Commit(1)
		x.queue.Drain(x.queue.Sent(), 1, &x.drained)
		x.release()
	}
	for range 20 {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(100, round))
}

// quiet is a Finisher that only counts.
type quiet int

func (q *quiet) Finish(queue.Outcome) { *q++ }

// TestQueueAfterBatch sends singly after a batch that was sent, or taken back: such requests
// are not of the batch, but of the epochs that they were sent in.
func TestQueueAfterBatch(t *testing.T) {
	for _, commit := range []bool{false, true} {
		x, n := newTraffic(t, 100, 1<<20), uint64(0)
		x.queue.Begin()
		require.True(t, x.push(0, 1, nil))
		if commit {
			x.queue.Commit(1)
			n++
		} else {
			require.Equal(t, 1, x.queue.Rollback())
		}
		require.True(t, x.send(n, 2))
		require.True(t, x.send(n+1, 3))
		require.Equal(t, n+1, x.drain(2, 0))
	}
}
