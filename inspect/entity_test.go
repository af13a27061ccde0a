package inspect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// one returns the handle of the only entity that a query finds.
func (f *fixture) one(q string) string {
	f.t.Helper()
	rows := f.get(200, queryOf(q))["rows"].([]any)
	require.Len(f.t, rows, 1)
	return rows[0].(map[string]any)["handle"].(string)
}

func (f *fixture) entity(h string) map[string]any { return f.get(200, "/api/entity?handle="+h) }

// component returns a component of an entity.
func (f *fixture) component(h, name string) map[string]any {
	f.t.Helper()
	for _, c := range f.entity(h)["components"].([]any) {
		if c := c.(map[string]any); c["name"] == name {
			return c
		}
	}
	f.t.Fatalf("%s has no %s", h, name)
	return nil
}

// TestEntity looks at all that entities have.
func TestEntity(t *testing.T) {
	f := newFixture(t)
	anna := f.one("Health.HP == 0")
	other := f.one("Health.HP == 1")
	e := f.entity(anna)
	require.Equal(t, anna, e["handle"])
	require.Equal(t, "alive", e["status"])
	require.Equal(t, []any{map[string]any{"label": "names", "name": "anna"}}, e["names"])
	require.Equal(t, []any{map[string]any{"label": "family", "parent": "", "children": []any{other}, "children_count": 1.0}}, e["relations"])
	require.Equal(t, []any{map[string]any{"label": "family", "parent": anna, "children": []any{}, "children_count": 0.0}}, f.entity(other)["relations"])
	require.Empty(t, f.entity(other)["names"])
	require.Equal(t, []any{
		map[string]any{"path": "HP", "type": "int", "value": 0.0, "editable": true},
		map[string]any{"path": "Most", "type": "uint8", "value": 0.0, "editable": true},
	}, f.component(anna, "Health")["fields"])

	owned := f.one("Owner.Big == 1152921504606846976")
	e = f.entity(owned)
	require.Equal(t, []any{map[string]any{"component": "Owner", "path": "Of", "handle": anna, "status": "alive"}}, e["references"])
	owner := f.component(owned, "Owner")
	require.Equal(t, map[string]any{"Of": anna, "Big": "1152921504606846976", "Alive": true, "inner": 7.0}, owner["value"])
	require.Equal(t, map[string]any{"path": "inner", "type": "int", "value": 7.0, "editable": false}, owner["fields"].([]any)[3])
	require.Equal(t, false, owner["fields"].([]any)[0].(map[string]any)["editable"])
	bag := f.component(owned, "Bag")
	require.Equal(t, map[string]any{"Items": map[string]any{"axe": 0.0}}, bag["value"])
	require.Contains(t, bag["why_not"], "Items is a map")
	require.Equal(t, map[string]any{"X": "NaN", "Y": "+Inf"}, f.component(owned, "Position")["value"])
	require.Equal(t, "\ufffd", f.component(f.one("Health.HP == 2"), "Label")["value"].(map[string]any)["Text"])

	e = f.entity("0:16000000@1")
	require.NotEqual(t, "alive", e["status"])
	require.EqualValues(t, -1, e["shard"])
	require.Equal(t, []any{}, e["components"])
	require.NotEqual(t, "alive", f.entity("4000:1@1")["status"])
}

// Awkward values, whose types write themselves in bad ways.
type (
	Panics  struct{ X int }
	Fails   struct{ X int }
	Wrong   struct{ X int }
	Exits   struct{ X int }
	Long    struct{ Text string }
	Texts   struct{ X int }
	Pointer struct{ To *Pointer }
	Much    struct {
		List  []int
		Map   map[int]string
		Bytes []byte
		Any   any
		Func  func()
		Nil   map[string]int
	}
	Numbers struct {
		A int64
		B uint64
		C complex64
		D float32
		E [300]byte
		F struct{}
	}
)

func (Panics) MarshalJSON() ([]byte, error) { panic("of old age") }
func (Fails) MarshalJSON() ([]byte, error)  { return nil, errors.New("for no reason") }
func (Wrong) MarshalJSON() ([]byte, error)  { return []byte("{"), nil }
func (Long) MarshalJSON() ([]byte, error) {
	return []byte(`"` + strings.Repeat("x", 1<<20) + `"`), nil
}
func (*Texts) MarshalText() ([]byte, error) { return []byte("text \xff"), nil }

