package durable_test

import (
	"context"
	"io"
	"testing/fstest"
	"time"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// What a program may have more than another.
type (
	Mast  struct{ N uint32 }
	Knot  struct{}
	Bell  struct{ N int }
	Chart struct{ N int }
	Log   struct{ N int }
	Rig   uint8

	sailor struct {
		Ship
		Account
	}
	again struct{ Ship }
	waits struct{ Ship }
)

// another is a kind of thing that a program may have one more of.
type another struct {
	name string
	// listed says that PlanLoad tells it, because the state hash depends on it.
	listed bool
	// alone says that a program without it refuses a snapshot that has it.
	alone bool
	add   func(x *bank)
	// by names the function that makes it, as TestProgramsComplete finds it.
	by string
	// had is what a program without it does instead.
	had func(x *bank)
	// after is done to a world that has entities.
	after func(x *bank)
	// options shapes the world and the scheduler of a program that has it.
	options func(*world.Options, *scheduler.Options)
}

var programs = []another{
	{name: "component", listed: true, alone: true, by: "world.Register", add: func(x *bank) { world.Register[Mast](x.World, "mast") }},
	{name: "tag", listed: true, alone: true, add: func(x *bank) { world.Register[Knot](x.World, "knot") }},
	{name: "message", listed: true, alone: true, by: "world.RegisterMessage", add: func(x *bank) { world.RegisterMessage[Bell](x.World, "bell") }},
	{name: "resource", listed: true, alone: true, by: "world.RegisterResource", add: func(x *bank) { world.RegisterResource(x.World, "chart", Chart{7}) }},
	{name: "accumulator", listed: true, alone: true, by: "world.RegisterAccumulator", add: func(x *bank) { world.RegisterAccumulator(x.World, "log", func(total, part *Log) { total.N += part.N }) }},
	{name: "hook", listed: true, alone: true, by: "World.Observe", add: func(x *bank) {
		x.Observe("more", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(*world.Context, world.Event, []handle.Handle) {}
		})
	}},
	{name: "relation", listed: true, alone: true, by: "hierarchy.New", add: func(x *bank) { hierarchy.New(x.World, "crew", hierarchy.Options{}) }},
	{name: "names", listed: true, alone: true, by: "names.New", add: func(x *bank) { names.New[string](x.World, "names", names.Options{}) }},
	{name: "timers", listed: true, alone: true, by: "timer.New", add: func(x *bank) {
		timer.New(x.World, "timers", world.RegisterMessage[Bell](x.World, "bell"), timer.Options{})
	}},
	{name: "call", listed: true, alone: true, by: "async.New", add: func(x *bank) {
		async.New(x.World, "ask", world.RegisterMessage[async.Result[int]](x.World, "answer"), func(context.Context, int) (int, error) { return 0, nil }, async.Options{})
	}},
	{name: "bundle of a new set", by: "world.NewBundle", add: func(x *bank) { world.NewBundle[sailor](x.World) }},
	{name: "bundle of a known set", add: func(x *bank) { world.NewBundle[again](x.World) }},
	{name: "function", by: "world.RegisterFunc", add: func(x *bank) { world.RegisterFunc(x.World, "row", func(*world.EntityContext, int) {}) }},
	{name: "query", add: func(x *bank) { x.Query(world.With[Ship](x.World)) }},
	{name: "prefab", by: "prefab.New", add: func(x *bank) { prefab.New(x.World, "boat", prefab.With(x.shipOf, Ship{1})) }},
	{name: "index", by: "near.New", add: func(x *bank) {
		near.New(x.World, func(s Ship) near.Point { return near.Point{X: float64(s.N % 7)} }, near.Options{Max: near.Point{X: 10, Y: 10}, Cell: 1})
	}},
	{name: "system", listed: true, alone: true, by: "Scheduler.Add", add: func(x *bank) {
		x.s.MustAdd("more", func(*world.Build) func(*world.Context) { return func(*world.Context) {} })
	}},
	{name: "global system", listed: true, alone: true, add: func(x *bank) {
		x.s.MustAdd("more", func(*world.Build) func(*world.Context) { return func(*world.Context) {} }, scheduler.Global())
	}},
	{name: "extra", listed: true, alone: true, add: func(x *bank) {
		x.options.Snapshot.Extras = append(x.options.Snapshot.Extras, snapshot.Extra{Name: "more", Append: func(dst []byte) []byte { return dst }, Read: func([]byte) error { return nil }})
	}},
	{name: "tag and its pin", listed: true, alone: true, add: func(x *bank) { x.Pin(world.Register[Knot](x.World, "knot")) }},
	{name: "pin", add: func(x *bank) { x.Pin(x.shipOf) }},
	{name: "bundle of the same type", add: func(x *bank) { world.NewBundle[fleet](x.World) }},
	{name: "question", by: "world.RegisterQuestion", add: func(x *bank) {
		world.RegisterQuestion(x.World, "number", func(self *world.EntityContext, _ int) uint64 { return x.shipOf.Read(self).N })
	}},
	{name: "transaction", by: "world.RegisterTransaction", add: func(x *bank) {
		world.RegisterTransaction(x.World, "sail", func(tx *world.Tx, h handle.Handle) (Ship, error) {
			ship, _ := x.shipOf.Get(tx, h)
			return ship, nil
		})
	}},
	{name: "output", by: "world.RegisterOutput", add: func(x *bank) { world.RegisterOutput[uint64](x.World, "says") }},
	{name: "waking", by: "Message.Wakes", add: func(x *bank) { world.RegisterMessage[Bell](x.World, "bell").Wakes(1) }, had: func(x *bank) {
		world.RegisterMessage[Bell](x.World, "bell")
	}},
	{name: "roads", listed: true, alone: true, by: "transit.New", add: roads(nil)},
	{name: "mail", listed: true, alone: true, by: "transit.RegisterMail", add: roads(func(r *transit.Roads, bells *world.Message[Bell]) { transit.RegisterMail(r, bells) }), had: roads(nil)},
	{name: "gate", listed: true, alone: true, by: "transit.RegisterGate", add: roads(func(r *transit.Roads, _ *world.Message[Bell]) { transit.RegisterGate[Bell](r, "gate") }), had: roads(nil)},
	{name: "query of flags", add: func(x *bank) { x.Query(world.With[Ship](x.World), world.WithFlags(x.World, 1)) }},
	{name: "turns", add: queries(func(b *world.Build) *world.Query { return b.Query(world.With[Ship](b), world.Turns(b, 2)) }), had: queries(nil)},
	{name: "access of a system", add: queries(func(b *world.Build) *world.Query { world.Write[Account](b); return b.Query() }), had: queries(nil)},
	{name: "rules of a system", add: func(x *bank) { x.s.MustAdd("more", idle, scheduler.Optional(), scheduler.Before("drift")) }, had: queries(nil)},
	{name: "reference", after: func(x *bank) { reference.Own(x.World, x.accounts()[0], nil) }},
	{name: "region and PlaceBy", by: "region.New", add: func(x *bank) {
		grid, err := region.New(x.World, func(s Ship) (float64, float64) { return float64(s.N % 10), 0 }, region.Options{Width: 10, Height: 10})
		if err != nil {
			panic(err)
		}
		world.NewBundle[waits](x.World).PlaceBy(func(s waits) int { return grid.Shard(s.Ship) })
	}},
	{name: "view", by: "World.NewView", add: func(x *bank) { x.NewView(x.shipOf) }},
	{name: "set of interest", by: "interest.New", add: func(x *bank) {
		interest.New(x.World, near.New(x.World, func(s Ship) near.Point { return near.Point{} }, near.Options{Max: near.Point{X: 10, Y: 10}, Cell: 1}), interest.Options{})
	}},
	{name: "prefabs of a file", by: "prefab.Load", add: func(x *bank) {
		files := fstest.MapFS{"more.json": {Data: []byte(`{"more": {"components": {"ship": {"N": 1}}}}`)}}
		if _, err := prefab.Load(x.World, files, "*.json"); err != nil {
			panic(err)
		}
	}},
	{name: "codec", by: "state.Register", add: func(x *bank) {
		if x.options.Snapshot.Codecs = new(state.Codecs); x.Tick() == 0 {
			state.Register(x.options.Snapshot.Codecs, state.Codec[Chart]{
				Append: func(dst []byte, v *Chart) []byte { return append(dst, byte(v.N)) },
				Read:   func(src []byte, v *Chart) error { v.N = int(src[0]); return nil },
			})
		}
	}},
	{name: "enum", by: "state.RegisterEnum", add: func(x *bank) {
		x.options.Snapshot.Codecs = new(state.Codecs)
		state.RegisterEnum(x.options.Snapshot.Codecs, map[Rig]string{0: "sloop", 1: "brig"})
	}},
	{name: "hasher", by: "state.NewHasher", add: func(x *bank) { state.NewHasher(x.World, nil) }},
	{name: "recorder that is closed", by: "inputlog.NewRecorder", add: func(x *bank) {
		r, err := inputlog.NewRecorder(x.World, io.Discard, inputlog.Options{})
		if err == nil {
			err = r.Close()
		}
		if err != nil {
			panic(err)
		}
	}},
	{name: "ladder", options: func(_ *world.Options, o *scheduler.Options) { o.Ladder = []scheduler.Rung{scheduler.SkipOptional()} }},
	{name: "balancer", listed: true, options: func(_ *world.Options, o *scheduler.Options) {
		o.Balancer = scheduler.Level(scheduler.LevelOptions{Least: 1 << 30})
	}},
	{name: "balancer without a state", listed: true, options: func(_ *world.Options, o *scheduler.Options) { o.Balancer = still{} }},
	{name: "limits of ports", options: func(o *world.Options, _ *scheduler.Options) { o.PortsMax, o.QueueRequests, o.QueueBytes = 9, 64, 1<<20 }},
	{name: "frames", options: func(o *world.Options, _ *scheduler.Options) { o.FramesMax = 9 }},
	{name: "limit of outboxes", listed: true, options: func(o *world.Options, _ *scheduler.Options) { o.OutboxRequests = 1 << 17 }},
	{name: "rows of chunks", listed: true, options: func(o *world.Options, _ *scheduler.Options) { o.ChunkRowsMax = 1 << 9 }},
	{name: "interval", listed: true, options: func(o *world.Options, _ *scheduler.Options) { o.TickInterval = time.Second }},
	{name: "limits of a relation", listed: true, add: func(x *bank) { hierarchy.New(x.World, "crew", hierarchy.Options{ConflictsMax: 9, PlacesMax: 9}) }, had: func(x *bank) {
		hierarchy.New(x.World, "crew", hierarchy.Options{})
	}},
	{name: "limits of names", listed: true, add: func(x *bank) { names.New[string](x.World, "names", names.Options{LengthMax: 9, ConflictsMax: 9}) }, had: func(x *bank) {
		names.New[string](x.World, "names", names.Options{})
	}},
	{name: "limit of timers", listed: true, add: timers(timer.Options{Max: 9}), had: timers(timer.Options{})},
	{name: "limits of a call", listed: true, add: calls(async.Options{Pending: 9, Ticks: 9}), had: calls(async.Options{})},
}

