package inputlog_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// newHider makes a world in which each shard creates, and looks at what the others give in the same
// tick: it sets a flag, and notes what it sees.
func newHider(t testing.TB, workers int) (*world.World, *scheduler.Scheduler, *state.Hasher) {
	t.Helper()
	const shards, each = 3, 40
	w := world.MustNew(world.Options{Shards: shards})
	world.Register[Body](w, "body")
	plain := world.NewBundle[Plain](w).PlaceBy(func(p Plain) int { return int(p.Small) })
	for i := range shards {
		_, err := plain.Create(w, Plain{Body{Small: uint8(i)}})
		require.NoError(t, err)
	}
	s := scheduler.New(w, scheduler.Options{Workers: workers, Chaos: 7})
	s.MustAdd("create and look", func(b *world.Build) func(*world.Context) {
		body := world.Write[Body](b)
		b.Creates(plain)
		return func(c *world.Context) {
			own := body.Get(handle.New(uint32(c.Shard()), 0, 1))
			for i := range uint32(each) {
				_, err := plain.Create(c, Plain{})
				require.NoError(t, err)
				h := handle.New(uint32(c.Shard()+1+int(i)%2)%shards, 1+uint32(c.Tick())*each+i, 1)
				own.Sum = own.Sum*31 + uint64(c.Status(h))*4 + is(c.Alive(h))*2 + is(world.AddFlags(c, h, 1<<(i%8)) == nil)
			}
		}
	})
	return w, s, state.NewHasher(w, nil)
}

// TestHidden has systems look at what other shards create in the same tick, on 1, 2 and 5 workers in
// a random order, and in a replay: all see the same.
func TestHidden(t *testing.T) {
	const ticks = 40
	var first []string
	for _, workers := range []int{1, 2, 5} {
		w, s, hasher := newHider(t, workers)
		var log bytes.Buffer
		r, err := inputlog.NewRecorder(w, &log, inputlog.Options{})
		require.NoError(t, err)
		var hashes []string
		for range ticks {
			require.NoError(t, s.Step(t.Context()))
			require.NoError(t, r.Hash(hasher))
			h, err := hasher.StateHash()
			require.NoError(t, err)
			hashes = append(hashes, h.String())
		}
		require.NoError(t, r.Close())
		if first == nil {
			first = hashes
		}
		require.Equal(t, first, hashes, "%d workers", workers)

		w, s, hasher = newHider(t, 2)
		l, err := inputlog.Open(&log)
		require.NoError(t, err)
		p, err := l.Play(w, nil)
		require.NoError(t, err)
		for p.Next() {
			require.NoError(t, s.Step(t.Context()))
			verified, err := p.Verify(hasher)
			require.NoError(t, err)
			require.True(t, verified)
		}
		require.NoError(t, p.Err())
	}
}
