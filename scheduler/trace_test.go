package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// traced makes ticks while a goroutine traces n of them.
func (f *fixture) traced(n int) []scheduler.Trace {
	f.t.Helper()
	type result struct {
		traces []scheduler.Trace
		err    error
	}
	got := make(chan result, 1)
	go func() {
		traces, err := f.Trace(f.t.Context(), n)
		got <- result{traces, err}
	}()
	for {
		select {
		case r := <-got:
			require.NoError(f.t, r.err)
			require.Len(f.t, r.traces, n)
			return r.traces
		default:
			f.step(1)
		}
	}
}

// fenced adds systems of which the last waits for all shards to pass the first, which takes long on
// shard 1.
func (f *fixture) fenced(long time.Duration) {
	f.mark()
	f.MustAdd("write", func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		return func(c *world.Context) {
			if c.Shard() == 1 {
				time.Sleep(long)
			}
		}
	})
	f.MustAdd("read", func(b *world.Build) func(*world.Context) {
		world.ReadForeign[Value](b)
		return func(*world.Context) { time.Sleep(long / 20) }
	}, scheduler.After("write"))
}

// TestTraceSpans looks at the spans of ticks in which one shard holds up the others, on 1, 2 and 5
// workers.
func TestTraceSpans(t *testing.T) {
	const long = 20 * time.Millisecond // longer than a busy machine keeps a worker waiting
	for _, workers := range []int{1, 2, 5} {
		f := newFixture(t, 5, workers)
		f.fenced(long)
		for _, x := range f.traced(3) {
			checkTrace(t, x, workers)
			var slow *scheduler.Span
			runs := map[string][]int{}
			for i := range x.Spans {
				s := &x.Spans[i]
				if s.Kind == scheduler.SpanSystem {
					runs[s.Name] = append(runs[s.Name], s.Shard)
					if s.Name == "write" && s.Shard == 1 {
						slow = s
					}
				}
				if s.Kind == scheduler.SpanWait {
					require.Equal(t, "write", s.Name)
					require.NotEqual(t, s.Shard, s.For)
				}
			}
			for _, shards := range runs {
				slices.Sort(shards)
				require.Equal(t, []int{0, 1, 2, 3, 4}, shards)
			}
			require.Len(t, runs, 2)
			require.GreaterOrEqual(t, slow.To-slow.From, long)
			require.True(t, slow.Critical)
			if workers == 5 {
				require.True(t, slices.ContainsFunc(x.Spans, func(s scheduler.Span) bool {
					return s.Kind == scheduler.SpanWait && s.For == 1 && s.To-s.From > long/4
				}), "somebody waited for shard 1: %v", x.Spans)
			}
		}
		var s scheduler.Stats
		f.Stats(&s)
		require.Equal(t, s.Ticks, s.Time.Count())
		require.GreaterOrEqual(t, s.Time.Quantile(0.5), long*7/8)
		write, read := s.Systems[0], s.Systems[1]
		require.Equal(t, write.Runs, write.Time.Count())
		require.LessOrEqual(t, f.on(write.Name)[1].P50, f.on(write.Name)[1].P99)
		require.GreaterOrEqual(t, f.on(write.Name)[1].P50, long*3/4)
		require.Zero(t, write.Waited, "nothing is before it")
		require.Zero(t, f.on(read.Name)[1].HeldUp)
		if workers == 5 {
			require.Greater(t, read.Waited, long/4)
			require.Greater(t, f.on(write.Name)[1].HeldUp, long/4)
		}
		sum := time.Duration(0)
		for _, x := range f.on(read.Name) {
			sum += x.Waited
		}
		require.InDelta(t, read.Waited, sum, 100, "each is rounded down")
	}
}

// TestParkedTakesNoTime has a worker wait for long before it runs a system: the wait is not the
// system's time.
func TestParkedTakesNoTime(t *testing.T) {
	const long = 10 * time.Millisecond
	f := newFixture(t, 3, 2)
	f.fenced(long)
	var s scheduler.Stats
	wrong := 0
	for range 20 {
		f.step(1)
		f.Stats(&s)
		last := time.Duration(0)
		for _, x := range f.on(s.Systems[1].Name) {
			last += x.Last
		}
		if last > long*3/4 {
			wrong++
		}
	}
	require.LessOrEqual(t, wrong, 15, "of 20 ticks; on a busy machine some take long")
}

// checkTrace checks what holds for each trace.
func checkTrace(t *testing.T, x scheduler.Trace, workers int) {
	t.Helper()
	require.Equal(t, workers, x.Workers)
	require.Positive(t, x.Duration)
	require.WithinDuration(t, time.Now(), x.Began, time.Minute)
	require.Equal(t, x.Duration > x.Budget, x.Overrun)
	ends := map[int]time.Duration{0: -x.Between}
	steps := 0
	for i, s := range x.Spans {
		require.LessOrEqual(t, s.From, s.To, "%v", s)
		require.LessOrEqual(t, s.To, x.Duration+time.Millisecond, "%v", s)
		if i > 0 {
			require.LessOrEqual(t, x.Spans[i-1].From, s.From, "ordered")
		}
		if s.Worker < 0 {
			require.Contains(t, []scheduler.SpanKind{scheduler.SpanWait, scheduler.SpanStep}, s.Kind)
			if s.Kind == scheduler.SpanStep {
				steps++
			}
			continue
		}
		require.Less(t, s.Worker, workers)
		require.LessOrEqual(t, ends[s.Worker], s.From+time.Microsecond, "a worker does one thing at a time: %v", s)
		ends[s.Worker] = s.To
	}
	require.Positive(t, steps, "there is a refresh in each tick")
	require.True(t, slices.ContainsFunc(x.Spans, func(s scheduler.Span) bool { return s.Critical }))
}

