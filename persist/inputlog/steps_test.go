package inputlog_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestReplaySteps: which requests of which port exceed hierarchy.Options.StepsMax is the same on any
// number of workers, and in a replay, in which one queue has the requests of all ports.
func TestReplaySteps(t *testing.T) {
	const ports = 40
	ticks, all := 12, []int{1, 2, 5}
	if check.Enabled {
		ticks, all = 4, []int{1, 5}
	}
	type forest struct {
		*world.World
		tree  *hierarchy.Relation
		all   []handle.Handle
		sched *scheduler.Scheduler
	}
	plant := func(workers int) *forest {
		x := &forest{World: world.MustNew(world.Options{})}
		world.Register[Body](x.World, "body")
		x.tree = hierarchy.New(x.World, "tree", hierarchy.Options{StepsMax: 10_000, ConflictsMax: 1 << 20})
		var err error
		x.all, err = world.NewBundle[Plain](x.World).AppendN(nil, x.World, 500, nil)
		require.NoError(t, err)
		for i := range 200 {
			require.NoError(t, x.tree.AddChild(x.World, x.all[i], x.all[i+1]))
		}
		x.sched = scheduler.New(x.World, scheduler.Options{Workers: workers})
		return x
	}
	step := func(x *forest) (state.Hash, int) {
		require.NoError(t, x.sched.Step(context.Background()))
		hash, err := state.StateHash(x.World, nil)
		require.NoError(t, err)
		refused := 0
		for _, f := range x.tree.Read(x.World).Conflicts() {
			if errors.Is(f.Err, hierarchy.ErrSteps) {
				refused++
			}
		}
		return hash, refused
	}
	var log []byte
	var want []state.Hash
	for _, workers := range all {
		x, file, dice := plant(workers), new(bytes.Buffer), rand.New(rand.NewPCG(1, 1))
		recorder, err := inputlog.NewRecorder(x.World, file, inputlog.Options{})
		require.NoError(t, err)
		var open []*world.Port
		for range ports {
			p, err := x.OpenPort()
			require.NoError(t, err)
			open = append(open, p)
		}
		some := 0
		for tick := range ticks {
			for range 4000 {
				p := open[dice.IntN(ports)]
				if i := p.Number(); i%3 == tick%3 { // this tick it sends nothing
					continue
				}
				require.NoError(t, x.tree.Move(p, x.all[dice.IntN(500)], x.all[dice.IntN(500)]))
			}
			hash, refused := step(x)
			if workers == 1 {
				want = append(want, hash)
			}
			require.Equal(t, want[tick], hash, "tick %d, %d workers", tick, workers)
			if refused > 0 && refused < 3500 {
				some++
			}
		}
		require.Greater(t, some, ticks/2, "the limit is too high or too low to test something")
		require.NoError(t, recorder.Close())
		log = file.Bytes()
	}
	for _, workers := range all {
		x := plant(workers)
		in, err := inputlog.Open(bytes.NewReader(log))
		require.NoError(t, err)
		player, err := in.Play(x.World, nil)
		require.NoError(t, err)
		for tick := 0; player.Next(); tick++ {
			hash, _ := step(x)
			require.Equal(t, want[tick], hash, "tick %d of the replay, %d workers", tick, workers)
		}
		require.NoError(t, player.Err())
		require.EqualValues(t, ticks, x.Tick())
	}
}
