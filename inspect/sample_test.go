package inspect_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestStats looks at a sample of a world that runs.
func TestStats(t *testing.T) {
	f := newFixture(t)
	require.Eventually(t, func() bool { return f.w.Tick() > 1 }, 10*time.Second, time.Millisecond)
	var got map[string]any
	require.Eventually(t, func() bool { // until a sample is of a tick: on a busy machine the first one serves for longer
		f.t = t
		got = f.get(200, "/api/stats")
		return len(got["systems"].([]any)) > 0
	}, 10*time.Second, 50*time.Millisecond)
	require.EqualValues(t, 115, got["entities"])
	require.Equal(t, true, got["running"])
	require.Equal(t, false, got["paused"])
	require.Less(t, got["age_ms"], 5000.0)
	require.Len(t, got["shards"], 3)
	require.Equal(t, "Position, Velocity, Health, Label", join(got["sets"].([]any)[0].(map[string]any)["components"]))
	require.Nil(t, got["systems"].([]any)[0].(map[string]any)["shards"])
	require.Eventually(t, func() bool {
		f.t = t
		got = f.get(200, "/api/stats")
		move := got["systems"].([]any)[0].(map[string]any)
		ticks := got["ticks"].(map[string]any)
		return move["name"] == "move" && move["share"] == 1.0 && move["p50_ns"].(float64) > 0 && ticks["p50_ns"].(float64) > 0 &&
			move["stage"] == "Update" && got["shards"].([]any)[0].(map[string]any)["busy_ns"].(float64) > 0 && got["tick"].(float64) > 100
	}, 10*time.Second, 100*time.Millisecond)
	for _, s := range got["steps"].([]any) {
		require.NotEmpty(t, s.(map[string]any)["name"])
	}
	others := map[string]bool{}
	for _, o := range got["others"].([]any) {
		others[o.(map[string]any)["name"].(string)] = true
	}
	require.NotEmpty(t, others)
	metrics := f.do(request("GET", "/metrics", ""))
	require.Equal(t, 200, metrics.StatusCode)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", metrics.Header.Get("Content-Type"))
	text, err := io.ReadAll(metrics.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), "\natoll_")
	plan := f.get(200, "/api/plan")
	require.Equal(t, "move", plan["systems"].([]any)[0].(map[string]any)["name"])
	require.Equal(t, []any{}, plan["fences"])
	about := f.get(200, "/api/world")
	require.Equal(t, "test", about["name"])
	require.Equal(t, true, about["controls"])
	require.Len(t, about["components"], 8)
	bag := about["components"].([]any)[5].(map[string]any)
	require.Equal(t, false, bag["framed"])
	require.Contains(t, bag["why_not"], "is a map")
	require.Equal(t, []any{map[string]any{"path": "", "type": "inspect_test.Score", "numeric": true}}, about["components"].([]any)[7].(map[string]any)["fields"])
}

func join(v any) (text string) {
	for i, s := range v.([]any) {
		if i > 0 {
			text += ", "
		}
		text += s.(string)
	}
	return text
}

// TestWaited tells what a system waits at its fence in a tick, and which shard for which, not since
// the start.
func TestWaited(t *testing.T) {
	f := newWorld(t, 2, 2)
	f.s.MustAdd("late", func(b *world.Build) func(*world.Context) {
		world.Write[Health](b)
		return func(c *world.Context) {
			if c.Shard() == 0 {
				time.Sleep(2 * time.Millisecond)
			}
		}
	})
	f.s.MustAdd("look", func(b *world.Build) func(*world.Context) {
		world.ReadForeign[Health](b)
		return func(*world.Context) {}
	})
	f.inspect(inspect.Options{}).run()
	require.Eventually(t, func() bool { return f.w.Tick() > 200 }, 20*time.Second, 10*time.Millisecond)
	got := f.get(200, "/api/stats")
	first := got["waits"].([]any)[0].(map[string]any) // the longest wait
	require.EqualValues(t, 1, first["shard"])
	require.EqualValues(t, 0, first["for"])
	require.Greater(t, first["waited_ns"], 0.5e6)
	require.Less(t, first["waited_ns"], 100e6)
	for _, s := range got["systems"].([]any) {
		if s := s.(map[string]any); s["name"] == "look" {
			require.Greater(t, s["waited_ns"], 0.5e6)
			require.Less(t, s["waited_ns"], 100e6)
			return
		}
	}
	t.Fatal("no such system")
}

