package inspect_test

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// problem waits for a problem of a kind whose text is what, and returns it. It calls again, if it
// is not nil, each time that there is none.
func (f *fixture) problem(kind, what string, again func()) (found map[string]any) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		for _, p := range f.get(200, "/api/problems")["problems"].([]any) {
			if p := p.(map[string]any); p["kind"] == kind && p["what"] == what {
				found = p
				return true
			}
		}
		if again != nil {
			again()
		}
		return false
	}, 30*time.Second, 20*time.Millisecond, "no problem of kind %s: %s", kind, what)
	return found
}

// paused is a world that is paused, of which there is a sample already. What goes wrong after that
// is a problem.
func paused(t *testing.T, w world.Options, s scheduler.Options, system func(*world.Context)) *fixture {
	return pausedWorld(t, world.MustNew(w), s, system)
}

func pausedWorld(t *testing.T, w *world.World, s scheduler.Options, system func(*world.Context)) *fixture {
	f := &fixture{t: t, w: w}
	t.Cleanup(func() { f.w.Close() })
	world.Register[Score](f.w, "Score")
	f.s = scheduler.New(f.w, s).MustAdd("system", func(*world.Build) func(*world.Context) { return system })
	f.inspect(inspect.Options{})
	f.s.Pause()
	f.run()
	require.Eventually(t, func() bool { return f.do(request("GET", "/api/stats", "")).StatusCode == 200 }, 10*time.Second, time.Millisecond)
	return f
}

func idle(*world.Context) {}

// TestRefused sends more requests than a queue of a port holds, and gives a name that is taken.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.s.Pause()
		h, err := handle.Parse(f.one("Health.HP == 7"))
		require.NoError(t, err)
		p, err := f.w.OpenPort()
		require.NoError(t, err)
		most := f.w.Options().QueueRequests
		require.Contains(t, f.problem("refused", "requests were not accepted", func() {
			for p.Waiting() < most {
				require.NoError(t, f.names.Bind(p, h, "anna"))
			}
			require.ErrorIs(t, f.names.Bind(p, h, "anna"), world.ErrFull)
		})["detail"], "more: a queue of a port was full")
		f.s.Resume()
		require.Contains(t, f.problem("refused", "requests met a limit of the world", nil)["detail"], "more")
	})
}

// TestSlow makes ticks that take longer than their interval: Run gives some up, or its clock slips.
func TestSlow(t *testing.T) {
	for policy, what := range map[scheduler.OverrunPolicy]string{
		scheduler.Skip: "ticks were given up", scheduler.SlowClock: "the clock of the world slips",
	} {
		f := paused(t, world.Options{TickInterval: time.Millisecond}, scheduler.Options{Overrun: policy},
			func(*world.Context) { time.Sleep(5 * time.Millisecond) })
		f.s.Resume()
		require.NotEmpty(t, f.problem("slow", what, nil)["detail"])
	}
}

// TestRung has a budget that each tick exceeds, so that the scheduler goes up its ladder, and a
// pause that ends all rungs: each change is told once, however many there are between two samples.
func TestRung(t *testing.T) {
	w := world.MustNew(world.Options{TickInterval: time.Millisecond})
	chat := world.RegisterFunc(w, "chat", func(*world.EntityContext, int) {})
	f := pausedWorld(t, w, scheduler.Options{
		Budget: time.Nanosecond, Ladder: []scheduler.Rung{scheduler.SkipOptional(), scheduler.Refuse(chat), scheduler.Slow(2)},
	}, idle)
	f.s.Resume()
	f.problem("rung", "up to rung 3 of the ladder: Slow(2)", nil)
	f.s.Pause()
	f.problem("rung", "down to rung 0 of the ladder, without SkipOptional", nil)
	var got []any
	last := 0.0
	for _, p := range f.get(200, "/api/problems")["problems"].([]any) {
		if p := p.(map[string]any); p["kind"] == "rung" {
			got = append(got, p["what"])
			require.EqualValues(t, 1, p["times"])
			require.LessOrEqual(t, last, p["at_ms"])
			last = p["at_ms"].(float64)
		}
	}
	require.Equal(t, []any{
		"up to rung 1 of the ladder: SkipOptional", "up to rung 2 of the ladder: Refuse(chat)", "up to rung 3 of the ladder: Slow(2)",
		"down to rung 2 of the ladder, without Slow(2)", "down to rung 1 of the ladder, without Refuse(chat)", "down to rung 0 of the ladder, without SkipOptional",
	}, got)
}

// TestInForce goes up to a rung that slows the world down, and down again: all figures tell the
// interval and the budget that hold.
func TestInForce(t *testing.T) {
	const interval, budget = 2 * time.Millisecond, 400 * time.Microsecond
	var heavy atomic.Bool
	heavy.Store(true)
	f := paused(t, world.Options{Shards: 1, TickInterval: interval}, scheduler.Options{Budget: budget, Ladder: []scheduler.Rung{scheduler.Slow(4)}},
		func(*world.Context) {
			if heavy.Load() {
				time.Sleep(budget)
			}
		})
	mustBe := func(slow time.Duration) {
		t.Helper()
		require.Eventually(t, func() bool {
			ticks := f.get(200, "/api/stats")["ticks"].(map[string]any)
			return ticks["budget_ns"] == float64(slow*budget) && ticks["interval_ns"] == float64(slow*interval)
		}, 30*time.Second, 20*time.Millisecond)
		budgets := f.get(200, "/api/history?span=day")["budget_ns"].([]any)
		require.EqualValues(t, slow*budget, budgets[len(budgets)-1])
		require.Eventually(t, func() bool { // an answer is up to half a second old
			metrics, err := io.ReadAll(f.do(request("GET", "/metrics", "")).Body)
			return err == nil && strings.Contains(string(metrics), fmt.Sprintf("\natoll_tick_budget_seconds %v\n", (slow*budget).Seconds())) &&
				strings.Contains(string(metrics), fmt.Sprintf("\natoll_tick_interval_seconds %v\n", (slow*interval).Seconds()))
		}, 30*time.Second, 20*time.Millisecond)
		facts := f.get(200, "/api/world")
		require.NotContains(t, facts, "budget_ns", "it has what does not change")
		require.NotContains(t, facts, "interval_ns")
	}
	mustBe(1)
	f.s.Resume()
	mustBe(4)
	f.s.Pause()
	mustBe(1)
}

// TestStuck has a system that does not return.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		f := paused(t, world.Options{Shards: 1}, scheduler.Options{}, func(*world.Context) { <-block })
		t.Cleanup(func() { close(block) })
		f.s.Resume()
		got := f.problem("stuck", "no tick ends", nil)
		require.Contains(t, got["detail"], "a system does not return")
		require.EqualValues(t, 0, got["tick"])
	})
}
