package inspect_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestStatsShared has a hundred readers ask at once while there is no sample: they share one, so
// that one look at the world answers all of them.
func TestStatsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 1, 1).inspect(inspect.Options{})
		const n = 100
		answers := make(chan int, n)
		for range n {
			go func() { answers <- f.do(request("GET", "/api/stats", "")).StatusCode }()
		}
		synctest.Wait()
		require.Empty(t, answers)
		require.NoError(t, f.s.Step(t.Context()))
		synctest.Wait()
		require.Len(t, answers, n)
		for range n {
			require.Equal(t, 200, <-answers)
		}
	})
}

// crew makes some units, which have their numbers as HP.
func (f *fixture) crew(n int) (all []string) {
	f.t.Helper()
	units, err := f.units.AppendN(nil, f.w, n, func(i int, u *Unit) { u.HP = i })
	require.NoError(f.t, err)
	f.w.Refresh()
	for _, h := range units {
		all = append(all, h.String())
	}
	return all
}

// at returns the member of an answer that a path of names and places leads to, the last place being
// -1.
func at(path ...any) func(map[string]any) any {
	return func(answer map[string]any) any {
		var v any = answer
		for _, p := range path {
			switch p := p.(type) {
			case string:
				v = v.(map[string]any)[p]
			case int:
				all := v.([]any)
				if len(all) == 0 {
					return nil
				}
				v = all[(p+len(all))%len(all)]
			}
		}
		return v
	}
}

// figure returns the value of a metric.
func (f *fixture) figure(name string) float64 {
	f.t.Helper()
	answer := f.do(request("GET", "/metrics", ""))
	require.Equal(f.t, 200, answer.StatusCode)
	text, err := io.ReadAll(answer.Body)
	require.NoError(f.t, err)
	_, rest, ok := strings.Cut(string(text), "\n"+name+" ")
	require.True(f.t, ok, "%s in %s", name, text)
	value, _, _ := strings.Cut(rest, "\n")
	v, err := strconv.ParseFloat(value, 64)
	require.NoError(f.t, err)
	return v
}

