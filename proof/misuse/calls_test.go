package misuse_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"iter"
	"testing"
	"testing/fstest"

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

// Why calls return at a time that is not theirs.
const (
	atAnyTime  = "safe from any goroutine at any time; in a closed world every handle is dead"
	fixed      = "what it returns never changes"
	byRequest  = "a request, accepted at any time; the refresh applies it"
	doneInLoop = "done at once in a query loop and in a function by the World, because it moves no row"
	unlocked   = "not checked in a release build, because a check would cost as much as the look-up"
	ownOnly    = "about the scheduler, not the world; safe from any goroutine"
	ownBetween = "about the scheduler, not the world; allowed between its ticks"
)

// none makes a row of a call without an error.
func none(do func(x *misuseScene)) func(x *misuseScene) error {
	return func(x *misuseScene) error { do(x); return nil }
}

// walk walks a sequence.
func walk[T any](all iter.Seq[T]) {
	for range all {
	}
}

func walk2[K, V any](all iter.Seq2[K, V]) {
	for range all {
	}
}

type misuseLate struct{ N int }

// misuseSections are the calls, by what they are of.
var misuseSections = []struct {
	title string
	times []misuseTime // nil: misuseTimes
	rows  []misuseRow
}{
	{"The idle World", nil, []misuseRow{
		{call: "World.Alive", why: atAnyTime, do: none(func(x *misuseScene) { x.w.Alive(x.hs[0]) })},
		{call: "World.Tick", why: atAnyTime, do: none(func(x *misuseScene) { x.w.Tick() })},
		{call: "World.Err", why: atAnyTime, do: none(func(x *misuseScene) { _ = x.w.Err() })},
		{call: "World.OpenPort", why: atAnyTime, do: func(x *misuseScene) error { _, err := x.w.OpenPort(); return err }},
		{call: "World.Options", why: fixed, do: none(func(x *misuseScene) { x.w.Options() })},
		{call: "World.Shards", why: fixed, do: none(func(x *misuseScene) { x.w.Shards() })},
		{call: "World.Layout", why: fixed, do: none(func(x *misuseScene) { x.w.Layout() })},
		{call: "World.Locate", why: unlocked, do: none(func(x *misuseScene) { x.w.Locate(x.hs[0]) })},
		{call: "World.Refresh", do: none(func(x *misuseScene) { x.w.Refresh() })},
		{call: "World.Reincarnate", do: func(x *misuseScene) error { return x.w.Reincarnate(2) }},
		{call: "World.Clear", do: none(func(x *misuseScene) { x.w.Clear() })},
		{call: "World.Close", why: "closing a closed world is no error", do: none(func(x *misuseScene) { x.w.Close() })},
		{call: "World.Status", why: doneInLoop, do: none(func(x *misuseScene) { x.w.Status(x.hs[0]) })},
		{call: "World.Has", why: doneInLoop, do: none(func(x *misuseScene) { x.w.Has(x.hs[0], x.health) })},
		{call: "World.Owner", why: doneInLoop, do: none(func(x *misuseScene) { x.w.Owner(x.hs[0]) })},
		{call: "FlagsOf", why: atAnyTime, do: none(func(x *misuseScene) { world.FlagsOf(x.w, x.hs[0]) })},
		{call: "World.Destroy", why: doneInLoop, do: none(func(x *misuseScene) { x.w.Destroy(x.hs[1]) })},
		{call: "Copy", why: doneInLoop, do: func(x *misuseScene) error { _, err := world.Copy(x.w, x.hs[0]); return err }},
		{call: "World.Count", why: doneInLoop, do: none(func(x *misuseScene) { x.w.Count() })},
		{call: "World.Stats", why: doneInLoop, do: none(func(x *misuseScene) { x.w.Stats(new(world.Stats)) })},
		{call: "World.Failure", why: doneInLoop, do: none(func(x *misuseScene) { _ = x.w.Failure() })},
		{call: "World.Describe", why: doneInLoop, do: none(func(x *misuseScene) { x.w.Describe() })},
		{call: "World.DescribeEntity", why: doneInLoop, do: none(func(x *misuseScene) { x.w.DescribeEntity(x.hs[0]) })},
		{call: "World.Pin", why: doneInLoop, do: none(func(x *misuseScene) { x.w.Pin(x.health) })},
		{call: "World.Observe", why: doneInLoop, do: none(func(x *misuseScene) {
			x.w.Observe("late", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
				return func(*world.Context, world.Event, []handle.Handle) {}
			})
		})},
		{call: "World.NewView", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.w.NewView(x.health); return err }},
		{call: "View.Now", why: doneInLoop, do: func(x *misuseScene) error {
			f, err := x.view.Now()
			f.Release()
			return err
		}},
		{call: "Component.CloneBy", why: doneInLoop, do: none(func(x *misuseScene) { x.health.CloneBy(func(to, from *misuseHealth) { *to = *from }) })},
		{call: "World.Query", why: doneInLoop, do: none(func(x *misuseScene) { x.w.Query() })},
		{call: "Output.Put", why: doneInLoop, do: func(x *misuseScene) error { return x.said.Put(x.w, 1) }},
		{call: "Output.Handle", why: doneInLoop, do: none(func(x *misuseScene) { x.said.Handle(func(world.Moment, int) {}) })},
	}},
	{"What is made in an idle World", nil, []misuseRow{
		{call: "Register", why: doneInLoop, do: none(func(x *misuseScene) { world.Register[misuseLate](x.w, "late") })},
		{call: "RegisterMessage", why: doneInLoop, do: none(func(x *misuseScene) { world.RegisterMessage[misuseLate](x.w, "late") })},
		{call: "RegisterFunc", why: doneInLoop, do: none(func(x *misuseScene) { world.RegisterFunc(x.w, "late", func(*world.EntityContext, int) {}) })},
		{call: "Transaction.Run", do: func(x *misuseScene) error { _, err := x.pay.Run(x.w, x.paying()); return err }},
		{call: "Transaction.Call", do: func(x *misuseScene) error { return x.pay.Call(x.w, x.paying()) }},
		{call: "RegisterTransaction", why: doneInLoop, do: none(func(x *misuseScene) {
			world.RegisterTransaction(x.w, "late", func(*world.Tx, int) (int, error) { return 0, nil })
		})},
		{call: "RegisterOutput", why: doneInLoop, do: none(func(x *misuseScene) { world.RegisterOutput[misuseLate](x.w, "late") })},
		{call: "RegisterQuestion", why: doneInLoop, do: none(func(x *misuseScene) {
			world.RegisterQuestion(x.w, "late", func(*world.EntityContext, int) int { return 0 })
		})},
		{call: "RegisterResource", why: doneInLoop, do: none(func(x *misuseScene) { world.RegisterResource(x.w, "late", misuseLate{}) })},
		{call: "RegisterAccumulator", why: doneInLoop, do: none(func(x *misuseScene) {
			world.RegisterAccumulator(x.w, "late", func(_, _ *misuseLate) {})
		})},
		{call: "NewBundle", why: doneInLoop, do: none(func(x *misuseScene) { world.NewBundle[misuseUnit](x.w) })},
		{call: "Read", why: doneInLoop, do: none(func(x *misuseScene) { world.Read[misuseHealth](x.w) })},
		{call: "Write", why: doneInLoop, do: none(func(x *misuseScene) { world.Write[misuseHealth](x.w) })},
		{call: "With", why: doneInLoop, do: none(func(x *misuseScene) { world.With[misuseHealth](x.w) })},
		{call: "Without", why: doneInLoop, do: none(func(x *misuseScene) { world.Without[misuseHealth](x.w) })},
		{call: "hierarchy.New", why: doneInLoop, do: none(func(x *misuseScene) { hierarchy.New(x.w, "late", hierarchy.Options{}) })},
		{call: "Turns", why: doneInLoop, do: none(func(x *misuseScene) { world.Turns(x.w, 2) })},
		{call: "TurnsFor", why: doneInLoop, do: none(func(x *misuseScene) { world.TurnsFor(x.w, 2) })},
		{call: "WithoutFlags", why: doneInLoop, do: none(func(x *misuseScene) { world.WithoutFlags(x.w, 1) })},
		{call: "WithFlags", why: doneInLoop, do: none(func(x *misuseScene) { world.WithFlags(x.w, 1) })},
		{call: "Bundle.PlaceBy", why: doneInLoop, do: none(func(x *misuseScene) { x.unit.PlaceBy(nil) })},
		{call: "Message.Wakes", why: doneInLoop, do: none(func(x *misuseScene) { x.hit.Wakes(1) })},
	}},
	{"Entities, by the World", nil, []misuseRow{
		{call: "Bundle.Create", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.unit.Create(x.w, misuseUnit{}); return err }},
		{call: "Bundle.CreateN", why: doneInLoop, do: func(x *misuseScene) error { return x.unit.CreateN(x.w, 2, nil) }},
		{call: "Bundle.AppendN", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.unit.AppendN(nil, x.w, 2, nil); return err }},
		{call: "Bundle.CreateRows", why: doneInLoop, do: func(x *misuseScene) error { return x.unit.CreateRows(x.w, 2, func(world.Chunk) {}) }},
		{call: "Bundle.Reserve", why: doneInLoop, do: func(x *misuseScene) error { return x.unit.Reserve(x.w, 2) }},
		{call: "Bundle.Set", why: doneInLoop, do: func(x *misuseScene) error { return x.unit.Set(x.w, x.hs[0], misuseUnit{}) }},
		{call: "Bundle.Add", do: func(x *misuseScene) error { return x.named.Add(x.w, x.hs[0], misuseNamed{}) }},
		{call: "Bundle.Add and remove", do: func(x *misuseScene) error { return x.named.Add(x.w, x.hs[0], misuseNamed{}, x.unit) }},
		{call: "Bundle.AddTo", do: func(x *misuseScene) error { return x.named.AddTo(x.all, nil) }},
		{call: "Bundle.AddTo and remove", do: func(x *misuseScene) error { return x.named.AddTo(x.all, nil, x.unit) }},
		{call: "Component.Set", why: doneInLoop, do: func(x *misuseScene) error { return x.health.Set(x.w, x.hs[0], misuseHealth{}) }},
		{call: "Component.Add", do: func(x *misuseScene) error { return x.name.Add(x.w, x.hs[0], misuseName{}) }},
		{call: "Component.Remove", do: func(x *misuseScene) error { return x.health.Remove(x.w, x.hs[0]) }},
		{call: "Component.AddTo", do: func(x *misuseScene) error { return x.name.AddTo(x.all, nil) }},
		{call: "AddFlags", why: doneInLoop, do: func(x *misuseScene) error { return world.AddFlags(x.w, x.hs[0], 1) }},
		{call: "RemoveFlags", why: doneInLoop, do: func(x *misuseScene) error { return world.RemoveFlags(x.w, x.hs[0], 1) }},
		{call: "Move", do: func(x *misuseScene) error { return world.Move(x.w, x.hs[0], 1-int(x.hs[0].Home())) }},
		{call: "Func.Call", why: doneInLoop, do: func(x *misuseScene) error { return x.heal.Call(x.w, x.hs[0], 1) }},
		{call: "Message.Send", why: doneInLoop, do: func(x *misuseScene) error { return x.hit.Send(x.w, x.hs[0], misuseHit{}) }},
		{call: "Message.SendShard", why: doneInLoop, do: func(x *misuseScene) error { return x.hit.SendShard(x.w, 0, misuseHit{}) }},
		{call: "Message.Broadcast", why: doneInLoop, do: func(x *misuseScene) error { return x.hit.Broadcast(x.w, misuseHit{}) }},
		{call: "Resource.Get", why: doneInLoop, do: none(func(x *misuseScene) { x.weather.Get() })},
		{call: "Resource.Set", why: doneInLoop, do: none(func(x *misuseScene) { x.weather.Set(2) })},
		{call: "Hook.SetEnabled", why: doneInLoop, do: none(func(x *misuseScene) { x.hook.SetEnabled(true) })},
	}},
	{"Queries and accessors of the World", nil, []misuseRow{
		{call: "Query.Chunks", why: doneInLoop, do: none(func(x *misuseScene) { walk(x.all.Chunks()) })},
		{call: "Query.ChunksSince", why: doneInLoop, do: none(func(x *misuseScene) { walk(x.all.ChunksSince(0)) })},
		{call: "Query.Entities", why: doneInLoop, do: none(func(x *misuseScene) { walk2(x.all.Entities()) })},
		{call: "Query.At", why: doneInLoop, do: none(func(x *misuseScene) { x.all.At(0) })},
		{call: "Query.Count", why: doneInLoop, do: none(func(x *misuseScene) { x.all.Count() })},
		{call: "Query.Delta", why: doneInLoop, do: none(func(x *misuseScene) { x.all.Delta() })},
		{call: "Query.Destroy", why: doneInLoop, do: none(func(x *misuseScene) { x.nobody.Destroy() })},
		{call: "Query.Remove", do: func(x *misuseScene) error { return x.all.Remove(x.unit) }},
		{call: "Reader.Get", why: unlocked, do: none(func(x *misuseScene) { x.read.Get(x.hs[0]) })},
		{call: "Writer.Get", why: unlocked, do: none(func(x *misuseScene) { x.write.Get(x.hs[0]) })},
	}},
	{"Ports", nil, []misuseRow{
		{call: "Port.Alive", why: atAnyTime, do: none(func(x *misuseScene) { x.port.Alive(x.hs[0]) })},
		{call: "Port.Status", why: atAnyTime, do: none(func(x *misuseScene) { x.port.Status(x.hs[0]) })},
		{call: "FlagsOf by a Port", why: atAnyTime, do: none(func(x *misuseScene) { world.FlagsOf(x.port, x.hs[0]) })},
		{call: "Port.Number", why: atAnyTime, do: none(func(x *misuseScene) { x.port.Number() })},
		{call: "Port.Waiting", why: atAnyTime, do: none(func(x *misuseScene) { x.port.Waiting() })},
		{call: "Port.Rejected", why: atAnyTime, do: none(func(x *misuseScene) { x.port.Rejected() })},
		{call: "Port.Close", why: "allowed at any time; closing a closed port is no error", do: none(func(x *misuseScene) { x.port.Close() })},
		{call: "Port.Destroy", why: byRequest, do: func(x *misuseScene) error { return x.port.Destroy(x.hs[1]) }},
		{call: "Port.DestroyN", why: byRequest, do: func(x *misuseScene) error { return x.port.DestroyN(x.hs[1:3]) }},
		{call: "Component.SetN by a Port", why: byRequest, do: func(x *misuseScene) error { return x.health.SetN(x.port, x.hs[:2], make([]misuseHealth, 2)) }},
		{call: "Port.Batch", why: byRequest, do: func(x *misuseScene) error {
			return x.port.Batch(func() error { return x.port.Destroy(x.hs[1]) })
		}},
		{call: "Port.Notify", why: byRequest, do: func(x *misuseScene) error { return x.port.Notify(new(world.Completion)).Destroy(x.hs[1]) }},
		{call: "Port.Within", why: byRequest, do: func(x *misuseScene) error { return x.port.Within(context.Background()).Destroy(x.hs[1]) }},
		{call: "Bundle.Create by a Port", why: byRequest, do: func(x *misuseScene) error { _, err := x.unit.Create(x.port, misuseUnit{}); return err }},
		{call: "Bundle.CreateN by a Port", why: byRequest, do: func(x *misuseScene) error { return x.unit.CreateN(x.port, 2, nil) }},
		{call: "Component.Set by a Port", why: byRequest, do: func(x *misuseScene) error { return x.health.Set(x.port, x.hs[0], misuseHealth{}) }},
		{call: "Component.Add by a Port", why: byRequest, do: func(x *misuseScene) error { return x.name.Add(x.port, x.hs[0], misuseName{}) }},
		{call: "Component.Remove by a Port", why: byRequest, do: func(x *misuseScene) error { return x.health.Remove(x.port, x.hs[1]) }},
		{call: "Component.Ask", why: byRequest, do: func(x *misuseScene) error { return x.health.Ask(x.port, x.hs[0], new(world.Answer[misuseHealth])) }},
		{call: "Question.Ask", why: byRequest, do: func(x *misuseScene) error { return x.points.Ask(x.port, x.hs[0], 1, new(world.Answer[int64])) }},
		{call: "Transaction.Send", why: byRequest, do: func(x *misuseScene) error { return x.pay.Send(x.port, x.paying(), new(world.Answer[int64])) }},
		{call: "Transaction.Ask", do: func(x *misuseScene) error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_, err := x.pay.Ask(ctx, x.port, x.paying())
			return err
		}},
		{call: "Transaction.Call by a Port", why: byRequest, do: func(x *misuseScene) error { return x.pay.Call(x.port, x.paying()) }},
		{call: "Func.Call by a Port", why: byRequest, do: func(x *misuseScene) error { return x.heal.Call(x.port, x.hs[0], 1) }},
		{call: "Message.Send by a Port", why: byRequest, do: func(x *misuseScene) error { return x.hit.Send(x.port, x.hs[0], misuseHit{}) }},
		{call: "Message.Broadcast by a Port", why: byRequest, do: func(x *misuseScene) error { return x.hit.Broadcast(x.port, misuseHit{}) }},
		{call: "Output.Put by a Port", do: func(x *misuseScene) error { return x.said.Put(x.port, 1) }},
		{call: "Move by a Port", why: byRequest, do: func(x *misuseScene) error { return world.Move(x.port, x.hs[1], 1) }},
		{call: "AddFlags by a Port", why: byRequest, do: func(x *misuseScene) error { return world.AddFlags(x.port, x.hs[1], 1) }},
	}},
	{"The scheduler", nil, []misuseRow{
		{call: "Scheduler.Step", do: func(x *misuseScene) error { return x.s.Step(context.Background()) }},
		{call: "Scheduler.Run", do: func(x *misuseScene) error { return x.s.Run(context.Background()) }},
		{call: "Scheduler.Add", why: doneInLoop, do: func(x *misuseScene) error {
			return x.s.Add("late", func(*world.Build) func(*world.Context) { return func(*world.Context) {} })
		}},
		{call: "Scheduler.Enable", why: ownOnly, do: func(x *misuseScene) error { return x.s.Enable("system") }},
		{call: "Scheduler.Disable", why: ownOnly, do: func(x *misuseScene) error { return x.s.Disable("system") }},
		{call: "Scheduler.Pause", why: ownOnly, do: none(func(x *misuseScene) { x.s.Pause() })},
		{call: "Scheduler.Resume", why: ownOnly, do: none(func(x *misuseScene) { x.s.Resume() })},
		{call: "Scheduler.Between", why: ownOnly, do: none(func(x *misuseScene) { x.s.Between(func(*world.World) {}) })},
		{call: "Scheduler.Paused", why: ownOnly, do: none(func(x *misuseScene) { x.s.Paused() })},
		{call: "Scheduler.Trace", why: ownOnly, do: func(x *misuseScene) error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_, err := x.s.Trace(ctx, 1)
			return err
		}},
		{call: "Scheduler.Running", why: ownOnly, do: none(func(x *misuseScene) { x.s.Running() })},
		{call: "Scheduler.KeepOverruns", why: ownOnly, do: none(func(x *misuseScene) { x.s.KeepOverruns(1).Close() })},
		{call: "Overruns.Traces", why: ownOnly, do: none(func(x *misuseScene) { x.s.KeepOverruns(1).Traces() })},
		{call: "Overruns.Close", why: ownOnly, do: none(func(x *misuseScene) { x.s.KeepOverruns(1).Close() })},
		{call: "Scheduler.Options", why: ownOnly, do: none(func(x *misuseScene) { x.s.Options() })},
		{call: "Scheduler.StepOnce", why: ownOnly, do: none(func(x *misuseScene) { x.s.StepOnce() })},
		{call: "Scheduler.Stop", why: ownOnly, do: none(func(x *misuseScene) { x.s.Stop() })},
		{call: "Scheduler.Enabled", why: ownOnly, do: none(func(x *misuseScene) { x.s.Enabled("system") })},
		{call: "Scheduler.World", why: ownOnly, do: none(func(x *misuseScene) { x.s.World() })},
		{call: "Scheduler.Workers", why: ownOnly, do: none(func(x *misuseScene) { x.s.Workers() })},
		{call: "Scheduler.Systems", why: ownBetween, do: none(func(x *misuseScene) { x.s.Systems() })},
		{call: "Scheduler.Stats", why: ownBetween, do: none(func(x *misuseScene) { x.s.Stats(new(scheduler.Stats)) })},
		{call: "Scheduler.AppendShards", why: ownBetween, do: func(x *misuseScene) error { _, err := x.s.AppendShards(nil, "system"); return err }},
		{call: "Scheduler.Schedule", why: ownBetween, do: func(x *misuseScene) error { _, err := x.s.Schedule(); return err }},
		{call: "Scheduler.Shifts", why: ownBetween, do: none(func(x *misuseScene) { x.s.Shifts() })},
		{call: "Scheduler.AppendState", why: ownBetween, do: none(func(x *misuseScene) { x.s.AppendState(nil) })},
		{call: "Scheduler.LoadState", why: ownBetween, do: func(x *misuseScene) error { return x.s.LoadState(misuseState) }},
		{call: "scheduler.New", why: ownOnly, do: none(func(x *misuseScene) { scheduler.New(x.w, scheduler.Options{}) })},
	}},
	{"References", nil, []misuseRow{
		{call: "reference.To", why: atAnyTime, do: none(func(x *misuseScene) { reference.To(x.w, x.hs[0]) })},
		{call: "Weak.Get", why: atAnyTime, do: none(func(x *misuseScene) { r := reference.To(x.w, x.hs[0]); r.Get() })},
		{call: "Weak.Bind", why: atAnyTime, do: none(func(x *misuseScene) {
			var r reference.Weak
			_ = r.UnmarshalText([]byte(x.hs[0].String()))
			r.Bind(x.w)
		})},
		{call: "Weak.Destroy", why: atAnyTime, do: none(func(x *misuseScene) { r := reference.To(x.w, x.hs[1]); r.Destroy() })},
		{call: "reference.Own", why: atAnyTime, do: none(func(x *misuseScene) { reference.Own(x.w, x.hs[0], nil) })},
		{call: "Owner.Release", why: atAnyTime, do: none(func(x *misuseScene) { o := reference.Own(x.w, x.hs[1], nil); o.Release() })},
	}},
	{"Names", nil, []misuseRow{
		{call: "Names.Lookup", why: atAnyTime, do: none(func(x *misuseScene) { x.names.Lookup("twenty") })},
		{call: "Names.NameOf", why: atAnyTime, do: none(func(x *misuseScene) { x.names.NameOf(x.hs[20]) })},
		{call: "Names.Conflicts", why: "not checked, but wrong beside a refresh, which writes what it reads", do: none(func(x *misuseScene) { x.names.Conflicts() })},
		{call: "Names.Len", why: atAnyTime, do: none(func(x *misuseScene) { x.names.Len() })},
		{call: "Names.Read", why: doneInLoop, do: none(func(x *misuseScene) { x.names.Read(x.w) })},
		{call: "Reader.Lookup", why: atAnyTime, do: none(func(x *misuseScene) { x.called.Lookup("twenty") })},
		{call: "Reader.NameOf", why: atAnyTime, do: none(func(x *misuseScene) { x.called.NameOf(x.hs[20]) })},
		{call: "Reader.Len", why: atAnyTime, do: none(func(x *misuseScene) { x.called.Len() })},
		{call: "Reader.All", why: doneInLoop, do: none(func(x *misuseScene) { walk2(x.called.All()) })},
		{call: "Names.Bind", why: doneInLoop, do: func(x *misuseScene) error { return x.names.Bind(x.w, x.hs[0], "zero") }},
		{call: "Names.Unbind", why: doneInLoop, do: func(x *misuseScene) error { return x.names.Unbind(x.w, x.hs[20]) }},
		{call: "Names.All", why: doneInLoop, do: none(func(x *misuseScene) { walk2(x.names.All()) })},
		{call: "Names.Bind by a Port", why: byRequest, do: func(x *misuseScene) error { return x.names.Bind(x.port, x.hs[0], "zero") }},
		{call: "Names.Unbind by a Port", why: byRequest, do: func(x *misuseScene) error { return x.names.Unbind(x.port, x.hs[20]) }},
		{call: "Timers.After", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.timers.After(x.w, x.hs[0], 5, misuseHit{}); return err }},
		{call: "Timers.At", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.timers.At(x.w, x.hs[0], 5, misuseHit{}); return err }},
		{call: "Timers.Every", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.timers.Every(x.w, x.hs[0], 5, misuseHit{}); return err }},
		{call: "Timers.Reset", why: doneInLoop, do: func(x *misuseScene) error { return x.timers.Reset(x.w, x.timer, 500) }},
		{call: "Timers.Cancel", why: doneInLoop, do: func(x *misuseScene) error { return x.timers.Cancel(x.w, x.timer) }},
		{call: "Timers.Len", why: doneInLoop, do: none(func(x *misuseScene) { x.timers.Len() })},
		{call: "Timers.After by a Port", why: byRequest, do: func(x *misuseScene) error { _, err := x.timers.After(x.port, x.hs[0], 5, misuseHit{}); return err }},
		{call: "Mail.Tell", why: doneInLoop, do: func(x *misuseScene) error { return x.mail.Tell(x.w, x.hs[0], misuseFar, misuseHit{}) }},
		{call: "Mail.Tell by a Port", why: byRequest, do: func(x *misuseScene) error { return x.mail.Tell(x.port, x.hs[0], misuseFar, misuseHit{}) }},
		{call: "Mail.Waiting", why: doneInLoop, do: none(func(x *misuseScene) { walk2(x.mail.Waiting(2)) })},
		{call: "Mail.Unaccepted", why: doneInLoop, do: none(func(x *misuseScene) { walk2(x.mail.Unaccepted(x.roads)) })},
		{call: "Gate.Send", why: doneInLoop, do: func(x *misuseScene) error { return x.gate.Send(x.w, x.hs[19], 2, misusePass{}) }},
		{call: "Gate.Send by a Port", why: byRequest, do: func(x *misuseScene) error { return x.gate.Send(x.port, handle.None, 2, misusePass{}) }},
		{call: "Gate.Waiting", why: doneInLoop, do: none(func(x *misuseScene) { walk2(x.gate.Waiting(2)) })},
		{call: "Gate.Unaccepted", why: doneInLoop, do: none(func(x *misuseScene) { walk2(x.gate.Unaccepted(x.roads)) })},
		{call: "Roads.Away", why: doneInLoop, do: none(func(x *misuseScene) { x.roads.Away(x.w, x.hs[0]) })},
		{call: "Roads.Peers", why: doneInLoop, do: none(func(x *misuseScene) { x.roads.Peers() })},
		{call: "Roads.Channel", why: doneInLoop, do: none(func(x *misuseScene) { x.roads.Channel(2) })},
		{call: "Roads.Done", why: doneInLoop, do: none(func(x *misuseScene) { x.roads.Done() })},
		{call: "Roads.Close", why: doneInLoop, do: func(x *misuseScene) error { return x.roads.Close(x.w) }},
		{call: "Roads.Close by a Port", why: byRequest, do: func(x *misuseScene) error { return x.roads.Close(x.port) }},
		{call: "Roads.Resolve", why: doneInLoop, do: func(x *misuseScene) error {
			_, err := x.roads.Resolve(context.Background(), x.w, 2, transit.Drop)
			return err
		}},
		{call: "transit.New", why: doneInLoop, do: none(func(x *misuseScene) { transit.New(x.w, "late", transit.Options{World: 3}) })},
		{call: "transit.RegisterGate", why: doneInLoop, do: none(func(x *misuseScene) { transit.RegisterGate[int](x.roads, "late") })},
		{call: "transit.RegisterMail", why: doneInLoop, do: none(func(x *misuseScene) { transit.RegisterMail(x.roads, x.mail.Returned) })},
		{call: "Index.Read", why: doneInLoop, do: none(func(x *misuseScene) { x.near.Read(x.w) })},
		{call: "Reader.AppendWithin", why: doneInLoop, do: none(func(x *misuseScene) { x.nearby.AppendWithin(nil, near.Point{}, 1) })},
		{call: "Reader.AppendBox", why: doneInLoop, do: none(func(x *misuseScene) { x.nearby.AppendBox(nil, near.Point{}, near.Point{}) })},
		{call: "Reader.AppendNearest", why: doneInLoop, do: none(func(x *misuseScene) { x.nearby.AppendNearest(nil, near.Point{}, 1, 1) })},
		{call: "Reader.AppendAlong", why: doneInLoop, do: none(func(x *misuseScene) { x.nearby.AppendAlong(nil, near.Point{}, near.Point{}, 1) })},
		{call: "near.New", why: doneInLoop, do: none(func(x *misuseScene) {
			near.New(x.w, func(misuseHealth) near.Point { return near.Point{} }, misuseSpace)
		})},
		{call: "interest.New", why: doneInLoop, do: none(func(x *misuseScene) { interest.New(x.w, x.near, interest.Options{}) })},
		{call: "Prefab.Create", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.pair.Create(x.w); return err }},
		{call: "Prefab.Append", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.pair.Append(nil, x.w); return err }},
		{call: "Prefab.CreateN", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.pair.CreateN(x.w, 2, nil); return err }},
		{call: "Prefab.Create by a Port", why: byRequest, do: func(x *misuseScene) error { _, err := x.pair.Create(x.port); return err }},
		{call: "prefab.Copy", why: doneInLoop, do: func(x *misuseScene) error { _, err := prefab.Copy(x.w, x.hs[10], x.kin); return err }},
		{call: "prefab.New", why: doneInLoop, do: none(func(x *misuseScene) { prefab.New(x.w, "late", prefab.With(x.name, misuseName{})) })},
		{call: "prefab.Load", why: doneInLoop, do: func(x *misuseScene) error { _, err := prefab.Load(x.w, misuseFiles, "*"); return err }},
		{call: "timer.New", why: doneInLoop, do: none(func(x *misuseScene) { timer.New(x.w, "late", x.hit, timer.Options{}) })},
		{call: "Call.Go", why: doneInLoop, do: func(x *misuseScene) error { _, err := x.calls.Go(x.w, x.hs[0], 1); return err }},
		{call: "Call.Go by a Port", do: func(x *misuseScene) error { _, err := x.calls.Go(x.port, x.hs[0], 1); return err }},
		{call: "Call.Len", why: doneInLoop, do: none(func(x *misuseScene) { x.calls.Len() })},
		{call: "async.New", why: doneInLoop, do: none(func(x *misuseScene) { async.New(x.w, "late", x.done, misuseRun, async.Options{}) })},
		{call: "async.Attach", why: doneInLoop, do: func(x *misuseScene) error {
			p, err := async.Attach(x.w, async.PoolOptions{})
			if err == nil {
				err = p.Close(context.Background())
			}
			return err
		}},
		{call: "names.New", why: doneInLoop, do: none(func(x *misuseScene) { names.New[string](x.w, "late", names.Options{}) })},
	}},
	{"Relations", nil, relationRows()},
	{"Regions, hashes, logs and snapshots", nil, []misuseRow{
		{call: "region.New", why: fixed, do: func(x *misuseScene) error {
			_, err := region.New(x.w, func(misuseHealth) (_, _ float64) { return 0, 0 }, region.Options{Width: 10, Height: 10})
			return err
		}},
		{call: "state.StateHash", why: doneInLoop, do: func(x *misuseScene) error { _, err := state.StateHash(x.w, misuseCodecs()); return err }},
		{call: "Hasher.StateHash", why: doneInLoop, do: func(x *misuseScene) error { _, err := state.NewHasher(x.w, misuseCodecs()).StateHash(); return err }},
		{call: "Hasher.Sections", why: doneInLoop, do: func(x *misuseScene) error { _, err := state.NewHasher(x.w, misuseCodecs()).Sections(); return err }},
		{call: "inputlog.NewRecorder", why: doneInLoop, do: func(x *misuseScene) error {
			r, err := inputlog.NewRecorder(x.w, io.Discard, inputlog.Options{Codecs: misuseCodecs()})
			if err == nil {
				err = r.Close()
			}
			return err
		}},
		{call: "Log.Play", why: doneInLoop, do: func(x *misuseScene) error {
			log, err := inputlog.Open(bytes.NewReader(misuseLog))
			if err == nil {
				_, err = log.Play(x.w, misuseCodecs())
			}
			return err
		}},
		{call: "Log.Fits", why: doneInLoop, do: func(x *misuseScene) error {
			log, err := inputlog.Open(bytes.NewReader(misuseLog))
			if err == nil {
				err = log.Fits(x.w, misuseCodecs())
			}
			return err
		}},
		{call: "snapshot.Write", why: doneInLoop, do: func(x *misuseScene) error {
			return snapshot.Write(io.Discard, x.w, snapshot.Options{Codecs: misuseCodecs(), Compression: snapshot.None})
		}},
		{call: "snapshot.Capture", why: doneInLoop, do: func(x *misuseScene) error {
			c, err := snapshot.Capture(x.w, snapshot.Options{Codecs: misuseCodecs()})
			if err == nil {
				c.Release()
			}
			return err
		}},
		{call: "snapshot.PlanLoad", why: doneInLoop, do: func(x *misuseScene) error {
			_, err := snapshot.PlanLoad(bytes.NewReader(misuseSnapshot), x.w, snapshot.Options{Codecs: misuseCodecs()})
			return err
		}},
		{call: "snapshot.Load", do: func(x *misuseScene) error {
			return snapshot.Load(bytes.NewReader(misuseSnapshot), x.w, snapshot.Options{Codecs: misuseCodecs()})
		}},
		{call: "snapshot.Insert", do: func(x *misuseScene) error {
			_, err := snapshot.Insert(x.w, misusePiece, snapshot.InsertOptions{})
			return err
		}},
		{call: "snapshot.Fits", why: doneInLoop, do: func(x *misuseScene) error {
			return snapshot.Fits(x.w, misusePiece, snapshot.InsertOptions{})
		}},
		{call: "snapshot.Extract", why: doneInLoop, do: func(x *misuseScene) error {
			_, err := snapshot.Extract(x.w, snapshot.ExtractOptions{Codecs: misuseCodecs()}, x.hs[0])
			return err
		}},
		{call: "snapshot.ExtractAll", why: doneInLoop, do: func(x *misuseScene) error {
			_, err := snapshot.ExtractAll(x.w, snapshot.ExtractOptions{Codecs: misuseCodecs()})
			return err
		}},
		{call: "Captured.Load", do: func(x *misuseScene) error {
			return misuseCaptured.Load(x.w, snapshot.Options{Codecs: misuseCodecs()})
		}},
	}},
	{"Of another world", misuseOnce, foreignRows()},
	{"Kept for longer than it is good", misuseOnce, keptRows()},
	{"Twice at once, or within itself", misuseOnce, twiceRows()},
}

