package inputlog_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestReplayChanges: the same requests to add, remove and move are refused, because their port took
// too much memory, on any number of workers and in a replay. There one queue has the requests of all
// ports, but no asks, whose own limit must not count for changes. Rows are large: a port may move
// and ask for some hundred in a shard and refresh.
func TestReplayChanges(t *testing.T) {
	const ports, asker = 12, 1
	ticks, all := 4, []int{1, 2, 5}
	switch { // rows of 32 KB are poisoned as they move
	case check.Enabled && testing.Short():
		ticks, all = 1, []int{1, 5}
	case check.Enabled:
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
			large *world.Component[Large]
			sched *scheduler.Scheduler
		}
	)
	herdOf := func(workers int) *herd {
		x := &herd{World: world.MustNew(world.Options{Shards: 3})}
		x.large = world.Register[Large](x.World, "large")
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
	var answers []*world.Answer[Large]
	answer := func(i int) *world.Answer[Large] {
		if i == len(answers) {
			answers = append(answers, new(world.Answer[Large]))
		}
		return answers[i]
	}
	var log []byte
	var want []state.Hash
	var limited uint64
	var refusals []int // of asks, by tick
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
		var asks uint64 // that were refused
		for tick := range ticks {
			asked := 0
			for i := range open {
				if i%3 == tick%3 { // this tick it sends nothing
					continue
				}
				for range 1200 + dice.IntN(1200) {
					h := x.all[dice.IntN(len(x.all))]
					switch r := dice.IntN(16); {
					case i == asker && r < 9:
						require.NoError(t, x.large.Ask(open[i], x.all[0], answer(asked)))
						asked++
					case r%8 == 0:
						require.NoError(t, world.Move(open[i], h, dice.IntN(3)))
					case r%2 == 0:
						require.NoError(t, x.flag.Add(open[i], h, toggle{int64(i)}))
					default:
						require.NoError(t, x.flag.Remove(open[i], h))
					}
				}
			}
			hash, n := step(x), 0
			for i := range asked {
				if answer(i).Outcome() == world.Refused {
					n++
				}
			}
			asks += uint64(n)
			if workers == 1 {
				want, refusals = append(want, hash), append(refusals, n)
			}
			require.Equal(t, refusals[tick], n, "asks that were refused in tick %d, %d workers", tick, workers)
			require.Equal(t, want[tick], hash, "tick %d, %d workers", tick, workers)
		}
		require.Greater(t, asks, uint64(100), "the limit of answers is too high to test something")
		if limited = refused(x) - asks; workers == 1 {
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
