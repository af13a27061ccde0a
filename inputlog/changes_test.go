package inputlog_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inputlog"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/state"
	"github.com/atoll-sim/atoll/world"
)

// TestReplayChanges: which requests of which port take too much memory to add and remove components
// is the same on any number of workers, and in a replay, in which one queue has the requests of all
// ports. Of the entities with large rows a port may move some hundred in a shard and refresh.
func TestReplayChanges(t *testing.T) {
	const ports = 12
	ticks, all := 4, []int{1, 2, 5}
	if check.Enabled { // rows of 32 KB are poisoned as they move
		ticks, all = 2, []int{1, 5}
	}
	type (
		Large  [32 << 10]byte
		thing  struct{ Large }
		toggle struct{ N int64 }
		herd   struct {
			*world.World
			all   []handle.Handle
			flag  *world.Component[toggle]
			sched *scheduler.Scheduler
		}
	)
	herdOf := func(workers int) *herd {
		x := &herd{World: world.MustNew(world.Options{Shards: 3})}
		world.Register[Large](x.World, "large")
		x.flag = world.Register[toggle](x.World, "toggle")
		var err error
		x.all, err = world.NewBundle[thing](x.World).AppendN(nil, x.World, 30, nil)
		require.NoError(t, err)
		x.sched = scheduler.New(x.World, scheduler.Options{Workers: workers})
		return x
	}
	refused := func(x *herd) uint64 {
		var s world.Stats
		x.Stats(&s)
		return s.Refused
	}
	step := func(x *herd) state.Hash {
		require.NoError(t, x.sched.Step(context.Background()))
		hash, err := state.StateHash(x.World, nil)
		require.NoError(t, err)
		return hash
	}
	var log []byte
	var want []state.Hash
	var limited uint64
	for _, workers := range all {
		x, file, dice := herdOf(workers), new(bytes.Buffer), rand.New(rand.NewPCG(1, 1))
		recorder, err := inputlog.NewRecorder(x.World, file, inputlog.Options{})
		require.NoError(t, err)
		var open []*world.Port
		for range ports {
			p, err := x.OpenPort()
			require.NoError(t, err)
			open = append(open, p)
		}
		for tick := range ticks {
			for i := range open {
				if i%3 == tick%3 { // this tick it sends nothing
					continue
				}
				for range 1200 + dice.IntN(1200) {
					h := x.all[dice.IntN(len(x.all))]
					if dice.IntN(2) == 0 {
						require.NoError(t, x.flag.Add(open[i], h, toggle{int64(i)}))
					} else {
						require.NoError(t, x.flag.Remove(open[i], h))
					}
				}
			}
			hash := step(x)
			if workers == 1 {
				want = append(want, hash)
			}
			require.Equal(t, want[tick], hash, "tick %d, %d workers", tick, workers)
		}
		if limited = refused(x); workers == 1 {
			require.Greater(t, limited, uint64(500), "the limit is too high to test something")
		}
		require.NoError(t, recorder.Close())
		log = file.Bytes()
	}
	for _, workers := range all {
		x := herdOf(workers)
		in, err := inputlog.Open(bytes.NewReader(log))
		require.NoError(t, err)
		player, err := in.Play(x.World, nil)
		require.NoError(t, err)
		for tick := 0; player.Next(); tick++ {
			require.Equal(t, want[tick], step(x), "tick %d of the replay, %d workers", tick, workers)
		}
		require.NoError(t, player.Err())
		require.EqualValues(t, ticks, x.Tick())
		require.Equal(t, limited, refused(x))
	}
}