// TestHistory looks at the points of each span.
func TestHistory(t *testing.T) {
	f := newFixture(t)
	require.Eventually(t, func() bool { return len(f.get(200, "/api/history?span=minute")["t_ms"].([]any)) >= 3 }, 10*time.Second, 100*time.Millisecond)
	for span, step := range map[string]float64{"minute": 1000, "hour": 10000, "day": 240000} {
		got := f.get(200, "/api/history?span="+span)
		require.Equal(t, span, got["span"])
		require.Equal(t, step, got["step_ms"])
		n := len(got["t_ms"].([]any))
		for _, name := range []string{"p50_ns", "p99_ns", "max_ns", "entities", "overruns", "waiting", "bytes_used", "created", "destroyed"} {
			require.Len(t, got[name], n, name)
		}
		require.EqualValues(t, 115, got["entities"].([]any)[n-1])
		if span == "hour" {
			require.Greater(t, got["p50_ns"].([]any)[n-1], 0.0)
		}
	}
}

// TestProblems makes problems and looks for them.
func TestProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 2, 1)
		f.s = scheduler.New(f.w, scheduler.Options{Workers: 1, IfPanics: scheduler.DisableSystem, Budget: time.Millisecond})
		f.s.MustAdd("late", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				switch c.Tick() {
				case 400:
					panic("at 400")
				case 410, 411:
					time.Sleep(2 * time.Millisecond)
				}
			}
		}, scheduler.IfPanics(scheduler.DisableOnShard))
		f.inspect(inspect.Options{}).run()
		kinds := func() map[string]map[string]any {
			all := map[string]map[string]any{}
			for _, p := range f.get(200, "/api/problems")["problems"].([]any) {
				all[p.(map[string]any)["kind"].(string)] = p.(map[string]any)
			}
			return all
		}
		require.Eventually(t, func() bool { return kinds()["panic"] != nil }, 20*time.Second, 50*time.Millisecond)
		require.Equal(t, "system late", kinds()["panic"]["what"])
	})
}

// TestOverrunBetween finds the recording of a tick for which a function of Between left too little
// time.
func TestOverrunBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = time.Second
		f := newWorld(t, 2, 1)
		f.inspect(inspect.Options{Token: token}).run()
		require.NoError(t, <-f.s.Between(func(*world.World) { time.Sleep(slow) }))
		var found map[string]any
		require.Eventually(t, func() bool {
			for _, p := range f.get(200, "/api/problems")["problems"].([]any) {
				if p := p.(map[string]any); p["kind"] == "overrun" && strings.Contains(p["detail"].(string), "of it in OnTick, functions of Between or captures") {
					found = p
					return true
				}
			}
			return false
		}, 20*time.Second, 50*time.Millisecond)
		ticks := f.get(200, "/api/recordings/"+found["recording"].(string))["ticks"].([]any)
		tick := ticks[0].(map[string]any)
		require.GreaterOrEqual(t, tick["between_ns"], float64(slow))
		require.GreaterOrEqual(t, tick["duration_ns"], tick["between_ns"])
		require.GreaterOrEqual(t, tick["critical_ns"], float64(slow))
		span := tick["spans"].([]any)[0].(map[string]any)
		require.Equal(t, "between", span["kind"])
		require.Equal(t, "functions of Between", span["name"])
		require.LessOrEqual(t, span["from_ns"], -float64(slow))
		require.Eventually(t, func() bool {
			between := f.get(200, "/api/stats")["ticks"].(map[string]any)["between"].(map[string]any)
			return between["max_ns"].(float64) >= float64(slow)
		}, 20*time.Second, 50*time.Millisecond)
	})
}

