package queue_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
)

// TestLook looks at what is sent singly and in batches, in three epochs, twice, and then
// takes what it saw, in that order, and nothing that came since.
func TestLook(t *testing.T) {
	for cut := range uint32(5) {
		x := newTraffic(t, 100, 1<<20)
		n, until := uint64(1), uint64(1)
		for epoch := uint32(1); epoch <= 3; epoch++ {
			for range 4 {
				require.True(t, x.send(n, epoch))
				n++
			}
			x.queue.Begin()
			for range 10 {
				require.True(t, x.push(n, 9, nil)) // the epoch of a batch is that of its end
				n++
			}
			x.queue.Commit(epoch)
			if epoch <= cut {
				until = n
			}
		}
		var want, seen []handle.Handle
		for h := uint64(1); h < until; h++ {
			want = append(want, handle.Handle(h))
		}
		for range 2 {
			seen = nil
			x.queue.Look(cut, func(r queue.PendingRequest) {
				x.mustHold(r, uint64(r.Handle))
				require.Equal(t, creates(uint64(r.Handle)), r.IsCreate())
				seen = append(seen, r.Handle)
			})
			require.Equal(t, want, seen, "up to epoch %d", cut)
		}
		published := x.queue.Sent()
		require.True(t, x.send(n, 0))
		x.drained.Keep = true
		made := x.queue.Drain(published, cut, &x.drained)
		require.Len(t, x.drained.Creates[1], made)
		seen = nil
		for _, r := range x.drained.Kept {
			x.mustHold(r, uint64(r.Handle))
			seen = append(seen, r.Handle)
		}
		require.Equal(t, want, seen)
		var taken []handle.Handle
		for _, r := range append(x.drained.Others, x.drained.Creates[1]...) {
			taken = append(taken, r.Handle)
		}
		slices.Sort(taken)
		require.Equal(t, want, taken)
		x.drained.Forget()
		require.Empty(t, x.drained.Kept)
	}
}
