package misuse_test

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/stats"
)

// heard says who has heard of a failure: of an error the caller, and of none nobody.
func (x *callbackScene) heard(err error, by string) string {
	if err == nil {
		return inNothing
	}
	return x.told(err, by)
}

// must makes a call that fails only as its function does.
func (x *callbackScene) must(err error) string {
	require.NoError(x.t, err)
	return inNothing
}

// placed returns who hears of a PlaceBy that fails.
func placed(x *callbackScene, err error) string {
	if err == nil {
		return inNothing
	}
	require.ErrorIs(x.t, err, world.ErrFailed)
	return inCall
}

// loop makes the row of the body of a loop.
func loop(of string, do func(x *callbackScene)) callbackRow {
	return callbackRow{of: of, on: onCaller, twice: true, do: func(x *callbackScene) string { do(x); return inNothing }}
}

// failIn walks a sequence whose body fails.
func failIn[T any](x *callbackScene, all iter.Seq[T]) {
	for range all {
		x.fail()
	}
}

func failIn2[K, V any](x *callbackScene, all iter.Seq2[K, V]) {
	for range all {
		x.fail()
	}
}

// newUnit creates an entity that nothing else knows.
func (x *callbackScene) newUnit(by world.Actor) handle.Handle {
	h, err := x.unit.Create(by, misuseUnit{})
	require.NoError(x.t, err)
	return h
}

type (
	callbackSheet struct{ Cells []int }
	callbackPaper struct{ callbackSheet }
	callbackSum   struct{ N int }
)

// sheets makes entities with a component that has a CloneBy, which fails.
func (x *callbackScene) sheets() (*world.Component[callbackSheet], handle.Handle) {
	sheet := world.Register[callbackSheet](x.w, "sheet").CloneBy(func(to, from *callbackSheet) {
		x.fail()
		to.Cells = slices.Clone(from.Cells)
	})
	h, err := world.NewBundle[callbackPaper](x.w).Create(x.w, callbackPaper{})
	require.NoError(x.t, err)
	return sheet, h
}