// TestValues shows values that are hard to show. The server lives, and answers are bounded.
func TestValues(t *testing.T) {
	f := newWorld(t, 1, 1)
	type all struct {
		Panics
		Fails
		Wrong
		Long
		Texts
		Pointer
		Much
		Numbers
	}
	world.Register[Panics](f.w, "Panics")
	world.Register[Fails](f.w, "Fails")
	world.Register[Wrong](f.w, "Wrong")
	world.Register[Long](f.w, "Long")
	world.Register[Texts](f.w, "Texts")
	world.Register[Pointer](f.w, "Pointer")
	world.Register[Much](f.w, "Much")
	world.Register[Numbers](f.w, "Numbers")
	v := all{
		Much:    Much{make([]int, 1e6), map[int]string{}, make([]byte, 1e6), map[string]any{"x": math.NaN()}, func() {}, nil},
		Numbers: Numbers{math.MinInt64, math.MaxUint64, 1i, float32(math.Inf(-1)), [300]byte{}, struct{}{}},
	}
	for i := range 10000 {
		v.Map[i] = "x"
	}
	v.To = &v.Pointer // in a circle
	h, err := world.NewBundle[all](f.w).Create(f.w, v)
	require.NoError(t, err)
	f.inspect(inspect.Options{}).run()
	value := func(name string) any { return f.component(h.String(), name)["value"] }
	require.Equal(t, "inspect_test.Panics panicked as it was written: of old age", value("Panics"))
	require.Contains(t, value("Fails"), "for no reason")
	require.Contains(t, value("Wrong"), "inspect_test.Wrong: ")
	require.Contains(t, value("Long"), "too many to show")
	require.Equal(t, "text \ufffd", value("Texts"))
	require.Contains(t, value("Pointer"), "To")
	require.Equal(t, 5, strings.Count(jsonOf(value("Pointer")), "To"), "the circle ends")
	require.Equal(t, map[string]any{
		"A": "-9223372036854775808", "B": "18446744073709551615", "C": "(0+1i)", "D": "-Inf", "F": map[string]any{},
		"E": append(make257(), "… 44 more"),
	}, value("Numbers"))
	much := value("Much").(map[string]any)
	require.Contains(t, much["List"].([]any)[len(much["List"].([]any))-1], " more")
	require.Equal(t, map[string]any{"x": "NaN"}, much["Any"])
	require.Equal(t, "func()", much["Func"])
	require.Nil(t, much["Nil"])
	body, err := json.Marshal(f.entity(h.String()))
	require.NoError(t, err)
	require.Less(t, len(body), 100<<10)
	got := f.get(200, queryOf("Panics, Long, Numbers"))["rows"].([]any)[0].(map[string]any)["components"].(map[string]any)
	require.Contains(t, got["Panics"], "of old age")
}

func make257() []any {
	all := make([]any, 256)
	for i := range all {
		all[i] = 0.0
	}
	return all
}

