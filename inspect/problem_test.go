package inspect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// problem waits for a problem of a kind whose text is what, and returns it. It calls again, if it is not nil, each time
// that there is none.
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

// paused is a world that is paused, of which there is a sample already. What goes wrong after that is a problem.
func paused(t *testing.T, w world.Options, s scheduler.Options, system func(*world.Context)) *fixture {
	f := &fixture{t: t, w: world.MustNew(w)}
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
	f := newFixture(t)
	f.s.Pause()
	h, err := handle.Parse(f.one("Health.HP == 7"))
	require.NoError(t, err)
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	most := f.w.Options().QueueRequests
	require.Contains(t, f.problem("refused", "queues of ports were full", func() {
		for p.Waiting() < most {
			require.NoError(t, f.names.Bind(p, h, "anna"))
		}
		require.ErrorIs(t, f.names.Bind(p, h, "anna"), world.ErrFull)
	})["detail"], "more requests were not accepted")
	f.s.Resume()
	require.Contains(t, f.problem("refused", "requests met a limit of the world", nil)["detail"], "more")
}

// TestSlow makes ticks that take longer than their interval: Run gives some up, or its clock slips.
func TestSlow(t *testing.T) {
	for policy, what := range map[scheduler.Overrun]string{
		scheduler.Skip: "ticks were given up", scheduler.SlowClock: "the clock of the world slips",
	} {
		f := paused(t, world.Options{TickInterval: time.Millisecond}, scheduler.Options{Overrun: policy},
			func(*world.Context) { time.Sleep(5 * time.Millisecond) })
		f.s.Resume()
		require.NotEmpty(t, f.problem("slow", what, nil)["detail"])
	}
}

// TestRung has a budget that each tick exceeds, so that the scheduler goes up its ladder.
func TestRung(t *testing.T) {
	f := paused(t, world.Options{TickInterval: time.Millisecond},
		scheduler.Options{Budget: time.Nanosecond, Ladder: []scheduler.Rung{scheduler.SkipOptional()}}, idle)
	f.s.Resume()
	require.Equal(t, "it was 0", f.problem("rung", "rung 1 of the ladder", nil)["detail"])
}

// TestStuck has a system that does not return.
func TestStuck(t *testing.T) {
	block := make(chan struct{})
	f := paused(t, world.Options{Shards: 1}, scheduler.Options{}, func(*world.Context) { <-block })
	t.Cleanup(func() { close(block) })
	f.s.Resume()
	got := f.problem("stuck", "no tick ends", nil)
	require.Contains(t, got["detail"], "a system does not return")
	require.EqualValues(t, 0, got["tick"])
}