// TestTraceSteps traces refreshes with work for several workers.
func TestTraceSteps(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 4}, scheduler.Options{Workers: 3, Balancer: scheduler.Level(scheduler.LevelOptions{})})
	f.MustAdd("churn", func(b *world.Build) func(*world.Context) {
		b.Creates(f.movers)
		q := b.Query(world.With[Position](b))
		return func(c *world.Context) {
			for h := range q.Entities() {
				_ = c.Destroy(h)
			}
			require.NoError(t, f.movers.CreateN(c, 1000, nil))
		}
	})
	f.step(2) // nothing dies in the first tick
	for _, x := range f.traced(3) {
		checkTrace(t, x, 3)
		names := map[string]bool{}
		for _, s := range x.Spans {
			names[s.Name] = true
			if s.Name == "compact" && s.Worker >= 0 {
				require.Contains(t, []int{0, 1, 2, 3}, s.Shard)
			}
		}
		for _, name := range []string{"compact", "gather", "churn", "balancer"} {
			require.True(t, names[name], name)
		}
	}
	var s world.Stats
	f.w.Stats(&s)
	for _, x := range s.Steps {
		if x.Name == "compact" || x.Name == "gather" {
			require.Positive(t, x.Time.Count(), x.Name)
			require.Positive(t, x.Time.Sum(), x.Name)
		}
		if x.Name == "apply" {
			require.Zero(t, x.Time.Count(), "nothing was requested")
		}
	}
}

// TestOverruns keeps the last ticks that took too long.
func TestOverruns(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 2}, scheduler.Options{Workers: 2, Budget: 2 * time.Millisecond})
	f.MustAdd("sleep", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick()%2 == 1 && c.Shard() == 0 {
				time.Sleep(5 * time.Millisecond)
			}
		}
	})
	f.step(2)
	all, o, last := f.KeepOverruns(100), f.KeepOverruns(2), f.KeepOverruns(1)
	require.Empty(t, o.Traces())
	f.step(7) // ticks 2 to 8; on a busy machine others than 3, 5 and 7 may overrun, too
	ticks := func(o *scheduler.Overruns) (got []uint64) {
		for _, x := range o.Traces() {
			checkTrace(t, x, 2)
			require.True(t, x.Overrun)
			got = append(got, x.Tick)
		}
		return got
	}
	got := ticks(all)
	require.Subset(t, got, []uint64{3, 5, 7})
	require.IsIncreasing(t, got)
	require.Equal(t, got[len(got)-2:], ticks(o))
	require.Equal(t, got[len(got)-1:], ticks(last))
	o.Close()
	o.Close()
	require.Empty(t, o.Traces())
	f.step(2)
	require.Empty(t, o.Traces())
	require.GreaterOrEqual(t, ticks(last)[0], uint64(9), "another's Close does not end it")
	last.Close()
}

// TestOverrunsNone keeps nothing of ticks within their budget.
func TestOverrunsNone(t *testing.T) {
	f := newFixtureOf(t, world.Options{}, scheduler.Options{Workers: 2, Budget: time.Hour})
	o := f.KeepOverruns(10)
	f.step(20)
	require.Empty(t, o.Traces())
}

// TestTraceLarge traces a tick of more spans than a trace takes. The only worker did all of it, one
// after the other.
func TestTraceLarge(t *testing.T) {
	const shards, systems = 256, 70
	f := newFixture(t, shards, 1)
	for i := range systems {
		f.MustAdd(fmt.Sprint(i), func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if i == systems-1 && c.Shard() == shards-1 {
					time.Sleep(3 * time.Millisecond)
				}
			}
		})
	}
	x := f.traced(1)[0]
	require.Len(t, x.Spans, scheduler.TraceSpansMax)
	require.Greater(t, x.Omitted, shards*systems-scheduler.TraceSpansMax-1)
	checkTrace(t, x, 1)
	require.True(t, slices.ContainsFunc(x.Spans, func(s scheduler.Span) bool { return s.Name == "69" && s.Shard == shards-1 && s.Critical }))
}

// TestTraceEnds traces what does not come.
func TestTraceEnds(t *testing.T) {
	f := newFixture(t, 1, 1)
	for _, n := range []int{0, -1, scheduler.TraceTicksMax + 1} {
		_, err := f.Trace(t.Context(), n)
		require.ErrorContains(t, err, "want 1 to 1024")
		require.Panics(t, func() { f.KeepOverruns(n) })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	got, err := f.Trace(ctx, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, got)

	result := make(chan error, 1)
	go func() {
		got, err = f.Trace(context.Background(), 1000)
		result <- err
	}()
	f.step(10)
	f.w.Close()
	require.ErrorIs(t, <-result, world.ErrClosed)
	_, err = f.Trace(t.Context(), 1)
	require.True(t, errors.Is(err, world.ErrClosed))
}

// TestTraceMany traces from many goroutines, beside Overran, while ticks run.
func TestTraceMany(t *testing.T) {
	f := newFixture(t, 4, 2)
	f.fenced(0)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	for i := range 8 {
		go func() {
			defer func() { ended <- true }()
			for n := 1; ctx.Err() == nil; n = n%3 + 1 {
				if got, err := f.Trace(ctx, n); err == nil && len(got) != n {
					t.Errorf("%d traces of %d", len(got), n)
				}
				o := f.KeepOverruns(i + 1)
				o.Traces()
				o.Close()
			}
		}()
	}
	f.step(300)
	stop()
	for range 8 {
		<-ended
	}
	f.step(10)
	require.Zero(t, testing.AllocsPerRun(20, func() { f.step(1) }), "nothing is traced any more")
}
