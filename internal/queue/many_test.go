package queue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
)

// pushMany pushes requests n to n+count-1 in one record: of kind 0 with payloads, of kind 1 with
// pointers, of kind 2 to destroy. Creates alternate between two shards.
func (x *traffic) pushMany(n uint64, count, kind int, how queue.Flags, done queue.Finisher) {
	var hs []handle.Handle
	switch kind {
	case 0:
		m := x.plain.PushMany(x.queue, count, count, 1, how, done)
		hs = m.Handles
		values := mem.Slice[[3]uint64](m.Values.Address, count)
		for i := range values {
			values[i] = [3]uint64{n + uint64(i), 0, uint64(i)}
			if how == queue.Create {
				m.Place(i, i/3%2)
			}
		}
	case 1:
		m := x.boxed.PushMany(x.queue, count, 0, 1, 0, done)
		hs = m.Handles
		values := mem.Slice[*uint64](m.Values.Address, count)
		for i := range values {
			v := n + uint64(i)
			values[i] = &v
		}
	default:
		hs = queue.Destroys.PushMany(x.queue, count, 0, 1, 0, done).Handles
	}
	for i := range hs {
		hs[i] = handle.Handle(n) + handle.Handle(i)
	}
}

// number returns the number that a payload holds.
func number(kind int, p mem.Pointer) uint64 {
	if kind == 0 {
		return mem.As[[3]uint64](p)[0]
	}
	return **mem.As[*uint64](p)
}

// TestQueueMany sends many requests in one record, singly and in batches, takes back some, looks at
// them and takes them, at random: rings are grown and wrap.
func TestQueueMany(t *testing.T) {
	for seed := range uint64(iterations(100)) {
		r := newRand(t, seed)
		x := newTraffic(t, 1<<16, 1<<24)
		sent, taken, waiting := uint64(1), uint64(1), 0
		var told finished
		records := 0
		for range 300 {
			switch r.IntN(6) {
			case 0: // taken back
				x.queue.Begin()
				n := 0
				for range r.IntN(3) {
					count := 1 + r.IntN(100)
					x.pushMany(sent, count, r.IntN(3), 0, &told)
					n += count
				}
				require.Equal(t, n, x.queue.Rollback())
			case 1: // one alone
				x.queue.PushBare(queue.Destroying(), handle.Handle(sent), 1, nil)
				x.queue.Publish()
				sent++
				waiting++
			case 2, 3, 4:
				count, kind := 1+r.IntN(100), r.IntN(3)
				how := queue.Flags(0)
				if kind == 0 && r.IntN(2) == 0 {
					how = queue.Create
				}
				x.pushMany(sent, count, kind, how, &told)
				x.queue.Publish()
				sent += uint64(count)
				waiting += count
				records++
			default:
				require.Equal(t, waiting, x.queue.Waiting())
				require.Equal(t, waiting, x.queue.Ready())
				next := taken
				look := func(q queue.PendingRequest) {
					require.Equal(t, handle.Handle(next), q.Handle)
					require.False(t, q.IsMany())
					if k := q.Kind() - x.plain.Number(); k >= 0 {
						require.Equal(t, next, number(k, q.Payload()))
					}
					next++
				}
				x.queue.Look(1, look)
				require.Equal(t, sent, next)
				x.drained.Keep = true
				x.queue.Drain(x.queue.Sent(), 1, &x.drained)
				next = taken
				for _, q := range x.drained.Kept {
					if q.IsMany() {
						x.kinds.Each(q, look)
					} else {
						look(q)
					}
				}
				require.Equal(t, sent, next)
				taken = x.mustBeAll(taken)
				require.Equal(t, sent, taken)
				x.drained.Forget()
				require.Zero(t, x.drained.Count)
				require.Empty(t, x.drained.Kept)
				x.queue.Release()
				require.Empty(t, told)
				x.queue.Notify()
				require.Len(t, told, records)
				for _, o := range told {
					require.Equal(t, queue.Applied, o)
				}
				told, records, waiting = told[:0], 0, 0
			}
		}
	}
}

// mustBeAll checks what was drained: requests from number next on. It returns the number that is to
// follow.
func (x *traffic) mustBeAll(next uint64) uint64 {
	seen := map[uint64]bool{}
	count := 0
	note := func(h handle.Handle) {
		require.False(x.t, seen[uint64(h)])
		seen[uint64(h)] = true
	}
	of := func(q queue.PendingRequest) {
		if !q.IsMany() {
			require.Equal(x.t, 1, q.Len())
			note(q.Handle)
			return
		}
		require.Len(x.t, q.Handles(), q.Len())
		k := q.Kind() - x.plain.Number()
		for i, h := range q.Handles() {
			note(h)
			switch {
			case q.IsCreate():
				v := mem.Slice[[3]uint64](x.kinds.Values(q).Address, q.Len())[i]
				require.Equal(x.t, uint64(h), v[0])
			case k >= 0:
				require.Equal(x.t, uint64(h), number(k, x.kinds.PayloadOf(q, i)))
			}
		}
	}
	for i, all := range x.drained.Creates {
		for _, q := range all {
			require.True(x.t, q.IsCreate())
			require.Equal(x.t, uint64(i), mem.As[[3]uint64](x.kinds.Values(q))[2]/3%2, "its shard")
			of(q)
		}
	}
	for _, q := range x.drained.Others {
		of(q)
		count += q.Len()
	}
	require.Equal(x.t, count, x.drained.Count)
	for ; seen[next]; next++ {
		delete(seen, next)
	}
	require.Empty(x.t, seen)
	return next
}

// TestQueueManyOutcome decides some of many requests.
func TestQueueManyOutcome(t *testing.T) {
	for _, test := range []struct {
		outcomes map[int]queue.Outcome
		want     queue.Outcome
	}{
		{nil, queue.Applied},
		{map[int]queue.Outcome{7: queue.Applied}, queue.Applied},
		{map[int]queue.Outcome{7: queue.Gone, 3: queue.Missing}, queue.Missing},
		{map[int]queue.Outcome{7: queue.Gone, 8: queue.Missing}, queue.Gone},
		{map[int]queue.Outcome{0: queue.Refused, 1: queue.Gone}, queue.Refused},
	} {
		x := newTraffic(t, 100, 1<<20)
		var told finished
		x.pushMany(1, 10, 2, 0, &told)
		x.queue.Publish()
		x.queue.Drain(x.queue.Sent(), 1, &x.drained)
		var counts queue.Outcomes
		for i, o := range test.outcomes {
			counts.DecideOne(x.drained.Others[0], i, o)
			require.NotZero(t, counts.Count(o))
		}
		x.release()
		require.Equal(t, finished{test.want}, told)

		x.pushMany(1, 10, 2, 0, &told)
		x.queue.Publish()
		x.queue.Drain(x.queue.Sent(), 1, &x.drained)
		x.queue.DecideAll(queue.Broken)
		x.release()
		require.Equal(t, queue.Broken, told[1])
	}
}
