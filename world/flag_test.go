package world_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

const (
	burning world.Flags = 1 << iota
	hidden
	last world.Flags = 1 << 7
)

// TestFlagsByFunction has a function flag its entity on an idle world, and panic.
func TestFlagsByFunction(t *testing.T) {
	f := newFixture(t, world.Options{})
	h := f.newUnit(1)
	ignite := func(self *world.EntityContext) { require.NoError(t, world.AddFlags(self, self.Handle(), burning)) }
	require.NoError(t, f.do(f.World, h, ignite))
	require.Equal(t, burning, world.FlagsOf(f.World, h), "at once")
	require.Panics(t, func() {
		_ = f.do(f.World, h, func(self *world.EntityContext) {
			require.NoError(t, world.RemoveFlags(self, h, burning))
			panic("too late")
		})
	})
	require.Zero(t, world.FlagsOf(f.World, h))
}

// flagged returns the entities that match, by the runs of a query, which must agree
// with its Count.
func (f *fixture) flagged(terms ...world.Term) (all []handle.Handle) {
	f.t.Helper()
	q := f.Query(terms...)
	for ch := range q.Chunks() {
		require.NotZero(f.t, ch.Len(), "no empty runs")
		all = append(all, ch.Handles()...)
	}
	require.Equal(f.t, len(all), q.Count())
	return all
}

func TestFlags(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	all := f.newUnits(200)
	for i, h := range all {
		require.Zero(t, world.FlagsOf(f.World, h))
		if i%3 == 0 {
			require.NoError(t, world.AddFlags(f.World, h, burning))
		}
		if i >= 150 {
			require.NoError(t, world.AddFlags(f.World, h, hidden|last))
		}
	}
	require.Equal(t, burning, world.FlagsOf(f.World, all[0]), "at once on an idle world")
	require.Equal(t, hidden|last, world.FlagsOf(f.World, all[151]))
	require.Equal(t, burning|hidden|last, world.FlagsOf(f.World, all[150]))
	require.Len(t, f.flagged(world.WithFlags(f.World, burning)), 67)
	require.Len(t, f.flagged(world.WithFlags(f.World, burning|last)), 17)
	require.Len(t, f.flagged(world.WithFlags(f.World, burning), world.WithoutFlags(f.World, last)), 50)
	require.Equal(t, all[150:], f.flagged(world.WithFlags(f.World, last), world.Read[Health](f.World)))
	require.Len(t, f.flagged(world.WithoutFlags(f.World, burning|hidden)), 100)
	require.Empty(t, f.flagged(world.WithFlags(f.World, 1<<4)))
	require.Len(t, f.flagged(world.WithoutFlags(f.World, 1<<4)), 200)

	require.NoError(t, world.RemoveFlags(f.World, all[150], burning|1<<5))
	require.Equal(t, hidden|last, world.FlagsOf(f.World, all[150]))
	copied, err := world.Copy(f.World, all[150])
	require.NoError(t, err)
	require.Zero(t, world.FlagsOf(f.World, copied), "a copy has none")

	require.Equal(t, 66, f.Query(world.WithFlags(f.World, burning)).Destroy())
	f.Refresh()
	require.Zero(t, world.FlagsOf(f.World, all[3]), "it is dead")
	require.Equal(t, []world.Flags{hidden | last}, uniqueFlags(f, f.flagged(world.WithFlags(f.World, hidden))))
	require.ErrorIs(t, world.AddFlags(f.World, all[3], burning), world.ErrStale)
	for range 100 {
		h := f.newUnit(1) // in the slots of the dead
		require.Zero(t, world.FlagsOf(f.World, h))
	}
	require.Len(t, f.flagged(world.WithoutFlags(f.World, 0xff)), 100+1+100)
}

func uniqueFlags(f *fixture, all []handle.Handle) (found []world.Flags) {
	seen := map[world.Flags]bool{}
	for _, h := range all {
		if x := world.FlagsOf(f.World, h); !seen[x] {
			seen[x] = true
			found = append(found, x)
		}
	}
	return found
}

