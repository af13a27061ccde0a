package scheduler_test

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const asleep world.Flags = 1

// met notes the entities that a query of a system yields in a tick, shard by shard.
type met struct{ byShard [][]handle.Handle }

func (m *met) system(terms func(b *world.Build) []world.Term) construct {
	return func(b *world.Build) func(*world.Context) {
		q := b.Query(terms(b)...)
		return func(c *world.Context) {
			for range 2 { // a second loop of the tick yields the same
				m.byShard[c.Shard()] = m.byShard[c.Shard()][:0]
				for ch := range q.Chunks() {
					m.byShard[c.Shard()] = append(m.byShard[c.Shard()], ch.Handles()...)
				}
			}
			if n := len(m.byShard[c.Shard()]); n != q.Count() {
				panic("Count is another than the number of rows")
			}
		}
	}
}

func (m *met) all() (all []handle.Handle) {
	for _, some := range m.byShard {
		all = append(all, some...)
	}
	return all
}

// TestTurns has entities come, go, move and fall asleep at random. In each tick a query meets those
// whose last turn was n runs ago, and no others.
func TestTurns(t *testing.T) {
	const shards, every = 3, 2
	for _, workers := range []int{1, 2, 5} {
		f := newFixture(t, shards, workers)
		dice := rand.New(rand.NewPCG(7, 0))
		in8, in4 := met{make([][]handle.Handle, shards)}, met{make([][]handle.Handle, shards)}
		f.MustAdd("in 8", in8.system(func(b *world.Build) []world.Term {
			return []world.Term{world.Read[Velocity](b), world.Turns(b, 8), world.WithoutFlags(b, asleep)}
		}))
		f.MustAdd("in 4 of each second", in4.system(func(b *world.Build) []world.Term {
			return []world.Term{world.Turns(b, 4)}
		}), scheduler.Every(every, 1))
		p, err := f.w.OpenPort()
		require.NoError(t, err)
		var all []handle.Handle
		born, last8, last4 := map[handle.Handle]uint64{}, map[handle.Handle]uint64{}, map[handle.Handle]uint64{}
		for range iterations(200) {
			for range dice.IntN(40) {
				by := []world.Actor{f.w, p}[dice.IntN(2)]
				h, err := f.movers.Create(by, Mover{})
				require.NoError(t, err)
				all = append(all, h)
				born[h] = f.w.Tick()
				if by == p { // it lives from the next tick on
					born[h]++
				}
			}
			for range len(all) / 16 {
				h := all[dice.IntN(len(all))]
				switch dice.IntN(4) {
				case 0:
					_ = p.Destroy(h)
				case 1:
					_ = world.Move(p, h, dice.IntN(shards))
				case 2:
					_ = world.AddFlags(p, h, asleep)
				case 3:
					_ = world.RemoveFlags(p, h, asleep)
				}
			}
			tick := f.w.Tick()
			sleeps := map[handle.Handle]bool{}
			lives := 0
			for _, h := range all {
				if f.w.Alive(h) {
					lives++
					sleeps[h] = world.FlagsOf(f.w, h)&asleep != 0
				}
			}
			f.step(1)
			for _, h := range in8.all() {
				require.False(t, sleeps[h])
				if was, ok := last8[h]; ok {
					require.Zero(t, (tick-was)%8, "%v is met in tick %d, and was in %d", h, tick, was)
				}
				last8[h] = tick
			}
			for h, s := range sleeps {
				if was, ok := last8[h]; ok && !s && was != tick {
					require.NotZero(t, (tick-was)%8, "%v was met in tick %d, and is not in %d", h, was, tick)
				} else if !ok && !s {
					require.Less(t, tick, born[h]+1024, "%v is never met", h)
				}
			}
			if tick%every == 1 {
				for _, h := range in4.all() {
					if was, ok := last4[h]; ok {
						require.Equal(t, was+4*every, tick)
					} else {
						require.Less(t, tick, born[h]+4*every)
					}
					last4[h] = tick
				}
				require.LessOrEqual(t, len(in4.all()), lives/4+lives/16+8, "turns are spread")
			}
			for h := range maps.Keys(last4) {
				if _, ok := sleeps[h]; ok {
					require.Greater(t, last4[h]+4*every+every, tick, "%v has not been met since tick %d", h, last4[h])
				}
			}
			require.NoError(t, f.w.Err())
		}
		require.Greater(t, len(last8), 30)
	}
}