// TestOverrun finds the recording of a tick that took too long.
func TestOverrun(t *testing.T) {
	f := newWorld(t, 2, 1)
	f.s.MustAdd("late", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick()%100 == 99 && c.Shard() == 0 {
				time.Sleep(20 * time.Millisecond)
			}
		}
	})
	f.inspect(inspect.Options{Token: token}).run()
	var id string
	require.Eventually(t, func() bool {
		for _, p := range f.get(200, "/api/problems")["problems"].([]any) {
			if p := p.(map[string]any); p["kind"] == "overrun" {
				id = p["recording"].(string)
				return true
			}
		}
		return false
	}, 20*time.Second, 50*time.Millisecond)
	ticks := f.get(200, "/api/recordings/"+id)["ticks"].([]any)
	require.Len(t, ticks, 1)
	require.Equal(t, true, ticks[0].(map[string]any)["overrun"])
	require.Positive(t, ticks[0].(map[string]any)["critical_ns"])
	kept := f.get(200, "/api/recordings")["recordings"].([]any)[0].(map[string]any)
	require.Equal(t, "overrun", kept["why"])
	require.Greater(t, kept["max_ns"], float64(f.s.Options().Budget), "on a busy machine also another tick than the late one")

	got := f.post(200, "/api/record", `{"ticks":20,"go":true}`)
	f.post(409, "/api/record", `{"ticks":20}`)
	id = got["id"].(string)
	f.get(409, "/api/recordings/"+id)
	require.Eventually(t, func() bool {
		all := f.get(200, "/api/recordings")["recordings"].([]any)
		last := all[len(all)-1].(map[string]any)
		require.Equal(t, id, last["id"])
		return last["done"] == true && last["bytes"].(float64) > 0 && last["ticks"] == 20.0
	}, 10*time.Second, 20*time.Millisecond)
	require.Len(t, f.get(200, "/api/recordings/"+id)["ticks"], 20)
	events := f.get(200, "/api/recordings/"+id+"?format=perfetto")["traceEvents"].([]any)
	names := map[string]bool{}
	for _, e := range events {
		names[e.(map[string]any)["name"].(string)] = true
	}
	require.True(t, names["late"] && names["move"] && names["thread_name"], "%v", names)
	trace := f.do(request("GET", "/api/recordings/"+id+"?format=go", ""))
	require.Equal(t, http.StatusOK, trace.StatusCode)
	require.Equal(t, `attachment; filename="atoll-`+id+`.trace"`, trace.Header.Get("Content-Disposition"))
	f.get(400, "/api/recordings/"+id+"?format=pdf")
	f.get(404, "/api/recordings/r77")
	id = f.post(200, "/api/record", `{"ticks":1}`)["id"].(string)
	require.Eventually(t, func() bool { return f.do(request("GET", "/api/recordings/"+id, "")).StatusCode == 200 }, 10*time.Second, time.Millisecond)
	f.get(404, "/api/recordings/"+id+"?format=go")
	f.post(400, "/api/record", `{"ticks":0}`)
	f.post(400, "/api/record", `{"ticks":1000000}`)
	require.NoError(t, f.x.Close())
}