// misuseFiles have a prefab.
var misuseFiles = fstest.MapFS{"late.json": {Data: []byte(`{"late": {"components": {"health": {}}}}`)}}

// misusePiece is a piece with nobody in it.
var misusePiece = must(snapshot.ExtractAll(world.MustNew(world.Options{}), snapshot.ExtractOptions{}))

// misuseCodecs are what the scene's world needs.
func misuseCodecs() *state.Codecs {
	c := new(state.Codecs)
	state.Register(c, state.Codec[misuseName]{
		Append: func(dst []byte, v *misuseName) []byte { return append(dst, v.Text...) },
		Read:   func(src []byte, v *misuseName) error { v.Text = string(src); return nil },
	})
	state.Register(c, state.Codec[misuseBag]{
		Append: func(dst []byte, v *misuseBag) []byte {
			return binary.LittleEndian.AppendUint64(dst, uint64(v.Of["gold"]))
		},
		Read: func(src []byte, v *misuseBag) error {
			v.Of = map[string]int64{"gold": int64(binary.LittleEndian.Uint64(src))}
			return nil
		},
	})
	state.Register(c, state.Codec[string]{
		Append: func(dst []byte, v *string) []byte { return append(dst, *v...) },
		Read:   func(src []byte, v *string) error { *v = string(src); return nil },
	})
	return c
}