// TestSeesChanges reads something, makes a change, and reads the same again at once: the answer has
// the change.
func TestSeesChanges(t *testing.T) {
	const rich = "Health.HP == 1000"
	richMap := mapPath + "&where=" + url.QueryEscape(rich)
	sights := map[string]struct {
		target string
		of     func(map[string]any) any
	}{
		"HP":         {"/api/entity?handle=0:0@1", at("components", 2, "value", "HP")},
		"status":     {"/api/entity?handle=0:1@1", at("status")},
		"tick":       {"/api/entity?handle=0:2@1", at("tick")},
		"rich":       {queryOf(rich), at("count")},
		"all":        {queryOf("Position"), at("count")},
		"query tick": {queryOf("Position"), at("tick")},
		"rich map":   {richMap, at("shown")},
		"map":        {mapPath, at("shown")},
		"map tick":   {mapPath, at("tick")},
		"entities":   {"/api/stats", at("entities")},
		"set":        {"/api/stats", at("sets", 0, "entities")},
		"waiting":    {"/api/stats", at("waiting")},
		"paused":     {"/api/stats", at("paused")},
		"stats tick": {"/api/stats", at("tick")},
		"enabled":    {"/api/stats", at("systems", 0, "enabled")},
		"planned":    {"/api/plan", at("systems", 0, "enabled")},
		"history":    {"/api/history?span=minute", at("entities", -1)},

		"atoll_entities": {}, "atoll_paused": {}, "atoll_tick": {}, "atoll_system_enabled": {},
	}
	labels := map[string]string{"atoll_entities": `{shard="0"}`, "atoll_system_enabled": `{system="move"}`}
	type seen map[string]any
	look := func(t *testing.T, name string) {
		f := newWorld(t, 1, 1)
		require.Equal(t, []string{"0:0@1", "0:1@1", "0:2@1"}, f.crew(3))
		f.inspect(inspect.Options{Token: token}).run()
		time.Sleep(time.Second) // there are systems from the first tick on
		see := func() any {
			if x := sights[name]; x.of != nil {
				return x.of(f.get(200, x.target))
			}
			return f.figure(name + labels[name])
		}
		checked := false
		change := func(status int, target, body string, want seen) {
			see()
			f.post(status, target, body)
			if v, ok := want[name]; ok {
				require.EqualValues(t, v, see(), target)
				checked = true
			}
		}
		change(200, "/api/entity/set", `{"handle":"0:0@1","component":"Health","path":"HP","value":1000}`, seen{"HP": 1000, "rich": 1, "rich map": 1})
		change(200, "/api/entity/destroy", `{"handle":"0:1@1"}`, seen{
			"status": "stale", "all": 2, "map": 2, "entities": 2, "set": 2, "history": 2, "atoll_entities": 2,
		})
		change(200, "/api/systems", `{"name":"move","enabled":false}`, seen{"enabled": false, "planned": false, "atoll_system_enabled": 0})
		change(200, "/api/pause", "{}", seen{"paused": true, "atoll_paused": 1})
		change(202, "/api/entity/destroy", `{"handle":"0:2@1"}`, seen{"waiting": 1})
		to := f.w.Tick() + 3
		change(200, "/api/step", `{"ticks":3}`, seen{
			"tick": to, "query tick": to, "map tick": to, "stats tick": to, "atoll_tick": to,
			"all": 1, "map": 1, "entities": 1, "set": 1, "history": 1, "waiting": 0, "atoll_entities": 1,
		})
		change(200, "/api/resume", "{}", seen{"paused": false, "atoll_paused": 0})
		require.True(t, checked)
	}
	for name := range sights {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { look(t, name) })
		})
	}
}

// TestSeesProblems steps a world in which a system panics then: the problem is told at once.
func TestSeesProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorldEvery(t, 1, 1, time.Minute) // no tick is over its budget, which would be a problem, too
		breaks := false
		f.s.MustAdd("breaks", func(*world.Build) func(*world.Context) {
			return func(*world.Context) {
				if breaks {
					panic("of old age")
				}
			}
		}, scheduler.IfPanics(scheduler.DisableSystem))
		f.inspect(inspect.Options{Token: token}).run()
		time.Sleep(time.Second)
		f.post(200, "/api/pause", "{}")
		require.Empty(t, f.get(200, "/api/problems")["problems"])
		require.NoError(t, <-f.s.Between(func(*world.World) { breaks = true }))
		f.post(200, "/api/step", "{}")
		require.Equal(t, "system breaks", at("problems", 0, "what")(f.get(200, "/api/problems")))
	})
}

// TestSeesChangesAtRest destroys entities while nobody looks, when samples lack what takes long to
// find. Whoever looks next finds as many in the sets as there are, whether the inspector or the
// program destroyed them.
func TestSeesChangesAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorldEvery(t, 1, 1, 50*time.Millisecond)
		crew := f.crew(60)
		f.inspect(inspect.Options{Token: token}).run()
		for i, text := range crew[1:] {
			f.get(200, "/api/stats")
			time.Sleep(10*time.Second + time.Duration(i)*37*time.Millisecond)
			byInspector := i%2 == 0
			if byInspector {
				f.post(200, "/api/entity/destroy", fmt.Sprintf(`{"handle":%q}`, text))
			} else {
				h, err := handle.Parse(text)
				require.NoError(t, err)
				require.NoError(t, <-f.s.Between(func(w *world.World) { w.Destroy(h) }))
			}
			time.Sleep(200 * time.Millisecond)
			if byInspector {
				require.EqualValues(t, len(crew)-1-i, at("sets", 0, "entities")(f.first("/api/events")))
			}
			got := f.get(200, "/api/stats")
			require.Equal(t, at("entities")(got), at("sets", 0, "entities")(got))
			if byInspector {
				require.EqualValues(t, len(crew)-1-i, at("entities")(got))
			}
		}
	})
}

