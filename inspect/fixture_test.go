package inspect_test

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components of the tests.
type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float32 }
	Health   struct {
		HP   int
		Most uint8
	}
	Label struct{ Text string }
	Owner struct {
		Of    handle.Handle
		Big   uint64
		Alive bool
		inner int
	}
	Bag   struct{ Items map[string]int } // no frame has it
	Dead  struct{}
	Score int32

	Unit struct {
		Position
		Velocity
		Health
		Label
	}
	Thing struct {
		Position
		Owner
		Bag
	}
	Ghost struct {
		Dead
		Score
	}
)

const token = "0123456789abcdef"

// fixture is a world with an inspector.
type fixture struct {
	t      testing.TB
	w      *world.World
	s      *scheduler.Scheduler
	x      *inspect.Inspector
	units  *world.Bundle[Unit]
	things *world.Bundle[Thing]
	ghosts *world.Bundle[Ghost]
	names  *names.Names[string]
	family *hierarchy.Relation
}

func newWorld(t testing.TB, shards, workers int) *fixture {
	return newWorldEvery(t, shards, workers, 5*time.Millisecond)
}

func newWorldEvery(t testing.TB, shards, workers int, interval time.Duration) *fixture {
	f := &fixture{t: t, w: world.MustNew(world.Options{Shards: shards, TickInterval: interval})}
	w := f.w
	world.Register[Position](w, "Position")
	world.Register[Velocity](w, "Velocity")
	world.Register[Health](w, "Health")
	world.Register[Label](w, "Label")
	world.Register[Owner](w, "Owner")
	world.Register[Bag](w, "Bag")
	world.Register[Dead](w, "Dead")
	world.Register[Score](w, "odd/Score")
	f.units, f.things, f.ghosts = world.NewBundle[Unit](w), world.NewBundle[Thing](w), world.NewBundle[Ghost](w)
	f.names = names.New[string](w, "names", names.Options{})
	f.family = hierarchy.New(w, "family", hierarchy.Options{})
	f.s = scheduler.New(w, scheduler.Options{Workers: workers})
	f.s.MustAdd("move", func(b *world.Build) func(*world.Context) {
		pos, vel := world.Write[Position](b), world.Read[Velocity](b)
		q := b.Query(pos, vel)
		return func(*world.Context) {
			for c := range q.Chunks() {
				ps, vs := pos.Slice(c), vel.Slice(c)
				for i := range ps {
					ps[i].X += float64(vs[i].X)
					ps[i].Y += float64(vs[i].Y)
				}
			}
		}
	})
	t.Cleanup(func() { w.Close() })
	return f
}

// inspect makes the inspector.
func (f *fixture) inspect(o inspect.Options) *fixture {
	f.t.Helper()
	x, err := inspect.New(f.s, o)
	require.NoError(f.t, err)
	f.x = x
	f.t.Cleanup(func() { require.NoError(f.t, x.Close()) })
	return f
}

// run makes ticks until the test ends.
func (f *fixture) run() *fixture {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.s.Run(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		require.NoError(f.t, <-done)
	})
	return f
}

// newFixture is a world that runs, with 100 units, 10 things and 5 ghosts, and an inspector with a
// token.
func newFixture(t testing.TB) *fixture {
	f := newWorld(t, 3, 2)
	units, err := f.units.AppendN(nil, f.w, 100, func(i int, u *Unit) {
		*u = Unit{Position{float64(i), float64(-i)}, Velocity{}, Health{i, uint8(i)}, Label{[]string{"orc", "elf, wood", "\xff"}[i%3]}}
	})
	require.NoError(t, err)
	_, err = f.things.AppendN(nil, f.w, 10, func(i int, u *Thing) {
		*u = Thing{Position{math.NaN(), math.Inf(1)}, Owner{units[i], 1<<60 + uint64(i), i%2 == 0, 7}, Bag{map[string]int{"axe": i}}}
	})
	require.NoError(t, err)
	_, err = f.ghosts.AppendN(nil, f.w, 5, func(i int, u *Ghost) { u.Score = Score(i) })
	require.NoError(t, err)
	require.NoError(t, f.names.Bind(f.w, units[0], "anna"))
	require.NoError(t, f.family.AddChild(f.w, units[0], units[1]))
	return f.inspect(inspect.Options{Token: token, Name: "test"}).run()
}

// request asks as a browser on the same machine does.
func request(method, target, body string) *http.Request {
	r := httptest.NewRequest(method, "http://localhost"+target, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func (f *fixture) do(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	f.x.ServeHTTP(w, r)
	return w.Result()
}

// get asks and returns the answer, which must be JSON with a status.
func (f *fixture) get(status int, target string) map[string]any {
	f.t.Helper()
	return f.answer(status, f.do(request(http.MethodGet, target, "")))
}

func (f *fixture) post(status int, target, body string) map[string]any {
	f.t.Helper()
	return f.answer(status, f.do(request(http.MethodPost, target, body)))
}

func (f *fixture) answer(status int, r *http.Response) (v map[string]any) {
	f.t.Helper()
	body, err := io.ReadAll(r.Body)
	require.NoError(f.t, err)
	require.Equal(f.t, status, r.StatusCode, "%s", body)
	require.Equal(f.t, "application/json", r.Header.Get("Content-Type"))
	require.NoError(f.t, json.Unmarshal(body, &v), "%s", body)
	return v
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func record(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