// TestGoTraces finds the trace of the Go runtime with the recording of a tick that took too long.
func TestGoTraces(t *testing.T) {
	f := newWorld(t, 2, 1)
	f.s.MustAdd("late", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() == 99 && c.Shard() == 0 {
				time.Sleep(50 * time.Millisecond)
			}
		}
	})
	f.inspect(inspect.Options{GoTraces: true}).run()
	_, err := inspect.New(f.s, inspect.Options{GoTraces: true})
	require.ErrorContains(t, err, "GoTraces")
	var id string
	require.Eventually(t, func() bool {
		for _, r := range f.get(200, "/api/recordings")["recordings"].([]any) {
			if r := r.(map[string]any); r["go"] == true {
				id = r["id"].(string)
			}
		}
		return id != ""
	}, 20*time.Second, 50*time.Millisecond)
	answer := f.do(request(http.MethodGet, "/api/recordings/"+id+"?format=go", ""))
	require.Equal(t, 200, answer.StatusCode)
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Contains(t, string(data), "system late")
	require.NoError(t, f.x.Close())
	x, err := inspect.New(f.s, inspect.Options{GoTraces: true})
	require.NoError(t, err, "the first is closed")
	require.NoError(t, x.Close())
}

// TestTicks traces ticks while somebody asks.
func TestTicks(t *testing.T) {
	f := newFixture(t)
	require.Empty(t, f.get(200, "/api/ticks")["ticks"])
	var all []any
	require.Eventually(t, func() bool {
		all = f.get(200, "/api/ticks")["ticks"].([]any)
		return len(all) == 3
	}, 10*time.Second, 10*time.Millisecond)
	first := all[0].(map[string]any)
	require.NotEmpty(t, first["spans"])
	after := f.get(200, "/api/ticks?after="+jsonOf(first["tick"]))["ticks"].([]any)
	require.NotEqual(t, first["tick"], after[0].(map[string]any)["tick"])
	f.get(400, "/api/ticks?after=x")
}

// TestNobodyRuns asks about a world of which nobody makes ticks, and one that is stepped by hand.
func TestNobodyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 1, 1).inspect(inspect.Options{Token: token})
		require.Contains(t, f.get(503, "/api/stats")["error"], "no tick has ended")
		began := time.Now()
		require.Contains(t, f.get(503, "/api/query?q=Position")["error"], "no tick has ended")
		require.Less(t, time.Since(began), 5*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			for ctx.Err() == nil {
				_ = f.s.Step(context.Background())
				time.Sleep(time.Millisecond)
			}
			done <- nil
		}()
		got := f.get(200, "/api/stats")
		require.Equal(t, false, got["running"])
		require.EqualValues(t, 0, f.get(200, "/api/query?q=Position")["count"])
		cancel()
		<-done
		time.Sleep(600 * time.Millisecond)
		require.Greater(t, f.get(200, "/api/stats")["age_ms"], 500.0, "the last one")
	})
}

// TestStuckUnseen asks about a world that stopped before anybody looked: the last sample is there,
// and streams have it.
func TestStuckUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 1, 1).inspect(inspect.Options{})
		for range 100 {
			require.NoError(t, f.s.Step(t.Context()))
			time.Sleep(3 * time.Millisecond)
		}
		require.EqualValues(t, 0, f.get(200, "/api/stats")["entities"])
		for _, target := range []string{"/api/events", "/api/events?shards=1"} {
			n := 0
			f.stream(target, func(event, data string) bool {
				require.Equal(t, "stats", event)
				require.Contains(t, data, `"age_ms":`)
				n++
				return n < 2
			})
			require.Equal(t, 2, n)
		}
	})
}

// TestClosed asks when the Inspector, or its world, is closed.
func TestClosed(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.x.Close())
	require.NoError(t, f.x.Close())
	require.Contains(t, f.get(503, "/api/stats")["error"], "closed")
	require.Contains(t, f.post(503, "/api/pause", "{}")["error"], "closed")
	f.get(200, "/api/problems")
	f.get(200, "/api/history?span=minute")
	f.get(200, "/api/recordings")

	g := newWorld(t, 1, 1).inspect(inspect.Options{})
	g.w.Close()
	require.Contains(t, g.get(503, "/api/query?q=Position")["error"], "closed")
	require.Eventually(t, func() bool { return g.do(request("GET", "/api/world", "")).StatusCode == 503 }, 5*time.Second, time.Millisecond)
}
