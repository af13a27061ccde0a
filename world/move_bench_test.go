package world_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkMove moves entities, in random order: one by one on the idle world; and
// at a refresh, by requests of systems, with the refresh alone in the time. It
// tells the least time.
func BenchmarkMove(b *testing.B) {
	const n, moves = 100_000, 4000
	setUp := func(b *testing.B) (*fixture, []handle.Handle) {
		f := newFixture(b, world.Options{Shards: 8})
		all, err := f.mover.AppendN(nil, f.World, n, nil)
		require.NoError(b, err)
		r := rand.New(rand.NewPCG(1, 1))
		r.Shuffle(n, func(i, k int) { all[i], all[k] = all[k], all[i] })
		return f, all
	}
	b.Run("idle", func(b *testing.B) {
		f, all := setUp(b)
		least, at := time.Duration(math.MaxInt64), 0
		for i := range b.N {
			began := time.Now()
			for range moves {
				_ = world.Move(f.World, all[at], (at+i)%8)
				at = (at + 1) % n
			}
			least = min(least, time.Since(began))
		}
		b.ReportMetric(float64(least.Nanoseconds())/moves, "ns/move")
	})
	b.Run("refresh", func(b *testing.B) {
		f, all := setUp(b)
		at := 0
		system := f.build(func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				for range moves / 8 {
					_ = world.Move(c, all[at], (at+int(c.Tick()))%8)
					at = (at + 1) % n
				}
			}
		})
		least := time.Duration(math.MaxInt64)
		for range b.N {
			t := engine.Of(f.World).BeginTick()
			for i, s := range system {
				c := (*world.Context)(engine.Of(f.World).Context(i))
				(*engine.Context)(c).Acting().Start("move", s.access)
				s.run(c)
				(*engine.Context)(c).Acting().Stop()
			}
			began := time.Now()
			t.End(serial)
			least = min(least, time.Since(began))
		}
		b.ReportMetric(float64(least.Nanoseconds())/moves, "ns/move")
	})
}

// BenchmarkMoveShards moves 60,000 entities at a refresh, each to another shard, in worlds
// of few and of many shards; and destroys as many that are away from home. It tells the
// least time of the refresh alone.
func BenchmarkMoveShards(b *testing.B) {
	const n = 60_000
	for _, shards := range []int{64, 2048} {
		setUp := func(b *testing.B) (*fixture, *world.Port) {
			f := newFixture(b, world.Options{Shards: shards, QueueRequests: 2 * n, QueueBytes: 64 * n})
			f.mover.PlaceBy(func(m Mover) int { return int(m.Position.X) % shards })
			return f, f.port()
		}
		create := func(b *testing.B, f *fixture) []handle.Handle {
			all, err := f.mover.AppendN(nil, f.World, n, func(i int, m *Mover) { m.Position.X = float64(i * 7) })
			require.NoError(b, err)
			return all
		}
		move := func(b *testing.B, p *world.Port, all []handle.Handle, round int) {
			for i, h := range all {
				require.NoError(b, world.Move(p, h, (i*7+round*(1+i%5))%shards))
			}
		}
		b.Run(fmt.Sprintf("move/%d", shards), func(b *testing.B) {
			f, p := setUp(b)
			all := create(b, f)
			least := time.Duration(math.MaxInt64)
			for round := range b.N {
				move(b, p, all, round+1)
				began := time.Now()
				f.Refresh()
				least = min(least, time.Since(began))
			}
			b.ReportMetric(float64(least.Nanoseconds())/1e6, "ms/refresh")
		})
		b.Run(fmt.Sprintf("destroy/%d", shards), func(b *testing.B) {
			f, p := setUp(b)
			least := time.Duration(math.MaxInt64)
			for range b.N {
				all := create(b, f)
				move(b, p, all, 1)
				f.Refresh()
				require.Equal(b, n, f.Query().Destroy())
				began := time.Now()
				f.Refresh()
				least = min(least, time.Since(began))
			}
			b.ReportMetric(float64(least.Nanoseconds())/1e6, "ms/refresh")
		})
	}
}

// BenchmarkMoved gets components of entities in random order, in turn in a world
// where none has moved and in one where each is in another shard than its home: a
// part of them at a time. It tells the least times of the parts, added up.
func BenchmarkMoved(b *testing.B) {
	const n, parts = 1 << 20, 32
	var gets [2]func(from, to int) float64
	for i := range gets {
		f := newFixture(b, world.Options{})
		all, err := f.mover.AppendN(nil, f.World, n, func(i int, m *Mover) { m.Position.X = float64(i) })
		require.NoError(b, err)
		for _, h := range all {
			if i == 1 {
				require.NoError(b, world.Move(f.World, h, (int(h.Home())+1)%f.Shards()))
			}
		}
		rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, k int) { all[i], all[k] = all[k], all[i] })
		position := world.Read[Position](f.World)
		gets[i] = func(from, to int) float64 {
			sum := 0.0
			for _, h := range all[from:to] {
				sum += position.At(f.Locate(h)).X
			}
			return sum
		}
	}
	var least [2][parts]time.Duration
	for round := range b.N {
		var sums [2]float64
		for part := range parts {
			for i, get := range gets {
				began := time.Now()
				sums[i] += get(part*n/parts, (part+1)*n/parts)
				if took := time.Since(began); round == 0 || took < least[i][part] {
					least[i][part] = took
				}
			}
		}
		require.Equal(b, [2]float64{n * (n - 1) / 2, n * (n - 1) / 2}, sums)
	}
	var all [2]float64
	for i := range least {
		for _, d := range least[i] {
			all[i] += float64(d.Nanoseconds()) / n
		}
	}
	b.ReportMetric(all[0], "ns/unmoved")
	b.ReportMetric(all[1], "ns/moved")
	b.ReportMetric(all[1]/all[0], "moved/unmoved")
}

// TestMoveAllocatesNothing moves as many forth as back, with messages, tick after
// tick.
func TestMoveAllocatesNothing(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	all, err := f.creature.AppendN(nil, f.World, 400, nil)
	require.NoError(t, err)
	p := f.port()
	system := f.build(func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			for i := c.Shard(); i < len(all); i += 4 {
				if world.Move(c, all[i], (i+int(c.Tick()))%4) != nil || f.hit.Send(c, all[i], Hit{}) != nil {
					t.Error("refused")
				}
			}
		}
	})
	tick := func() {
		for i := range 100 {
			if world.Move(f.World, all[i], (i+1)%4) != nil || world.Move(p, all[i], i%4) != nil || f.hit.Send(f.World, all[i], Hit{}) != nil {
				t.Error("refused")
			}
		}
		f.runTick(system)
	}
	for range 100 {
		tick()
	}
	require.Zero(t, testing.AllocsPerRun(50, tick))
}