// TestSet sets fields by a port, and refuses what cannot be set.
func TestSet(t *testing.T) {
	f := newFixture(t)
	h := f.one("Health.HP == 7")
	set := func(status int, component, path, value string) map[string]any {
		t.Helper()
		return f.post(status, "/api/entity/set", `{"handle":"`+h+`","component":"`+component+`","path":"`+path+`","value":`+value+`}`)
	}
	most := strconv.Quote(strconv.Itoa(math.MaxInt)) // a text, as it may be more than JavaScript's numbers have
	shown := most
	if strconv.IntSize == 32 {
		shown = strconv.Itoa(math.MaxInt)
	}
	for _, test := range []struct{ component, path, value, want string }{
		{"Health", "HP", "-5", "-5"}, {"Health", "Most", "255", "255"}, {"Position", "X", "1.5", "1.5"}, {"Position", "Y", `"NaN"`, `"NaN"`},
		{"Velocity", "X", "0", "0"}, {"Label", "Text", `"a \" b"`, `"a \" b"`}, {"Health", "HP", most, shown},
	} {
		require.Equal(t, "applied", set(200, test.component, test.path, test.value)["outcome"])
		for _, x := range f.component(h, test.component)["fields"].([]any) {
			if x := x.(map[string]any); x["path"] == test.path {
				got, err := json.Marshal(x["value"])
				require.NoError(t, err)
				require.Equal(t, test.want, string(got))
			}
		}
	}
	set(400, "Health", "HP", "1.5")
	set(400, "Health", "HP", "true")
	set(400, "Health", "HP", `"x"`)
	set(400, "Health", "HP", "null")
	set(400, "Health", "Most", "256")
	set(400, "Health", "Most", "-1")
	set(400, "Velocity", "X", "1e300")
	set(400, "Label", "Text", "1")
	set(400, "Owner", "inner", "1")
	set(400, "Owner", "Of", `"none"`)
	set(400, "Bag", "Items", "{}")
	set(400, "Health", "Other", "1")
	set(400, "Other", "HP", "1")
	set(409, "Owner", "Alive", "true")
	h = f.one("Owner.Big == 1152921504606846977")
	require.Equal(t, "applied", set(200, "Owner", "Alive", "true")["outcome"])
	set(400, "Owner", "Alive", "1")
	h = "0:100@77"
	require.Contains(t, set(409, "Health", "HP", "1")["error"], "is not alive")
	h = "x"
	set(400, "Health", "HP", "1")
}

// TestSetLarge refuses to set a field of a component that no queue has room for, which goes through
// one as a whole.
func TestSetLarge(t *testing.T) {
	type Large struct {
		First int
		Rest  [64]int
	}
	w := world.MustNew(world.Options{QueueBytes: 256})
	t.Cleanup(func() { w.Close() })
	world.Register[Large](w, "Large")
	h, err := world.NewBundle[struct{ Large }](w).Create(w, struct{ Large }{})
	require.NoError(t, err)
	f := (&fixture{t: t, w: w, s: scheduler.New(w, scheduler.Options{})}).inspect(inspect.Options{Token: token}).run()
	refused := f.post(413, "/api/entity/set", `{"handle":"`+h.String()+`","component":"Large","path":"First","value":1}`)
	require.Contains(t, refused["error"], "raise QueueRequests or QueueBytes")
}

// TestIDs shows IDs of timers and asks, and lets nobody set them, as handles.
func TestIDs(t *testing.T) {
	type Sleeper struct {
		Wakes timer.ID
		Asked async.ID
		Seen  uint64
	}
	w := world.MustNew(world.Options{TickInterval: time.Millisecond})
	t.Cleanup(func() { w.Close() })
	world.Register[Sleeper](w, "Sleeper")
	h, err := world.NewBundle[struct{ Sleeper }](w).Create(w, struct{ Sleeper }{Sleeper{3, 4, 5}})
	require.NoError(t, err)
	f := (&fixture{t: t, w: w, s: scheduler.New(w, scheduler.Options{})}).inspect(inspect.Options{Token: token}).run()
	require.Equal(t, []any{
		map[string]any{"path": "Wakes", "type": "timer.ID", "value": 3.0, "editable": false},
		map[string]any{"path": "Asked", "type": "async.ID", "value": 4.0, "editable": false},
		map[string]any{"path": "Seen", "type": "uint64", "value": 5.0, "editable": true},
	}, f.component(h.String(), "Sleeper")["fields"])
	for path, status := range map[string]int{"Wakes": 400, "Asked": 400, "Seen": 200} {
		f.post(status, "/api/entity/set", fmt.Sprintf(`{"handle":"%v","component":"Sleeper","path":%q,"value":1}`, h, path))
	}
}

// TestDestroy destroys an entity by a port.
func TestDestroy(t *testing.T) {
	f := newFixture(t)
	h := f.one("Health.HP == 7")
	require.Equal(t, "applied", f.post(200, "/api/entity/destroy", `{"handle":"`+h+`"}`)["outcome"])
	require.Contains(t, f.post(409, "/api/entity/destroy", `{"handle":"`+h+`"}`)["error"], h+" is not alive: stale", "as of set")
	require.Contains(t, f.post(409, "/api/entity/set", `{"handle":"`+h+`","component":"Health","path":"HP","value":1}`)["error"], h+" is not alive: stale")
	f.post(400, "/api/entity/destroy", `{"handle":"x"}`)
	parsed, err := handle.Parse(h)
	require.NoError(t, err)
	require.False(t, f.w.Alive(parsed))
	ports := func() (n int) {
		require.NoError(t, <-f.s.Between(func(w *world.World) {
			var s world.Stats
			w.Stats(&s)
			n = s.Ports
		}))
		return n
	}
	require.Equal(t, 1, ports())
	require.NoError(t, f.x.Close())
	require.Eventually(t, func() bool { return ports() == 0 }, 5*time.Second, time.Millisecond)
}