// worldCallbacks are the functions that package world calls.
func worldCallbacks() []callbackRow {
	return []callbackRow{
		{of: "world.RegisterFunc f", on: onOther, twice: true, do: func(x *callbackScene) string {
			require.NoError(x.t, x.misuseScene.do(x.port, func(*world.EntityContext) { x.fail() }))
			x.w.Refresh()
			return x.heard(x.w.Failure(), "World.Failure, the outcome Failed")
		}},
		{of: "besides: world.RegisterFunc f, called by the World", on: onCaller, twice: true, do: func(x *callbackScene) string {
			return x.must(x.misuseScene.do(x.w, func(*world.EntityContext) { x.fail() }))
		}},
		{of: "world.RegisterQuestion f", on: onOther, twice: true, do: func(x *callbackScene) string {
			q := world.RegisterQuestion(x.w, "asked"+goroutine(), func(*world.EntityContext, int) int { x.fail(); return 1 })
			var a world.Answer[int]
			require.NoError(x.t, q.Ask(x.port, x.hs[0], 1, &a))
			x.w.Refresh()
			_, err := a.Get(x.t.Context())
			return x.heard(err, "World.Failure, the error of Answer.Get")
		}},
		{of: "world.RegisterTransaction f", on: onOther, twice: true, do: func(x *callbackScene) string {
			var a world.Answer[int64]
			x.acting = func(*world.Tx) error { x.fail(); return nil }
			require.NoError(x.t, x.pay.Send(x.port, x.paying(), &a))
			x.w.Refresh()
			_, err := a.Get(x.t.Context())
			return x.heard(err, "World.Failure, the error of Transaction.Ask")
		}},
		{of: "besides: world.RegisterTransaction f, run by the World", on: onCaller, twice: true, do: func(x *callbackScene) string {
			x.acting = func(*world.Tx) error { x.fail(); return nil }
			_, err := x.pay.Run(x.w, x.paying())
			return x.must(err)
		}},
		{of: "world.Output.Handle f", on: onCaller, twice: true, do: func(x *callbackScene) string {
			require.NoError(x.t, x.said.Put(x.w, 1))
			x.saying = func(world.Moment, int) { x.fail() }
			x.w.Refresh()
			return x.heard(x.w.Failure(), "World.Failure")
		}},
		{of: "besides: world.Output.Handle f, after a tick", on: onCaller, twice: true, do: func(x *callbackScene) string {
			require.NoError(x.t, x.said.Put(x.w, 1))
			x.saying = func(world.Moment, int) { x.fail() }
			return x.heard(x.s.Step(x.t.Context()), inStep)
		}},
		{of: "world.World.Observe build", on: onCaller, do: func(x *callbackScene) string {
			x.w.Observe("late", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
				x.fail()
				return nil
			})
			return inNothing
		}},
		{of: "besides: world, a hook", on: onOther, twice: true, do: func(x *callbackScene) string {
			x.onSet = func(*world.Context) { x.fail() }
			require.NoError(x.t, x.health.Set(x.w, x.hs[0], misuseHealth{}))
			x.w.Refresh()
			return x.heard(x.w.Failure(), "World.Failure")
		}},
		{of: "world.Component.CloneBy f", on: onCaller, do: func(x *callbackScene) string {
			sheet, _ := x.sheets()
			p := prefab.New(x.w, "sheets", prefab.With(sheet, callbackSheet{[]int{1}}))
			_, err := p.Create(x.w)
			return x.must(err)
		}},
		{of: "besides: world.Component.CloneBy f, for Component.Ask", on: onOther, do: func(x *callbackScene) string {
			sheet, h := x.sheets()
			var a world.Answer[callbackSheet]
			require.NoError(x.t, sheet.Ask(x.port, h, &a))
			x.w.Refresh()
			err := x.w.Failure()
			require.Equal(x.t, world.Failed, a.Outcome())
			x.w.Refresh()
			return x.heard(err, "World.Failure, the outcome Failed")
		}},
		{of: "besides: world.Component.CloneBy f, for a frame", on: onOther, do: func(x *callbackScene) string {
			sheet, _ := x.sheets()
			v, err := x.w.NewView(sheet)
			require.NoError(x.t, err)
			x.after(func() { must(v.Now()).Release() })
			f, err := v.Now()
			if err == nil {
				f.Release()
			}
			return x.heard(err, inCall)
		}},
		{of: "world.RegisterAccumulator merge", on: onWorker, do: func(x *callbackScene) string {
			world.RegisterAccumulator(x.w, "sum", func(total, part *callbackSum) { x.fail(); total.N += part.N })
			x.s.MustAdd("adds", func(b *world.Build) func(*world.Context) {
				part := world.Accumulate[callbackSum](b)
				return func(*world.Context) { part.N++ }
			})
			return x.heard(x.s.Step(x.t.Context()), inStep)
		}},
		{of: "world.Bundle.CreateN init", on: onCaller, twice: true, do: func(x *callbackScene) string {
			return x.must(x.unit.CreateN(x.w, 3, func(int, *misuseUnit) { x.fail() }))
		}},
		{of: "besides: world.Bundle.CreateN init, by a Port", on: onCaller, twice: true, do: func(x *callbackScene) string {
			return x.must(x.unit.CreateN(x.port, 3, func(int, *misuseUnit) { x.fail() }))
		}},
		{of: "world.Bundle.AppendN init", on: onCaller, twice: true, do: func(x *callbackScene) string {
			_, err := x.unit.AppendN(nil, x.w, 3, func(int, *misuseUnit) { x.fail() })
			return x.must(err)
		}},
		{of: "world.Bundle.CreateRows init", on: onCaller, twice: true, do: func(x *callbackScene) string {
			return x.must(x.unit.CreateRows(x.w, 3, func(world.Chunk) { x.fail() }))
		}},
		{of: "world.Bundle.AddTo init", on: onCaller, do: func(x *callbackScene) string {
			return x.must(x.named.AddTo(x.all, func(world.Chunk) { x.fail() }))
		}},
		{of: "world.Component.AddTo init", on: onCaller, do: func(x *callbackScene) string {
			return x.must(x.name.AddTo(x.all, func(world.Chunk) { x.fail() }))
		}},
		{of: "world.Bundle.PlaceBy place", on: onCaller, twice: true, do: func(x *callbackScene) string {
			x.unit.PlaceBy(func(misuseUnit) int { x.fail(); return 1 })
			_, err := x.unit.Create(x.w, misuseUnit{})
			return placed(x, err)
		}},
		{of: "besides: world.Bundle.PlaceBy place, by a Port", on: onCaller, twice: true, do: func(x *callbackScene) string {
			x.unit.PlaceBy(func(misuseUnit) int { x.fail(); return 1 })
			_, err := x.unit.Create(x.port, misuseUnit{})
			return placed(x, err)
		}},
		{of: "world.Port.Batch f", on: onCaller, twice: true, do: func(x *callbackScene) string {
			return x.must(x.port.Batch(func() error { x.newUnit(x.port); x.fail(); return nil }))
		}},
		loop("world.Query.Chunks loop", func(x *callbackScene) { failIn(x, x.all.Chunks()) }),
		loop("world.Query.ChunksSince loop", func(x *callbackScene) { failIn(x, x.all.ChunksSince(0)) }),
		loop("world.Query.Entities loop", func(x *callbackScene) { failIn2(x, x.all.Entities()) }),
		loop("stats.Histogram.Buckets loop", func(x *callbackScene) {
			var h stats.Histogram
			h.Add(time.Second)
			failIn2(x, h.Buckets())
		}),
	}
}

