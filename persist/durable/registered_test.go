package durable_test

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// What a marina registers.
type (
	Berth  struct{ Number float64 }
	Call   struct{ N uint64 }
	Tide   struct{ Level int }
	Tally  struct{ Calls int }
	docked struct {
		Ship
		Berth
	}
	berths struct{ Berth }
)

// marina is a world with everything that can be registered.
type marina struct {
	*world.World
	s         *scheduler.Scheduler
	ships     *world.Bundle[docked]
	berth     *world.Component[Berth]
	rename    *world.Func[uint64]
	number    *world.Question[int, float64]
	call      *world.Message[Call]
	tide      *world.Resource[Tide]
	tally     *world.Resource[Tally]
	calls     *timer.Timers[Call]
	asked     *world.Message[async.Result[int]]
	asks      *async.Call[int, int]
	moored    *hierarchy.Relation
	names     *names.Names[string]
	flotilla  *prefab.Prefab
	delivered []uint64 // what came by calls
}

// double is what asks run.
func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

// newMarina registers everything but what is late.
func newMarina() *marina {
	w := world.MustNew(world.Options{Shards: 1, VersionsEach: 1000})
	ship := world.Register[Ship](w, "ship")
	x := &marina{World: w, berth: world.Register[Berth](w, "berth")}
	x.ships = world.NewBundle[docked](w)
	x.rename = world.RegisterFunc(w, "renumber", func(self *world.EntityContext, n uint64) { ship.Write(self).N = n })
	x.number = world.RegisterQuestion(w, "number", func(self *world.EntityContext, _ int) float64 { return x.berth.Read(self).Number })
	x.call = world.RegisterMessage[Call](w, "call")
	x.tide = world.RegisterResource(w, "tide", Tide{})
	x.tally = world.RegisterAccumulator(w, "tally", func(total, part *Tally) { total.Calls += part.Calls })
	x.calls = timer.New(w, "calls", x.call, timer.Options{})
	x.asked = world.RegisterMessage[async.Result[int]](w, "asked")
	x.asks = async.New(w, "asks", x.asked, double, async.Options{})
	x.moored = hierarchy.New(w, "moored", hierarchy.Options{})
	x.names = names.New[string](w, "names", names.Options{})
	x.flotilla = prefab.New(w, "flotilla", prefab.With(ship, Ship{1}), prefab.Child(x.moored, -1, prefab.With(ship, Ship{2})))
	w.Observe("created", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) {}
	})
	x.s = scheduler.New(w, scheduler.Options{})
	x.s.MustAdd("calls", func(b *world.Build) func(*world.Context) {
		in, sum := world.Receive[Call](b), world.Accumulate[Tally](b)
		return func(*world.Context) {
			for _, m := range in.All() {
				sum.Calls++
				x.delivered = append(x.delivered, m.Body.N)
			}
		}
	})
	return x
}

func (x *marina) open(t *testing.T, path string, fill func(w *world.World) error) (*durable.Store, error) {
	return durable.Open(t.Context(), path, x.World, x.s, durable.Options{Interval: -1, New: fill})
}

// late is what is registered too late, by what a panic calls it.
var late = map[string]func(x *marina){
	`world.Register of durable_test.Account as "late"`: func(x *marina) { world.Register[Account](x.World, "late") },
	`world.NewBundle of durable_test.berths`:           func(x *marina) { world.NewBundle[berths](x.World) },
	`world.RegisterMessage of uint8 as "late"`:         func(x *marina) { world.RegisterMessage[uint8](x.World, "late") },
	`world.RegisterFunc of "late"`: func(x *marina) {
		world.RegisterFunc(x.World, "late", func(*world.EntityContext, int) {})
	},
	`world.RegisterQuestion of "late"`: func(x *marina) {
		world.RegisterQuestion(x.World, "late", func(*world.EntityContext, int) int { return 0 })
	},
	`world.RegisterTransaction of "late"`: func(x *marina) {
		world.RegisterTransaction(x.World, "late", func(*world.Tx, int) (int, error) { return 0, nil })
	},
	`world.RegisterResource of uint8 as "late"`: func(x *marina) { world.RegisterResource(x.World, "late", uint8(0)) },
	`world.RegisterAccumulator of uint8 as "late"`: func(x *marina) {
		world.RegisterAccumulator(x.World, "late", func(_, _ *uint8) {})
	},
	`World.Observe of "late"`: func(x *marina) {
		x.Observe("late", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(*world.Context, world.Event, []handle.Handle) {}
		})
	},
	`timer.New of "late"`: func(x *marina) { timer.New(x.World, "late", x.call, timer.Options{}) },
	`async.New of "late"`: func(x *marina) {
		async.New(x.World, "late", x.asked, double, async.Options{})
	},
	`hierarchy.New of "late"`: func(x *marina) { hierarchy.New(x.World, "late", hierarchy.Options{}) },
	`names.New of "late"`:     func(x *marina) { names.New[string](x.World, "late", names.Options{}) },
	`prefab.New of "late"`:    func(x *marina) { prefab.New(x.World, "late", prefab.With(x.berth, Berth{1})) },
	`Scheduler.Add of "late"`: func(x *marina) {
		x.s.MustAdd("late", func(*world.Build) func(*world.Context) { return func(*world.Context) {} })
	},
	`Message.Wakes of "call"`: func(x *marina) { x.call.Wakes(1) },
	`prefab.Load of "*.json"`: func(x *marina) {
		files := fstest.MapFS{"late.json": {Data: []byte(`{"late": {"components": {"berth": {"Number": 1}}}}`)}}
		_, _ = prefab.Load(x.World, files, "*.json")
	},
}