// TestFlagsFromEverywhere sets them by whoever can, and sees when others know.
func TestFlagsFromEverywhere(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	own, foreign := f.newUnit(0), f.newUnit(1)
	p := f.port()
	require.NoError(t, world.AddFlags(p, own, hidden))
	late, err := f.unit.Create(p, Unit{})
	require.NoError(t, err)
	var done, gone world.Completion
	require.NoError(t, world.AddFlags(p.Notify(&done), late, last), "before it is alive")
	require.Zero(t, world.FlagsOf(p, own))
	f.tick(on(0, func(b *world.Build) func(*world.Context) {
		burns := b.Query(world.WithFlags(b, burning))
		return func(c *world.Context) {
			require.Zero(t, burns.Count())
			require.NoError(t, world.AddFlags(c, own, burning))
			require.NoError(t, world.AddFlags(c, foreign, burning))
			require.ErrorIs(t, world.AddFlags(c, handle.New(0, 1000, 9), burning), world.ErrStale)
			require.Equal(t, burning, world.FlagsOf(c, own), "its own at once")
			require.Equal(t, 1, burns.Count())
			require.Zero(t, world.FlagsOf(c, foreign))
			require.Zero(t, world.FlagsOf(p, own), "nobody else knows")
		}
	}))
	require.Equal(t, burning|hidden, world.FlagsOf(f.World, own))
	require.Equal(t, burning, world.FlagsOf(p, foreign))
	require.Equal(t, last, world.FlagsOf(f.World, late))
	require.Equal(t, world.Applied, done.Outcome())

	f.Destroy(foreign)
	require.NoError(t, world.RemoveFlags(p.Notify(&gone), foreign, burning))
	require.NoError(t, world.RemoveFlags(p, own, burning))
	f.Refresh()
	require.Equal(t, world.Gone, gone.Outcome())
	require.Equal(t, hidden, world.FlagsOf(p, own))
	require.Zero(t, world.FlagsOf(p, foreign))

	// A global system has all shards at once.
	b := (*world.Build)(engine.Of(f.World).NewBuild(world.AllShards, "all"))
	q := b.Query(world.WithFlags(b, hidden))
	access := (*engine.Build)(b).Finish()
	tick := engine.Of(f.World).BeginTick()
	c := (*world.Context)(engine.Of(f.World).Context(world.AllShards))
	(*engine.Context)(c).Acting().Start("all", access)
	require.Equal(t, 1, q.Count())
	require.NoError(t, world.RemoveFlags(c, own, hidden))
	require.Zero(t, q.Count())
	(*engine.Context)(c).Acting().Stop()
	require.Equal(t, hidden, world.FlagsOf(f.World, own))
	tick.End(serial)
	require.Zero(t, world.FlagsOf(f.World, own))
}

// TestFlagsFollow does everything that moves rows, at random, and holds all flags
// against a map.
func TestFlagsFollow(t *testing.T) {
	for _, o := range []world.Options{{Shards: 3}, {Shards: 2, KeepOrder: true}, {Shards: 2, ChunkRowsMax: 8}} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			f := newFixture(t, o)
			r := newRand(t, 11)
			p := f.port()
			want := map[handle.Handle]world.Flags{}
			var known []handle.Handle
			some := func() handle.Handle { return known[r.IntN(len(known))] }
			for range iterations(3000) {
				x := world.Flags(1) << r.IntN(8)
				switch n := r.IntN(19); {
				case n < 6 || len(known) == 0:
					h := f.newUnit(1)
					known, want[h] = append(known, h), 0
				case n < 9:
					if h := some(); world.AddFlags(f.World, h, x) == nil {
						want[h] |= x
					}
				case n == 9:
					if h := some(); world.RemoveFlags(f.World, h, x) == nil {
						want[h] &^= x
					}
				case n == 10:
					h := some()
					require.NoError(t, world.AddFlags(p, h, x))
					f.Refresh()
					if f.Alive(h) {
						want[h] |= x
					}
				case n == 11:
					_ = f.name.Add(f.World, some(), Name{"x"})
				case n == 12:
					_ = f.name.Remove(f.World, some())
				case n == 13:
					require.NoError(t, world.Move(p, some(), r.IntN(o.Shards)))
				case n == 14:
					_ = world.Move(f.World, some(), r.IntN(o.Shards))
				case n == 15 && r.IntN(4) == 0:
					require.NoError(t, f.frozen.AddTo(f.Query(world.WithFlags(f.World, x)), nil))
					require.NoError(t, f.Query(world.With[Frozen](f.World)).Limit(3).Remove(f.name))
				case n == 16 && r.IntN(4) == 0:
					require.NoError(t, f.Query().Remove(f.frozen))
				case n == 17:
					f.Destroy(some())
					f.Destroy(some())
				case n == 18:
					f.Refresh()
				}
			}
			f.Refresh()
			alive := 0
			for h, flags := range want {
				if !f.Alive(h) {
					require.Zero(t, world.FlagsOf(f.World, h))
					continue
				}
				alive++
				require.Equal(t, flags, world.FlagsOf(f.World, h), h)
			}
			require.Equal(t, alive, f.Count())
			for i := range 8 {
				x := world.Flags(1) << i
				with, without := f.flagged(world.WithFlags(f.World, x)), f.flagged(world.WithoutFlags(f.World, x))
				require.Equal(t, alive, len(with)+len(without))
				for _, h := range with {
					require.NotZero(t, want[h]&x)
				}
				for _, h := range without {
					require.Zero(t, want[h]&x)
				}
			}
		})
	}
}

