package async_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/world"
)

// asked is an ask that has no result yet.
type asked struct {
	to    handle.Handle
	tick  uint64
	n     int
	again bool // it was under way when the world was saved
}

// order is what is asked for in a tick, decided before it runs.
type order struct {
	h  handle.Handle
	n  int
	id async.ID
}

const modelTicks = 40

// TestModel asks at random, from all sides, of functions that do whatever they can, while entities
// die and move, and the world is saved and loaded: each ask has its one result, at the right place
// and no later than it must. What was recorded is played by one worker, by two and by five.
func TestModel(t *testing.T) {
	seeds := 12
	if testing.Short() || check.Enabled {
		seeds = 3
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, seed) })
	}
}

func runModel(t *testing.T, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 2))
	shards, again := 1+dice.IntN(4), dice.IntN(2) == 0
	options := async.Options{Ticks: modelTicks, Rerun: again}
	var o outside
	newOne := func(workers int) *game { return newGame(t, shards, workers, options, o.run) }
	act := func(g *game, orders func() [][]order) {
		do := func(c *world.Context, home int) {
			for i := range orders()[home] {
				x := &orders()[home][i]
				id, err := g.call.Go(c, x.h, Ask{N: x.n, Text: fmt.Sprint(x.n)})
				if err == nil {
					x.id = id
				}
			}
		}
		g.systems = func(c *world.Context) { do(c, c.Shard()) }
		g.global = func(c *world.Context) { do(c, shards) }
	}
	g := newOne(1 + dice.IntN(3))
	var hs []handle.Handle
	n, open, seen := 0, map[async.ID]*asked{}, map[int]bool{}
	for round := range 3 {
		p, err := async.Attach(g.World, async.PoolOptions{Workers: 1 + dice.IntN(5)})
		require.NoError(t, err)
		port, err := g.OpenPort()
		require.NoError(t, err)
		for len(hs) < 8 { // before it is recorded
			hs = append(hs, g.create(len(hs)))
		}
		image := g.save()
		var file bytes.Buffer
		r, err := inputlog.NewRecorder(g.World, &file, inputlog.Options{})
		require.NoError(t, err)
		var all [][][]order
		var told []string
		now := make([][]order, shards+1)
		act(g, func() [][]order { return now })
		for range 150 {
			if dice.IntN(3) == 0 {
				h, err := g.units.Create(port, unit{Body{len(hs)}})
				require.NoError(t, err)
				hs = append(hs, h)
			}
			if dice.IntN(6) == 0 && len(hs) > 4 {
				i := dice.IntN(len(hs))
				require.NoError(t, port.Destroy(hs[i]))
				hs = append(hs[:i:i], hs[i+1:]...)
			}
			if dice.IntN(3) == 0 {
				require.NoError(t, world.Move(port, hs[dice.IntN(len(hs))], dice.IntN(shards)))
			}
			now = make([][]order, shards+1)
			for home := range now {
				for range dice.IntN(3) {
					n++
					now[home] = append(now[home], order{h: hs[dice.IntN(len(hs))], n: n})
				}
			}
			tick, owners := g.Tick(), map[handle.Handle]int{}
			for _, x := range open {
				owners[x.to], _ = g.Owner(x.to)
			}
			g.step()
			told = append(told, fmt.Sprint(g.got))
			hear(t, g, tick, open, owners, seen, again)
			for _, orders := range now {
				for _, x := range orders {
					if x.id != async.None {
						open[x.id] = &asked{to: x.h, tick: tick, n: x.n}
					}
				}
			}
			for id, x := range open {
				if !g.Alive(x.to) {
					delete(open, id)
				}
			}
			all = append(all, now)
			time.Sleep(time.Duration(dice.IntN(300)) * time.Microsecond)
		}
		require.NoError(t, r.Close())
		last := g.save()
		for _, workers := range []int{1, 2, 5} {
			back := newOne(workers).load(image)
			log, err := inputlog.Open(bytes.NewReader(file.Bytes()))
			require.NoError(t, err)
			player, err := log.Play(back.World, nil)
			require.NoError(t, err)
			at := -1
			act(back, func() [][]order { return copied(all[at]) })
			for player.Next() {
				at++
				require.NoError(t, player.Make(func() error { return back.s.Step(t.Context()) }))
				require.Equal(t, told[at], fmt.Sprint(back.got), "round %d, tick %d, %d workers", round, at, workers)
			}
			require.NoError(t, player.Err())
			require.Equal(t, g.call.Len(), back.call.Len())
			_, err = async.Attach(back.World, async.PoolOptions{})
			require.NoError(t, err, "the log is played")
		}
		g.close(p)
		port.Close()
		g = newOne(1 + dice.IntN(3)).load(last)
		for _, x := range open {
			x.again = true
		}
	}
}

// copied returns orders whose IDs may be written.
func copied(all [][]order) [][]order {
	to := make([][]order, len(all))
	for i := range all {
		to[i] = append(to[i], all[i]...)
	}
	return to
}

// hear holds what was delivered in a tick against what was asked.
func hear(t *testing.T, g *game, tick uint64, open map[async.ID]*asked, owners map[handle.Handle]int, seen map[int]bool, again bool) {
	for shard, got := range g.got {
		for _, m := range got {
			x := open[m.Body.ID]
			if x == nil { // somebody who has died in the refresh of the last tick
				t.Fatalf("tick %d: %+v is not asked for, or twice", tick, m)
			}
			delete(open, m.Body.ID)
			require.Equal(t, x.to, m.To)
			require.Equal(t, owners[m.To], shard)
			require.LessOrEqual(t, tick, x.tick+modelTicks)
			require.False(t, seen[x.n])
			seen[x.n] = true
			want := [kinds]async.Status{async.Done, async.Failed, async.Panicked, async.Panicked, async.TimedOut, async.Done}[x.n%kinds]
			switch s := m.Body.Status; {
			case s == async.Lost:
				require.True(t, x.again && !again)
			case s == async.TimedOut:
				require.Equal(t, x.tick+modelTicks, tick)
			default:
				require.Equal(t, want, s)
			}
			if s := m.Body.Status; s == async.Done || s == async.Failed {
				require.Equal(t, Reply{x.n, fmt.Sprintf("%d!", x.n)}, m.Body.Value)
			} else {
				require.Zero(t, m.Body.Value)
			}
		}
	}
	for id, x := range open {
		if g.Alive(x.to) {
			require.Greater(t, x.tick+modelTicks, tick, "ask %v of %d has no result", id, x.n)
		}
	}
}