// TestRegisteredLate refuses what the next start could not read back, in New and after Open, and
// nothing of it stays: the next start has the world.
func TestRegisteredLate(t *testing.T) {
	for what, register := range late {
		t.Run(what, func(t *testing.T) {
			says := "world: " + what + " after durable.Open has begun: the next start reads the world back and would not have it; register before durable.Open"
			path := t.TempDir()
			x := newMarina()
			require.PanicsWithValue(t, says, func() {
				_, _ = x.open(t, path, func(*world.World) error { register(x); return nil })
			})

			x = newMarina()
			var first handle.Handle
			st, err := x.open(t, path, func(w *world.World) (err error) {
				require.PanicsWithValue(t, says, func() { register(x) })
				first, err = x.ships.Create(w, docked{Ship: Ship{7}})
				return err
			})
			require.NoError(t, err)
			require.PanicsWithValue(t, says, func() { register(x) })
			require.NoError(t, <-between(t, x, func(*world.World) {
				require.PanicsWithValue(t, says, func() { register(x) })
			}))
			require.NoError(t, st.Wait(t.Context()))
			st.Crash()

			x = newMarina()
			st, err = x.open(t, path, nil)
			require.NoError(t, err)
			require.Equal(t, uint64(7), world.Read[Ship](x.World).Get(first).N)
			require.NoError(t, st.Close())
		})
	}
}

// between calls f between two ticks.
func between(t *testing.T, x *marina, f func(*world.World)) <-chan error {
	done := x.s.Between(f)
	require.NoError(t, x.s.Step(t.Context()))
	return done
}

// TestRegisteredBefore uses in New and after Open what was registered before, and makes there what
// is neither recorded nor saved: it is all there after a crash.
func TestRegisteredBefore(t *testing.T) {
	path := t.TempDir()
	x := newMarina()
	var ship, root handle.Handle
	st, err := x.open(t, path, func(w *world.World) (err error) {
		ship, err = x.ships.Create(w, docked{Ship{3}, Berth{4}})
		require.NoError(t, err)
		root, err = x.flotilla.Create(w)
		require.NoError(t, err)
		require.NoError(t, x.moored.AddChild(w, root, ship))
		require.NoError(t, x.names.Bind(w, ship, "first"))
		require.NoError(t, x.rename.Call(w, ship, 5))
		require.NoError(t, x.call.Send(w, ship, Call{1}))
		_, err = x.calls.After(w, ship, 2, Call{2})
		require.NoError(t, err)
		_, err = x.asks.Go(w, ship, 1)
		x.tide.Set(Tide{6})
		return err
	})
	require.NoError(t, err)

	index := near.New(x.World, func(b Berth) near.Point { return near.Point{X: b.Number} }, near.Options{Max: near.Point{X: 9, Y: 9}, Cell: 1})
	require.Len(t, index.Read(x.World).AppendWithin(nil, near.Point{X: 4}, 1), 1)
	require.Equal(t, 3, x.Query(world.With[Ship](x.World)).Count())
	x.NewView(x.berth)

	port, err := x.OpenPort()
	require.NoError(t, err)
	var answer world.Answer[float64]
	require.NoError(t, x.number.Ask(port, ship, 0, &answer))
	require.NoError(t, x.rename.Call(port, ship, 8))
	_, err = x.flotilla.Create(port)
	require.NoError(t, err)
	_, err = x.calls.After(port, ship, 1, Call{3})
	require.NoError(t, err)
	for range 4 {
		require.NoError(t, x.s.Step(t.Context()))
	}
	number, ok := answer.Value()
	require.True(t, ok)
	require.Equal(t, float64(4), number)
	require.Equal(t, []uint64{1, 3, 2}, x.delivered)
	require.NoError(t, st.Wait(t.Context()))
	tick := x.Tick()
	st.Crash()

	x = newMarina()
	st, err = x.open(t, path, nil)
	require.NoError(t, err)
	require.Equal(t, tick, x.Tick())
	require.Equal(t, []uint64{1, 3, 2}, x.delivered)
	require.Equal(t, uint64(8), world.Read[Ship](x.World).Get(ship).N)
	require.Equal(t, 5, x.Query(world.With[Ship](x.World)).Count())
	require.Equal(t, root, x.moored.Read(x.World).Parent(ship))
	named, _ := x.names.Lookup("first")
	require.Equal(t, ship, named)
	require.Equal(t, Tide{6}, x.tide.Get())
	require.Equal(t, 1, x.asks.Len())
	require.NoError(t, st.Close())
}