// misuseCaptured is what was captured of a world like the scene's.
var misuseCaptured = func() *snapshot.Captured {
	c, err := snapshot.Capture(newMisuseScene(new(testing.T)).w, snapshot.Options{Codecs: misuseCodecs()})
	if err != nil {
		panic(err)
	}
	return c
}()

// misuseLog is a log of a world like the scene's: of one refresh.
var misuseLog = func() []byte {
	var log bytes.Buffer
	x := newMisuseScene(new(testing.T))
	r, err := inputlog.NewRecorder(x.w, &log, inputlog.Options{Codecs: misuseCodecs()})
	if err != nil {
		panic(err)
	}
	x.w.Refresh()
	if err := r.Close(); err != nil {
		panic(err)
	}
	return log.Bytes()
}()

// misuseState is that of a scene's scheduler.
var misuseState = newMisuseScene(new(testing.T)).s.AppendState(nil)

// misuseSnapshot is a snapshot of a world like the scene's.
var misuseSnapshot = func() []byte {
	var image bytes.Buffer
	x := newMisuseScene(new(testing.T))
	if err := snapshot.Write(&image, x.w, snapshot.Options{Codecs: misuseCodecs()}); err != nil {
		panic(err)
	}
	return image.Bytes()
}()

// relationRows are the calls of relations: changes by the World and by a Port, and what is
// read.
func relationRows() (rows []misuseRow) {
	changes := []struct {
		name string
		do   func(x *misuseScene, by world.Actor) error
	}{
		{"Add", func(x *misuseScene, by world.Actor) error { return x.kin.Add(by, x.hs[1]) }},
		{"Remove", func(x *misuseScene, by world.Actor) error { return x.kin.Remove(by, x.hs[11]) }},
		{"AddChild", func(x *misuseScene, by world.Actor) error { return x.kin.AddChild(by, x.hs[10], x.hs[1]) }},
		{"AddChildAt", func(x *misuseScene, by world.Actor) error { return x.kin.AddChildAt(by, x.hs[10], x.hs[1], 0) }},
		{"AddChildren", func(x *misuseScene, by world.Actor) error { return x.kin.AddChildren(by, x.hs[10], x.hs[1], x.hs[2]) }},
		{"RemoveChild", func(x *misuseScene, by world.Actor) error { return x.kin.RemoveChild(by, x.hs[11], hierarchy.Swap) }},
		{"RemoveHoles", func(x *misuseScene, by world.Actor) error { return x.kin.RemoveHoles(by, x.hs[10]) }},
		{"Move", func(x *misuseScene, by world.Actor) error { return x.kin.Move(by, x.hs[11], x.hs[1]) }},
		{"MoveAt", func(x *misuseScene, by world.Actor) error { return x.kin.MoveAt(by, x.hs[11], x.hs[10], 0) }},
		{"MoveBefore", func(x *misuseScene, by world.Actor) error { return x.kin.MoveBefore(by, x.hs[12], x.hs[11]) }},
		{"Swap", func(x *misuseScene, by world.Actor) error { return x.kin.Swap(by, x.hs[11], x.hs[12]) }},
		{"SetPlaces", func(x *misuseScene, by world.Actor) error { return x.kin.SetPlaces(by, x.hs[1], 4) }},
		{"Put", func(x *misuseScene, by world.Actor) error { return x.kin.Put(by, x.hs[1], x.hs[10], 3) }},
		{"PutFrom", func(x *misuseScene, by world.Actor) error { return x.kin.PutFrom(by, x.hs[11], x.hs[10], x.hs[1], 0) }},
		{"Sort", func(x *misuseScene, by world.Actor) error { return x.kin.Sort(by, x.hs[10], handle.Handle.Compare) }},
	}
	for _, c := range changes {
		rows = append(rows, misuseRow{call: "Relation." + c.name, why: doneInLoop, do: func(x *misuseScene) error { return c.do(x, x.w) }})
	}
	for _, c := range changes {
		rows = append(rows, misuseRow{call: "Relation." + c.name + " by a Port", why: byRequest, do: func(x *misuseScene) error { return c.do(x, x.port) }})
	}
	for name, do := range map[string]func(x *misuseScene) error{
		"Links":       none(func(x *misuseScene) { x.kin.Links() }),
		"Reserve":     none(func(x *misuseScene) { x.kin.Reserve(hierarchy.Room{}) }),
		"NeedsGrowth": none(func(x *misuseScene) { x.kin.NeedsGrowth(x.hs[10], 1) }),
		"Save":        none(func(x *misuseScene) { x.kin.Save(nil) }),
		"Load":        func(x *misuseScene) error { return x.kin.Load(misuseImage) },
		"Read":        none(func(x *misuseScene) { x.kin.Read(x.w) }),
	} {
		rows = append(rows, misuseRow{call: "Relation." + name, why: doneInLoop, do: do})
	}
	const reads = "for systems and the idle world; not checked, but wrong beside a refresh, which changes what it reads"
	for name, do := range map[string]func(r *hierarchy.Reader, h, child handle.Handle){
		"Children":     func(r *hierarchy.Reader, h, _ handle.Handle) { r.Children(h) },
		"Each":         func(r *hierarchy.Reader, h, _ handle.Handle) { walk(r.Each(h)) },
		"Count":        func(r *hierarchy.Reader, h, _ handle.Handle) { r.Count(h) },
		"At":           func(r *hierarchy.Reader, h, _ handle.Handle) { r.At(h, 0) },
		"Place":        func(r *hierarchy.Reader, _, child handle.Handle) { r.Place(child) },
		"Fixed":        func(r *hierarchy.Reader, h, _ handle.Handle) { r.Fixed(h) },
		"Has":          func(r *hierarchy.Reader, h, _ handle.Handle) { r.Has(h) },
		"Parent":       func(r *hierarchy.Reader, _, child handle.Handle) { r.Parent(child) },
		"Depth":        func(r *hierarchy.Reader, _, child handle.Handle) { r.Depth(child) },
		"Root":         func(r *hierarchy.Reader, _, child handle.Handle) { r.Root(child) },
		"IsAncestor":   func(r *hierarchy.Reader, h, child handle.Handle) { r.IsAncestor(h, child) },
		"Ancestors":    func(r *hierarchy.Reader, _, child handle.Handle) { walk(r.Ancestors(child)) },
		"DepthFirst":   func(r *hierarchy.Reader, h, _ handle.Handle) { walk(r.DepthFirst(h)) },
		"BreadthFirst": func(r *hierarchy.Reader, h, _ handle.Handle) { walk(r.BreadthFirst(h)) },
		"Conflicts":    func(r *hierarchy.Reader, _, _ handle.Handle) { r.Conflicts() },
	} {
		rows = append(rows, misuseRow{call: "Reader." + name, why: reads, do: none(func(x *misuseScene) { do(x.kept, x.hs[10], x.hs[11]) })})
	}
	return sorted(rows)
}

// misuseImage is that of an empty relation.
var misuseImage = hierarchy.New(world.MustNew(world.Options{}), "empty", hierarchy.Options{}).Save(nil)

// misuseFar is an entity of another world.
var misuseFar = transit.RefOf(2, 1)

// misusePass is what travellers say.
type misusePass struct{ Fee int }