// TestTurnsFor finds as many runs as leave so many rows to each, and tells the time between them.
func TestTurnsFor(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 1, TickInterval: time.Second}, scheduler.Options{Workers: 1})
	var rows int
	var delta float64
	f.MustAdd("think", func(b *world.Build) func(*world.Context) {
		q := b.Query(world.TurnsFor(b, 100))
		return func(*world.Context) {
			delta = q.Delta()
			rows = q.Count()
		}
	}, scheduler.Every(2, 0))
	for _, test := range []struct{ more, delta int }{{0, 1}, {1, 1}, {99, 1}, {1, 2}, {299, 4}, {1, 8}, {999, 16}} {
		_, err := f.movers.AppendN(nil, f.w, test.more, nil)
		require.NoError(t, err)
		f.step(2)
		require.Equal(t, float64(2*test.delta), delta, "after %d more", test.more)
		require.LessOrEqual(t, rows, 125)
	}
}

// TestWakes has messages wake what sleeps, from wherever they come.
func TestWakes(t *testing.T) {
	for _, workers := range []int{1, 2} {
		f := newFixture(t, 2, workers)
		f.push.Wakes(asleep)
		awake := met{make([][]handle.Handle, 2)}
		var from []func(h handle.Handle)
		var target handle.Handle
		f.MustAdd("awake", awake.system(func(b *world.Build) []world.Term { return []world.Term{world.WithoutFlags(b, asleep)} }))
		f.MustAdd("push", func(b *world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if c.Shard() == 0 && target != handle.None {
					require.NoError(t, f.push.Send(c, target, Push{1}))
					if c.Owns(target) { // the message comes behind what the tick asks for
						require.NoError(t, world.AddFlags(c, target, asleep))
					}
				}
			}
		})
		p, err := f.w.OpenPort()
		require.NoError(t, err)
		from = append(from,
			func(h handle.Handle) { require.NoError(t, f.push.Send(f.w, h, Push{1})) },
			func(h handle.Handle) {
				require.NoError(t, f.push.Send(p, h, Push{1}))
				require.NoError(t, world.Move(p, h, 1))
				f.step(1)
			},
			func(h handle.Handle) { target = h; f.step(1); target = handle.None },
		)
		for i, send := range from {
			for shard, h := range f.mark() {
				require.NoError(t, world.AddFlags(f.w, h, asleep|2))
				f.step(1)
				require.NotContains(t, awake.all(), h)
				require.NoError(t, f.push.SendShard(f.w, shard, Push{}))
				f.step(1)
				require.NotContains(t, awake.all(), h, "a message to the shard wakes nobody")
				send(h)
				require.Equal(t, world.Flags(2), world.FlagsOf(p, h), "%d: others see it", i)
				f.step(1)
				require.Contains(t, awake.all(), h)
			}
		}
		f.step(1)
	}
}

// TestTurnsSpread creates kinds of entities by turns, and entities in many shards: each kind is
// spread over the ticks.
func TestTurnsSpread(t *testing.T) {
	const n, each = 8, 160
	for _, kinds := range []int{1, 2, 3, 4, 8} {
		for _, shards := range []int{1, 16} {
			f := newFixture(t, shards, 1)
			for i := range kinds * each {
				var err error
				if i%kinds == 0 {
					_, err = f.movers.Create(f.w, Mover{})
				} else {
					_, err = f.markers.Create(f.w, Marker{Value{uint64(i % shards)}})
				}
				require.NoError(t, err)
			}
			q := f.w.Query(world.Read[Velocity](f.w), world.Turns(f.w, n))
			for range n {
				require.InDelta(t, each/n, q.Count(), each/n/2+2, "%d kinds, %d shards", kinds, shards)
				f.w.Refresh()
			}
		}
	}
	f := newFixture(t, 64, 1)
	f.mark() // one in each shard, of the same index
	q := f.w.Query(world.Turns(f.w, 8))
	for range 8 {
		require.InDelta(t, 8, q.Count(), 8)
		f.w.Refresh()
	}
}
