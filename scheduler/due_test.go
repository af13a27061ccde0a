package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// ticks is a system that takes down the ticks in which it runs on each shard.
type ticks [][]uint64

func (r *ticks) system(b *world.Build) func(*world.Context) {
	if *r == nil {
		*r = make(ticks, b.Shards())
	}
	return func(c *world.Context) {
		at := max(0, c.Shard())
		(*r)[at] = append((*r)[at], c.Tick())
	}
}

// mustBe checks that it ran in these ticks on every shard.
func (r ticks) mustBe(t *testing.T, want ...uint64) {
	t.Helper()
	for shard := range r {
		require.Equal(t, append([]uint64{}, want...), append([]uint64{}, r[shard]...), "shard %d", shard)
	}
}

// TestEvery runs systems every few ticks, with their share of time.
func TestEvery(t *testing.T) {
	f := newFixture(t, 3, 2)
	var one, three, offset ticks
	f.MustAdd("one", one.system, scheduler.Every(1, 0))
	f.MustAdd("three", three.system, scheduler.Every(3, 0)).MustAdd("offset", offset.system, scheduler.Every(4, 2))
	second := f.w.Options().TickInterval.Seconds()
	f.MustAdd("delta", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Delta() != 3*second {
				panic(c.Delta())
			}
		}
	}, scheduler.Every(3, 1))
	f.step(8)
	one.mustBe(t, 0, 1, 2, 3, 4, 5, 6, 7)
	three.mustBe(t, 0, 3, 6)
	offset.mustBe(t, 2, 6)
}

// TestWhen asks conditions of the idle world, all of several, and takes a panic
// in one for one of the system.
func TestWhen(t *testing.T) {
	f := newFixture(t, 3, 2)
	f.mark()
	var odd, both, never ticks
	isOdd := func(w *world.World) bool { return w.Tick()%2 == 1 }
	f.MustAdd("odd", odd.system, scheduler.When(isOdd))
	f.MustAdd("both", both.system, scheduler.When(isOdd), scheduler.When(func(w *world.World) bool { return w.Count() == 3 && w.Tick() > 2 }))
	f.MustAdd("never", never.system, scheduler.When(func(w *world.World) bool {
		if w.Tick() == 4 {
			panic(errBroken)
		}
		return false
	}))
	f.step(4)
	err := f.Step(t.Context())
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, `system "never" panicked in tick 4`)
	require.NotContains(t, err.Error(), "shard")
	f.step(2)
	odd.mustBe(t, 1, 3, 5)
	both.mustBe(t, 3, 5)
	never.mustBe(t)
}

// TestEnable disables and enables by name, from a system too: it takes effect in
// the next tick, and those behind a fence do not wait for what is not run.
func TestEnable(t *testing.T) {
	f := newFixture(t, 4, 3)
	var writes, reads, late ticks
	f.MustAdd("writes", func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		run := writes.system(b)
		return func(c *world.Context) {
			if c.Tick() == 1 && c.Shard() == 2 {
				_ = f.Disable("writes")
			}
			run(c)
		}
	})
	f.MustAdd("reads", func(b *world.Build) func(*world.Context) {
		world.ReadForeign[Value](b)
		return reads.system(b)
	})
	f.MustAdd("late", late.system, scheduler.Disabled())
	f.step(3)
	require.False(t, f.Enabled("writes"))
	require.True(t, f.Enabled("reads"))
	require.False(t, f.Enabled("late"))
	require.False(t, f.Enabled("nobody"))
	require.NoError(t, f.Enable("writes"))
	require.NoError(t, f.Enable("late"))
	require.NoError(t, f.Disable("reads"))
	require.NoError(t, f.Disable("reads"))
	f.step(2)
	writes.mustBe(t, 0, 1, 3, 4)
	reads.mustBe(t, 0, 1, 2)
	late.mustBe(t, 3, 4)
	require.ErrorContains(t, f.Enable("nobody"), `there is no system "nobody"`)
	require.ErrorContains(t, f.Disable("nobody"), `there is no system "nobody"`)
}

// TestEnableFromAnywhere turns systems on and off from other goroutines while
// ticks are made.
func TestEnableFromAnywhere(t *testing.T) {
	f := newFixture(t, 4, 2)
	var toggled, always ticks
	f.MustAdd("toggled", toggled.system).MustAdd("always", always.system)
	done := make(chan struct{})
	for range 2 {
		go func() {
			for range 500 {
				_ = f.Disable("toggled")
				_ = f.Enabled("toggled")
				_ = f.Enable("toggled")
			}
			done <- struct{}{}
		}()
	}
	for left := 2; left > 0; {
		select {
		case <-done:
			left--
		default:
			f.step(1)
		}
	}
	for shard := range always {
		require.Len(t, always[shard], int(f.w.Tick()))
		require.Equal(t, toggled[0], toggled[shard], "a tick runs a system on all shards or on none")
	}
}

// TestSkippedGlobal disables global systems and merges with them: nobody waits for
// them.
func TestSkippedGlobal(t *testing.T) {
	type Sum struct{ N int }
	f := newFixture(t, 4, 2)
	sum := world.RegisterAccumulator(f.w, "sum", func(total, part *Sum) { total.N += part.N })
	var globals ticks
	f.MustAdd("add", func(b *world.Build) func(*world.Context) {
		mine := world.Accumulate[Sum](b)
		return func(*world.Context) { mine.N++ }
	})
	f.MustAdd("global", func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		globals = make(ticks, 1)
		return globals.system(b)
	}, scheduler.Global(), scheduler.Every(2, 1))
	f.MustAdd("read", func(b *world.Build) func(*world.Context) {
		r := world.ReadResource[Sum](b)
		return func(*world.Context) {
			if f.Enabled("add") != (r.Get().N == 4) {
				panic(fmt.Sprint("read ", r.Get().N))
			}
		}
	})
	f.step(4)
	globals.mustBe(t, 1, 3)
	require.Equal(t, 4, sum.Get().N)
	require.NoError(t, f.Disable("add"))
	f.step(1)
	require.Zero(t, sum.Get().N)
}