// TestFlagsAreReadAnytime reads them from other goroutines while entities come, get all
// flags, and go: whoever finds flags finds those of that entity, never of a tenant of
// the same slot.
func TestFlagsAreReadAnytime(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	var current atomic.Uint64
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !stop.Load() {
				h := handle.Handle(current.Load())
				// An entity of even version gets one flag, of odd version another.
				switch got := world.FlagsOf(f.World, h); {
				case got != 0 && got != flagOf(h):
					t.Errorf("%v has flags %b", h, got)
					return
				}
				runtime.Gosched()
			}
		})
	}
	for range iterations(3000) {
		h := f.newUnit(1)
		current.Store(uint64(h))
		require.NoError(t, world.AddFlags(f.World, h, flagOf(h)))
		f.Destroy(h)
		f.Refresh()
	}
	stop.Store(true)
	readers.Wait()
}

func flagOf(h handle.Handle) world.Flags { return 1 << (h.Version() % 8) }

func TestFlagsMisuse(t *testing.T) {
	f, other := newFixture(t, world.Options{}), newFixture(t, world.Options{})
	h := f.newUnit(1)
	for name, test := range map[string]struct {
		run  func()
		says []string
	}{
		"holder":       {func() { _ = world.AddFlags(nil, h, burning) }, []string{"AddFlags by a nil Actor", "pass a *World"}},
		"asker":        {func() { world.WithFlags(nil, burning) }, []string{"world.WithFlags is asked of nil"}},
		"no flags":     {func() { world.WithoutFlags(f.World, 0) }, []string{"world.WithoutFlags of no flags", "name one or more"}},
		"twice":        {func() { f.Query(world.WithFlags(f.World, 3), world.WithoutFlags(f.World, 6)) }, []string{"flags 0b10 are named twice", "name each once"}},
		"other world":  {func() { f.Query(world.WithFlags(other.World, burning)) }, []string{"the term of flags 0b1 was asked of another world"}},
		"optional":     {func() { world.Optional(world.WithFlags(f.World, burning)) }, []string{"Optional takes a Reader or a Writer"}},
		"any of":       {func() { world.AnyOf(world.WithFlags(f.World, burning)) }, []string{"AnyOf takes one or more"}},
		"running tick": {func() { defer engine.Of(f.World).BeginTick().End(serial); _ = world.AddFlags(f.World, h, burning) }, []string{"world.AddFlags while a tick runs"}},
	} {
		t.Run(name, func(t *testing.T) { mustPanic(t, test.says, test.run) })
	}
	require.Zero(t, world.FlagsOf(f.World, handle.None))
	require.NoError(t, world.AddFlags(f.World, h, burning))
	require.Zero(t, world.FlagsOf(f.World, handle.None))
	require.Zero(t, world.FlagsOf(f.World, handle.New(3, 77, 1)))
	require.Zero(t, world.FlagsOf(f.World, ^handle.None))
	f.Close()
	require.Zero(t, world.FlagsOf(f.World, h))
	require.ErrorIs(t, world.AddFlags(f.World, h, burning), world.ErrClosed)
}

// TestFlagsAllocateNothing counts, in steady state.
func TestFlagsAllocateNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build allocates")
	}
	f := newFixture(t, world.Options{})
	all := f.newUnits(100)
	p := f.port()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, h := range all {
			_ = world.AddFlags(f.World, h, burning)
			_ = world.RemoveFlags(p, h, burning)
		}
		f.Refresh()
	}))
}

func BenchmarkFlags(b *testing.B) {
	f := newFixture(b, world.Options{})
	all := f.newUnits(1000)
	n := 0
	b.Run("alive", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if f.Alive(all[i%1000]) {
				n++
			}
		}
	})
	b.Run("read, none ever set", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			n += int(world.FlagsOf(f.World, all[i%1000]))
		}
	})
	for _, h := range all {
		_ = world.AddFlags(f.World, h, burning)
	}
	b.Run("read", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			n += int(world.FlagsOf(f.World, all[i%1000]))
		}
	})
	b.Run("set and clear", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_ = world.AddFlags(f.World, all[i%1000], burning)
			_ = world.RemoveFlags(f.World, all[i%1000], burning)
		}
	})
	b.Run("set and clear by a port", func(b *testing.B) {
		p := f.port()
		for b.Loop() {
			for _, h := range all {
				_ = world.AddFlags(p, h, burning)
				_ = world.RemoveFlags(p, h, burning)
			}
			f.Refresh()
		}
	})
	for i, h := range all {
		if i%2 > 0 {
			_ = world.RemoveFlags(f.World, h, burning)
			continue
		}
		_ = world.AddFlags(f.World, h, burning)
	}
	second := f.Query(world.WithFlags(f.World, burning))
	b.Run("query 500 of 1000", func(b *testing.B) {
		for b.Loop() {
			for ch := range second.Chunks() {
				n += ch.Len()
			}
		}
	})
	for i, h := range all {
		if i%100 > 0 {
			_ = world.RemoveFlags(f.World, h, burning)
		}
	}
	q := f.Query(world.WithFlags(f.World, burning))
	b.Run("query 10 of 1000", func(b *testing.B) {
		for b.Loop() {
			for ch := range q.Chunks() {
				n += ch.Len()
			}
		}
	})
	require.Positive(b, n)
}
