package sim_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/sim"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

var seeds = flag.Int("seeds", 1000, "how many seeds TestSeeds runs")

// look runs a sim and returns all that it tells.
func look(t testing.TB, c sim.Config) (looks []sim.Look) {
	t.Helper()
	require.NoError(t, sim.Run(t.Context(), c, func(l sim.Look) { looks = append(looks, l) }))
	return looks
}

// TestSame checks that neither the number of workers and processors nor chaos
// shows in the world.
func TestSame(t *testing.T) {
	for _, shards := range []int{3, 40} {
		c := sim.Config{Ticks: 120, Every: 10, Players: 24, Creatures: 4000, Shards: shards, Workers: 1, Seed: 7}
		if testing.Short() || check.Enabled {
			c.Ticks, c.Creatures = 20, 2000
		}
		want := look(t, c)
		require.Len(t, want, c.Ticks/c.Every)
		for _, workers := range []int{1, 2, 3, 8, 32} {
			for _, procs := range []int{1, 2, 8} {
				if check.Enabled && (procs != 2 || workers > 2 && workers < 32) {
					continue
				}
				c.Workers, c.Chaos = workers, (workers+procs)%2 == 0
				t.Run(fmt.Sprintf("%d shards, %d workers, %d processors, chaos %v", shards, workers, procs, c.Chaos), func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					require.Equal(t, want, look(t, c))
				})
			}
		}
	}
}

// TestDiffers checks that whatever shapes the world shows in its hash.
func TestDiffers(t *testing.T) {
	base := sim.Config{Ticks: 8, Every: 2, Players: 8, Creatures: 500, Shards: 3, Seed: 7}
	want := look(t, base)
	for i := range want {
		require.EqualValues(t, 2*(i+1), want[i].Tick)
		for k := range i {
			require.NotEqual(t, want[i].Hash, want[k].Hash)
		}
	}
	for name, change := range map[string]func(*sim.Config){
		"seed":      func(c *sim.Config) { c.Seed++ },
		"players":   func(c *sim.Config) { c.Players-- },
		"creatures": func(c *sim.Config) { c.Creatures++ },
		"shards":    func(c *sim.Config) { c.Shards++ },
	} {
		t.Run(name, func(t *testing.T) {
			c := base
			change(&c)
			got := look(t, c)
			for i := range want {
				require.NotEqual(t, want[i].Hash, got[i].Hash)
			}
		})
	}
}

// TestScript checks that players do enough to show what is not the same.
func TestScript(t *testing.T) {
	r, err := sim.Play(t.Context(), sim.Config{Ticks: 200, Players: 32, Creatures: 6000, Shards: 3, Seed: 7})
	require.NoError(t, err)
	l := r.Ledger()
	var s world.Stats
	r.World.Stats(&s)
	for name, n := range map[string]uint64{
		"commands obeyed": l.Obeyed, "commands too late": l.Late + s.Gone, "avatars killed": l.Destroyed[realm.Avatars],
		"creatures killed": l.Destroyed[realm.Creatures], "items gone": l.Destroyed[realm.Items], "blows abroad": l.Abroad,
		"moved": s.Moved,
	} {
		require.Greater(t, n, uint64(10), name)
	}
	require.Zero(t, l.Unheard)
	require.Zero(t, s.Rejected)
}

// TestSeeds runs many small sims, each once on one worker and once on several with
// chaos. For a hundred times as many:
//
//	go test ./cmd/atoll/internal/sim -run TestSeeds -seeds 100000 -timeout 0
func TestSeeds(t *testing.T) {
	n := *seeds
	if check.Enabled {
		n = max(1, n/80) // which takes about as long
	}
	for seed := range n {
		c := sim.Config{Ticks: 12, Every: 3, Players: 6, Creatures: 100, Shards: 1 + seed%6, Workers: 1, Seed: uint64(seed)}
		if seed%40 == 0 { // enough for the refresh to use all workers
			c.Creatures = 12_000
		}
		want := look(t, c)
		c.Workers, c.Chaos = []int{2, 3, 8, 32}[seed%4], true
		require.Equal(t, want, look(t, c), "seed %d", seed)
	}
}

func TestBadConfig(t *testing.T) {
	err := sim.Run(t.Context(), sim.Config{Ticks: -1, Every: -2, Players: 2001, Creatures: -1, Shards: -1, Workers: 1025}, nil)
	for _, want := range []string{
		"sim: Ticks is -1, want 1 to 10000000", "sim: Every is -2, want 1 to 10000000", "sim: Players is 2001, want 0 to 2000",
		"sim: Creatures is -1, want 0 to 4000000", fmt.Sprint("sim: Shards is -1, want 0 to ", handle.HomeMax), "sim: Workers is 1025, want 0 to 1024",
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, sim.Run(ctx, sim.Default(), nil), context.Canceled)
}

// TestLastTick checks that the last tick is told of even if none is due.
func TestLastTick(t *testing.T) {
	looks := look(t, sim.Config{Ticks: 7, Every: 3, Seed: 1})
	require.Len(t, looks, 3)
	require.EqualValues(t, 7, looks[2].Tick)
}