// idle is a system that does nothing.
func idle(*world.Build) func(*world.Context) { return func(*world.Context) {} }

// queries adds a system that asks for more than the other.
func queries(ask func(b *world.Build) *world.Query) func(x *bank) {
	return func(x *bank) {
		x.s.MustAdd("more", func(b *world.Build) func(*world.Context) {
			if ask != nil {
				ask(b)
			}
			return func(*world.Context) {}
		})
	}
}

func timers(o timer.Options) func(x *bank) {
	return func(x *bank) { timer.New(x.World, "timers", world.RegisterMessage[Bell](x.World, "bell"), o) }
}

func calls(o async.Options) func(x *bank) {
	return func(x *bank) {
		async.New(x.World, "ask", world.RegisterMessage[async.Result[int]](x.World, "answer"), func(context.Context, int) (int, error) { return 0, nil }, o)
	}
}

// still is a Balancer that does nothing.
type still struct{}

func (still) Balance(_ uint64, _ []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
	return dst
}

// roads makes roads to other worlds, and what else uses them.
func roads(also func(r *transit.Roads, bells *world.Message[Bell])) func(x *bank) {
	return func(x *bank) {
		bells := world.RegisterMessage[Bell](x.World, "bell")
		if r := transit.New(x.World, "roads", transit.Options{World: 1}); also != nil {
			also(r, bells)
		}
	}
}