// schedule gives the world another scheduler, with the system of the scene.
func (x *callbackScene) schedule(o scheduler.Options) {
	x.s = scheduler.New(x.w, o)
	x.s.MustAdd("system", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() == 0 {
				once(&x.system, c)
			}
		}
	})
}

// balancer fails.
type balancer struct{ x *callbackScene }

func (b balancer) Balance(_ uint64, _ []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
	b.x.fail()
	return dst
}

// handler is a slog.Handler that fails.
type handler struct{ x *callbackScene }

func (h handler) Enabled(context.Context, slog.Level) bool { return true }
func (h handler) Handle(context.Context, slog.Record) error {
	h.x.fail()
	return nil
}
func (h handler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h handler) WithGroup(string) slog.Handler      { return h }

// schedulerCallbacks are the functions that package scheduler calls.
func schedulerCallbacks() []callbackRow {
	return []callbackRow{
		{of: "besides: scheduler, the constructor of a system", on: onCaller, twice: true, do: func(x *callbackScene) string {
			return x.must(x.s.Add("late", func(*world.Build) func(*world.Context) {
				x.fail()
				return func(*world.Context) {}
			}))
		}},
		{of: "scheduler.System", on: onWorker, twice: true, do: func(x *callbackScene) string {
			x.system = func(*world.Context) { x.fail() }
			return x.heard(x.s.Step(x.t.Context()), inStep)
		}},
		{of: "scheduler.When condition", on: onCaller, twice: true, do: func(x *callbackScene) string {
			x.schedule(scheduler.Options{})
			x.s.MustAdd("maybe", func(*world.Build) func(*world.Context) { return func(*world.Context) {} },
				scheduler.When(func(*world.World) bool { x.fail(); return true }))
			return x.heard(x.s.Step(x.t.Context()), inStep)
		}},
		{of: "scheduler.Balancer", on: onCaller, twice: true, do: func(x *callbackScene) string {
			x.schedule(scheduler.Options{Balancer: balancer{x}})
			return x.heard(x.s.Step(x.t.Context()), inStep)
		}},
		{of: "scheduler.Scheduler.Between f", on: onCaller, twice: true, do: func(x *callbackScene) string {
			fails, done := x.armed.Load(), x.s.Between(func(*world.World) { x.fail() })
			defer func() {
				if err := <-done; fails {
					x.also = x.told(err, "the channel of Between")
				}
			}()
			require.NoError(x.t, x.s.Step(x.t.Context()))
			return ""
		}},
		{of: "scheduler.Options.OnTick", on: onCaller, twice: true, do: func(x *callbackScene) string {
			tick := x.w.Tick()
			x.after(func() { require.Greater(x.t, x.w.Tick(), tick) })
			x.schedule(scheduler.Options{OnTick: func(scheduler.Report) { x.fail() }})
			return x.must(x.s.Step(x.t.Context()))
		}},
		{of: "scheduler.Watchdog.Notify", on: onOther, do: func(x *callbackScene) string {
			told := make(chan struct{}, 8)
			x.schedule(scheduler.Options{Watchdog: scheduler.Watchdog{After: time.Millisecond, Notify: func(scheduler.Stuck) {
				defer func() { told <- struct{}{} }()
				x.fail()
			}}})
			x.system = func(*world.Context) { <-told }
			return x.heard(x.s.Step(x.t.Context()), inStep)
		}},
		{of: "scheduler.Options.Logger", on: onOther, twice: true, do: func(x *callbackScene) string {
			x.schedule(scheduler.Options{Logger: slog.New(handler{x})})
			x.system = func(*world.Context) { panic("misuse: something to log") }
			require.Error(x.t, x.s.Step(x.t.Context()))
			return inStderr
		}},
	}
}