// TestStuckSinceChange asks when no tick ends: what is older than a change is not told any more.
func TestStuckSinceChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 1, 1).inspect(inspect.Options{Token: token})
		synctest.Wait() // until it wants a sample
		require.NoError(t, f.s.Step(t.Context()))
		f.get(200, "/api/stats")
		time.Sleep(10 * time.Second)
		require.Greater(t, f.get(200, "/api/stats")["age_ms"], 9000.0, "there was no change")
		f.post(200, "/api/systems", `{"name":"move","enabled":false}`)
		require.Contains(t, f.get(503, "/api/stats")["error"], "no tick has ended")
		answer := make(chan *http.Response, 1)
		go func() { answer <- f.do(request("GET", "/api/stats", "")) }()
		synctest.Wait()
		require.NoError(t, f.s.Step(t.Context()))
		require.EqualValues(t, 1, f.answer(200, <-answer)["tick"])
	})
}

// piped is an answer that is read while it is written.
type piped struct {
	*io.PipeWriter
	header http.Header
}

func (p piped) Header() http.Header { return p.header }
func (p piped) WriteHeader(int)     {}
func (p piped) FlushError() error   { return nil }

// stream reads a stream without a network, until see returns false.
func (f *fixture) stream(target string, see func(event, data string) bool) {
	f.t.Helper()
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.x.ServeHTTP(piped{w, http.Header{}}, request("GET", target, ""))
		w.Close()
	}()
	events(f.t, r, see)
	r.Close()
	<-ended
}

// first returns what a stream sends first.
func (f *fixture) first(target string) (answer map[string]any) {
	f.t.Helper()
	f.stream(target, func(_, data string) bool {
		require.NoError(f.t, json.Unmarshal([]byte(data), &answer))
		return false
	})
	return answer
}

// TestStreamsSeeChanges opens streams after a change: what they send first has it, too.
func TestStreamsSeeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 1, 1)
		crew := f.crew(9)
		f.inspect(inspect.Options{Token: token}).run()
		mapStream := strings.Replace(mapPath, "/api/map", "/api/map/stream", 1)
		for i, h := range crew[1:] {
			all := map[string]func(map[string]any) any{
				"/api/events": at("entities"), "/api/events?shards=1": at("entities"), mapStream: at("shown"),
			}
			for target := range all {
				f.first(target)
			}
			require.Equal(t, "alive", f.first("/api/entity/stream?handle=" + h)["status"])
			f.post(200, "/api/entity/destroy", fmt.Sprintf(`{"handle":%q}`, h))
			for target, of := range all {
				require.EqualValues(t, len(crew)-1-i, of(f.first(target)), target)
			}
			require.Equal(t, "stale", f.first("/api/entity/stream?handle=" + h)["status"])
		}
	})
}

// TestMetricsSeeChanges has a scrape give up: what it had begun to read ends before a change, and
// is not told after it.
func TestMetricsSeeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 1, 1)
		crew := f.crew(2)
		f.inspect(inspect.Options{Token: token})
		require.Zero(t, f.figure("atoll_up"), "nobody makes ticks")
		destroyed := make(chan int)
		go func() {
			destroyed <- f.do(request("POST", "/api/entity/destroy", fmt.Sprintf(`{"handle":%q}`, crew[0]))).StatusCode
		}()
		synctest.Wait()
		require.NoError(t, f.s.Step(t.Context()))
		require.Equal(t, 200, <-destroyed)
		figure := make(chan float64, 1)
		go func() { figure <- f.figure(`atoll_entities{shard="0"}`) }()
		for range 2 {
			synctest.Wait()
			require.NoError(t, f.s.Step(t.Context()))
		}
		require.EqualValues(t, 1, <-figure)
	})
}
