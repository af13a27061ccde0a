package shard_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// payloads is a Stream of numbers.
type payloads struct {
	*shard.Queue[uint64]
	released int
}

func newPayloads() *payloads { return &payloads{Queue: shard.NewQueue[uint64]()} }

func (p *payloads) Next() any { return p.Pop() }
func (p *payloads) Size() int { return 8 }
func (p *payloads) Release()  { p.released++; p.Queue.Release() }
func (p *payloads) Apply(*shard.Shard, handle.Handle, shard.Loc, any) shard.Outcome {
	return shard.Applied
}

// send sends number n, if there is room.
func (p *payloads) send(l *shard.Lane, n uint64, epoch uint32) bool {
	if !l.Room(8) {
		return false
	}
	*p.Push() = n
	l.Send(shard.Request{Handle: handle.Handle(n), Stream: p, Epoch: epoch}, 8)
	return true
}

// TestLaneLimits fills lanes by number and by bytes. Room comes back when what
// was taken is released, not when it is taken.
func TestLaneLimits(t *testing.T) {
	for _, limits := range [][2]int{{1, 1 << 20}, {10, 1 << 20}, {1 << 20, 1000}, {1 << 20, 10_000}} {
		l, p := shard.NewLane(limits[0], limits[1]), newPayloads()
		room, next, taken := 0, uint64(0), uint64(0)
		for round := range 10 {
			sent := 0
			for p.send(l, next, 1) {
				next++
				sent++
			}
			require.Positive(t, sent)
			if round == 0 {
				room = sent
				if limits[0] < limits[1] {
					require.Equal(t, limits[0], room)
				} else {
					require.Less(t, room, limits[1]/8)
				}
			}
			require.Equal(t, room, l.Waiting())
			require.False(t, l.Empty())
			for range (room + 1) / 2 { // the consumer takes half of it
				require.Equal(t, taken, *l.Payload(l.Take(1).Stream).(*uint64))
				taken++
			}
			require.False(t, l.Room(8), "taken is not released")
			l.Release()
			require.Equal(t, room/2, l.Waiting())
			back := 0
			for p.send(l, next, 1) {
				next++
				back++
			}
			require.Equal(t, (room+1)/2, back, "exactly what was released")
			for r := l.Take(1); r != nil; r = l.Take(1) {
				require.Equal(t, handle.Handle(taken), r.Handle)
				require.Equal(t, taken, *l.Payload(r.Stream).(*uint64))
				taken++
			}
			require.True(t, l.Empty())
			l.Release()
			l.Release()
			require.Zero(t, l.Waiting())
		}
		require.Equal(t, next, taken)
		require.Equal(t, 20, p.released, "once for each refresh that took something")
	}
}

// TestLaneSizes asks for room for payloads of different sizes.
func TestLaneSizes(t *testing.T) {
	l := shard.NewLane(100, 1000)
	require.False(t, l.Room(1000), "the request itself counts, too")
	require.True(t, l.Room(500))
	l.Send(shard.Request{}, 500)
	require.False(t, l.Room(500))
	require.True(t, l.Room(100))
	l.Send(shard.Request{}, 100)
	require.Equal(t, 2, l.Waiting())
}

// TestLaneCut takes only what was sent in an epoch up to the cut, also where the
// numbers of the epochs wrap.
func TestLaneCut(t *testing.T) {
	for _, first := range []uint32{0, 5, 1<<32 - 2} {
		l, p := shard.NewLane(100, 1<<20), newPayloads()
		for i := range uint32(6) { // two in each of three epochs
			require.True(t, p.send(l, uint64(i), first+i/2))
		}
		n := uint64(0)
		for cut := range uint32(3) {
			for r := l.Take(first + cut); r != nil; r = l.Take(first + cut) {
				require.Equal(t, first+cut, r.Epoch)
				require.Equal(t, n, *l.Payload(r.Stream).(*uint64))
				n++
			}
			require.Equal(t, uint64(2*(cut+1)), n)
			require.Equal(t, cut == 2, l.Empty())
			require.Nil(t, l.Take(first+cut))
			l.Release()
			require.Equal(t, int(6-n), l.Waiting())
		}
	}
}

// TestLaneStress has a producer send through several streams while a consumer
// takes, in refreshes of their own: everything comes, in order, each payload
// with its request, and never more is under way than the limits allow.
func TestLaneStress(t *testing.T) {
	const limit = 50
	n := uint64(iterations(200_000))
	l := shard.NewLane(limit, 1<<20)
	streams := []*payloads{newPayloads(), newPayloads(), newPayloads()}
	var epoch atomic.Uint32
	go func() {
		for i := uint64(0); i < n; {
			if streams[i%3].send(l, i, epoch.Load()) {
				i++
			} else {
				runtime.Gosched()
			}
			if w := l.Waiting(); w > limit {
				t.Errorf("%d are under way", w)
			}
		}
	}()
	for got := uint64(0); got < n; {
		cut := epoch.Add(1) - 1
		var kept []*uint64
		for r := l.Take(cut); r != nil; r = l.Take(cut) {
			if int32(r.Epoch-cut) > 0 || r.Handle != handle.Handle(got) || r.Stream != streams[got%3] {
				t.Fatalf("request %d is %v", got, *r)
			}
			kept = append(kept, l.Payload(r.Stream).(*uint64))
			got++
		}
		for i, p := range kept {
			if want := got - uint64(len(kept)-i); *p != want {
				t.Fatalf("payload %d is %d", want, *p)
			}
		}
		if len(kept) > limit {
			t.Fatalf("%d were under way", len(kept))
		}
		l.Release()
		runtime.Gosched()
	}
}