// placed is a place in an index or a region.
type callbackPlace struct{ X float64 }

type callbackThing struct{ callbackPlace }

// extensionCallbacks are the functions that the extensions call.
func extensionCallbacks() []callbackRow {
	kin := func(do func(x *callbackScene, r *hierarchy.Reader)) func(x *callbackScene) {
		return func(x *callbackScene) { do(x, x.kin.Read(x.w)) }
	}
	return []callbackRow{
		loop("names.Names.All loop", func(x *callbackScene) { failIn2(x, x.names.All()) }),
		loop("transit.Mail.Waiting loop", func(x *callbackScene) {
			_ = x.mail.Tell(x.w, x.hs[0], misuseFar, misuseHit{})
			failIn2(x, x.mail.Waiting(2))
		}),
		loop("transit.Mail.Unaccepted loop", func(x *callbackScene) {
			there := transit.New(world.MustNew(world.Options{}), "roads", transit.Options{World: 2})
			_ = x.mail.Tell(x.w, x.hs[0], misuseFar, misuseHit{})
			failIn2(x, x.mail.Unaccepted(there))
		}),
		loop("transit.Gate.Waiting loop", func(x *callbackScene) {
			_ = x.gate.Send(x.w, x.hs[19], 2, misusePass{})
			defer func() { _, _ = x.roads.Resolve(context.Background(), x.w, 2, transit.Drop) }() // World.Clear would leave it
			failIn2(x, x.gate.Waiting(2))
		}),
		loop("transit.Gate.Unaccepted loop", func(x *callbackScene) {
			there := transit.New(world.MustNew(world.Options{}), "roads", transit.Options{World: 2})
			_ = x.gate.Send(x.w, x.hs[19], 2, misusePass{})
			defer func() { _, _ = x.roads.Resolve(context.Background(), x.w, 2, transit.Drop) }() // World.Clear would leave it
			failIn2(x, x.gate.Unaccepted(there))
		}),
		loop("names.Reader.All loop", func(x *callbackScene) { failIn2(x, x.called.All()) }),
		loop("hierarchy.Reader.Ancestors loop", kin(func(x *callbackScene, r *hierarchy.Reader) { failIn(x, r.Ancestors(x.hs[11])) })),
		loop("hierarchy.Reader.BreadthFirst loop", kin(func(x *callbackScene, r *hierarchy.Reader) { failIn(x, r.BreadthFirst(x.hs[10])) })),
		loop("hierarchy.Reader.DepthFirst loop", kin(func(x *callbackScene, r *hierarchy.Reader) { failIn(x, r.DepthFirst(x.hs[10])) })),
		loop("hierarchy.Reader.Each loop", kin(func(x *callbackScene, r *hierarchy.Reader) { failIn(x, r.Each(x.hs[10])) })),
		{of: "hierarchy.Relation.Sort compare", on: onCaller, twice: true, do: func(x *callbackScene) string {
			return x.must(x.kin.Sort(x.w, x.hs[10], func(a, b handle.Handle) int { x.fail(); return a.Compare(b) }))
		}},
		{of: "near.New at", on: onWorker, do: func(x *callbackScene) string {
			world.Register[callbackPlace](x.w, "place")
			things := world.NewBundle[callbackThing](x.w)
			near.New(x.w, func(p callbackPlace) near.Point { x.fail(); return near.Point{X: p.X} }, misuseSpace)
			_, err := things.Create(x.w, callbackThing{})
			require.NoError(x.t, err)
			defer func() {
				require.ErrorIs(x.t, x.w.Err(), world.ErrBroken)
				x.also = "the world breaks"
			}()
			return x.heard(x.s.Step(x.t.Context()), inStep)
		}},
		{of: "region.New at", on: onWorker, do: func(x *callbackScene) string {
			g, err := region.New(x.w, func(p misuseHealth) (float64, float64) { x.fail(); return 0, 0 }, region.Options{Width: 1, Height: 1})
			require.NoError(x.t, err)
			x.s.MustAdd("regions", g.System)
			return x.heard(x.s.Step(x.t.Context()), inStep)
		}},
		{of: "prefab.Prefab.CreateN each", on: onCaller, twice: true, do: func(x *callbackScene) string {
			_, err := x.pair.CreateN(x.w, 2, func(int, *prefab.Instance) { x.fail() })
			return x.must(err)
		}},
		{of: "async.New run", on: onOther, do: func(x *callbackScene) string {
			x.ask(func(context.Context, int) (int, error) { x.fail(); return 0, nil }, async.PoolOptions{Logger: slog.New(slog.NewTextHandler(&x.log, nil))})
			return inLogger
		}},
		{of: "async.PoolOptions.Gate", on: onOther, do: func(x *callbackScene) string {
			x.ask(misuseRun, async.PoolOptions{Gate: func(context.Context) error { x.fail(); return nil }, Logger: slog.New(slog.NewTextHandler(&x.log, nil))})
			return inLogger
		}},
		{of: "async.PoolOptions.Logger", on: onOther, do: func(x *callbackScene) string {
			x.ask(func(context.Context, int) (int, error) { panic("misuse: something to log") }, async.PoolOptions{Logger: slog.New(handler{x})})
			return inStderr
		}},
		loop("snapshot.Inserted.All loop", func(x *callbackScene) {
			failIn2(x, must(snapshot.Insert(x.w, pieceOfOne(), snapshot.InsertOptions{})).All())
		}),
		loop("snapshot.Piece.Handles loop", func(x *callbackScene) { failIn(x, pieceOfOne().Handles()) }),
	}
}