// TestPause pauses, looks, edits and steps.
func TestPause(t *testing.T) {
	f := newFixture(t)
	f.post(409, "/api/step", `{"ticks":1}`)
	require.Equal(t, true, f.post(200, "/api/pause", `{}`)["paused"])
	at := f.w.Tick()
	h := f.one("Health.HP == 7")
	f.entity(h)
	require.EqualValues(t, 100, f.get(200, mapPath)["shown"])
	require.Equal(t, "undecided", f.post(202, "/api/entity/set", `{"handle":"`+h+`","component":"Health","path":"HP","value":1000}`)["outcome"])
	require.Equal(t, at, f.w.Tick())
	got := f.post(200, "/api/step", `{"ticks":3}`)
	require.EqualValues(t, at+3, got["tick"])
	require.Equal(t, true, got["paused"])
	require.Equal(t, h, f.one("Health.HP == 1000"))
	require.Equal(t, at+3, f.w.Tick())
	require.Equal(t, false, f.post(200, "/api/resume", `{}`)["paused"])
	require.Eventually(t, func() bool { return f.w.Tick() > at+3 }, 5*time.Second, time.Millisecond)
	require.Equal(t, false, f.post(200, "/api/systems", `{"name":"move","enabled":false}`)["enabled"])
	require.False(t, f.s.Enabled("move"))
	require.Equal(t, true, f.post(200, "/api/systems", `{"name":"move","enabled":true}`)["enabled"])
	require.True(t, f.s.Enabled("move"))
}

// TestEditsOfOne sets two fields of one component before the next tick, one after the other and at
// once: both stay.
func TestEditsOfOne(t *testing.T) {
	f := newFixture(t)
	h, err := handle.Parse(f.one("Health.HP == 7"))
	require.NoError(t, err)
	set := func(path string, value int) *http.Response {
		return f.do(request(http.MethodPost, "/api/entity/set", fmt.Sprintf(`{"handle":%q,"component":"Health","path":%q,"value":%d}`, h, path, value)))
	}
	health := func() (got Health) {
		<-f.s.Between(func(w *world.World) { got = *world.Read[Health](w).Get(h) })
		return got
	}
	f.post(200, "/api/pause", `{}`)
	require.Equal(t, 202, set("HP", 5).StatusCode)
	require.Equal(t, 202, set("Most", 6).StatusCode)
	require.Equal(t, 202, set("HP", 8).StatusCode)
	f.post(200, "/api/step", `{"ticks":3}`)
	require.Equal(t, Health{8, 6}, health())
	f.post(200, "/api/resume", `{}`)
	for i := range 20 {
		first := make(chan bool)
		go func() {
			set("HP", i)
			close(first)
		}()
		set("Most", i)
		<-first
		require.Equal(t, Health{i, uint8(i)}, health())
	}
}

// TestDestroyClosed destroys by a port whose world was closed since: that is no fault of the
// inspector.
func TestDestroyClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 1, 1).inspect(inspect.Options{Token: token})
		h, err := f.units.Create(f.w, Unit{})
		require.NoError(t, err)
		ran := make(chan error, 1)
		go func() { ran <- f.s.Run(t.Context()) }()
		body := fmt.Sprintf(`{"handle":"%v"}`, h)
		require.Equal(t, "applied", f.post(200, "/api/entity/destroy", body)["outcome"])
		time.Sleep(20 * time.Millisecond) // the sampler rests, and does not learn that the world is closed
		require.NoError(t, <-f.s.Between(func(w *world.World) { w.Close() }))
		require.Contains(t, f.post(503, "/api/entity/destroy", body)["error"], "the inspector or its world is closed")
		require.ErrorIs(t, <-ran, world.ErrClosed)
	})
}
