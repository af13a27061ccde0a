package interest_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestReshard loads the world into another number of shards, of which its Clients know nothing: clients
// of before, which come again, see the same entities, with the same handles, on any number of workers.
func TestReshard(t *testing.T) {
	for _, shards := range []int{1, 3, 16} {
		x := newField(t, world.Options{Shards: 5})
		s := x.newSet(interest.Options{})
		for i := range 300 {
			h := x.unit(float64(i%100), float64(i*7%100))
			require.NoError(t, world.Move(x.World, h, i%5))
			x.unit(float64(i*3%100), float64(i%50)) // by another shard
		}
		x.Refresh()
		v, known := s.Open(interest.ClientOptions{Radius: 60, Margin: 2}), newClient(t)
		p := x.update(s, 2)[v]
		known.apply(&p, false)
		require.NotEmpty(t, known.has())
		var image bytes.Buffer
		require.NoError(t, snapshot.Write(&image, x.World, snapshot.Options{}))

		var first map[handle.Handle]map[int]string
		for _, workers := range []int{1, 2, 5} {
			y := newField(t, world.Options{Shards: shards})
			s := y.newSet(interest.Options{})
			require.Empty(t, y.update(s, workers), "the world was empty when they were made")
			require.NoError(t, snapshot.Load(bytes.NewReader(image.Bytes()), y.World, snapshot.Options{}))
			v, again := s.Open(interest.ClientOptions{Radius: 60, Margin: 2}), newClient(t)
			p := y.update(s, workers)[v]
			again.apply(&p, false)
			require.Equal(t, known.has(), again.has())
			for range 5 {
				y.drift()
				y.unit(1, 1)
				y.Refresh()
				p := y.update(s, workers)[v]
				again.apply(&p, false)
				f := y.now()
				require.Equal(t, look(f, interest.Options{}).by(v, again.has()), again.has())
				f.Release()
			}
			if first == nil {
				first = again.has()
			}
			require.Equal(t, first, again.has(), "with %d workers", workers)
		}
	}
}