// pieceOfOne returns a piece with an entity.
func pieceOfOne() *snapshot.Piece {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[misuseHealth](w, "health")
	must(world.NewBundle[misuseUnit](w).Create(w, misuseUnit{}))
	return must(snapshot.ExtractAll(w, snapshot.ExtractOptions{}))
}

type foreign struct{}

func (foreign) Get(handle.Handle) (int, bool) { return 1, true }

// ask asks for work outside, and waits until a Pool has sent its result.
func (x *callbackScene) ask(run func(context.Context, int) (int, error), o async.PoolOptions) {
	calls := async.New(x.w, "asks", x.misuseScene.done, run, async.Options{})
	_, err := calls.Go(x.w, x.hs[0], 1)
	require.NoError(x.t, err)
	o.Workers = 1
	pool, err := async.Attach(x.w, o)
	require.NoError(x.t, err)
	x.after(func() {
		_, err := calls.Go(x.w, x.hs[0], 1)
		require.NoError(x.t, err)
		for calls.Len() > 0 {
			require.NoError(x.t, x.s.Step(x.t.Context()))
			time.Sleep(time.Millisecond)
		}
		require.NoError(x.t, pool.Close(x.t.Context()))
	})
	for calls.Len() > 0 {
		require.NoError(x.t, x.s.Step(x.t.Context()))
		time.Sleep(time.Millisecond)
	}
}
