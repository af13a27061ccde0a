package misuse_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// foreignRows use what is of one world with another.
func foreignRows() (rows []misuseRow) {
	add := func(call, why string, do func(x, y *misuseScene) error) {
		rows = append(rows, misuseRow{call: call, why: why, do: func(x *misuseScene) error {
			y := newMisuseScene(x.t)
			defer y.w.Close()
			return do(x, y)
		}})
	}
	for holder, of := range map[string]func(y *misuseScene) world.Actor{
		"the World": func(y *misuseScene) world.Actor { return y.w },
		"a Port":    func(y *misuseScene) world.Actor { return y.port },
		"nil":       func(*misuseScene) world.Actor { return nil },
	} {
		for call, do := range map[string]func(x *misuseScene, by world.Actor) error{
			"Bundle.Create":  func(x *misuseScene, by world.Actor) error { _, err := x.unit.Create(by, misuseUnit{}); return err },
			"Bundle.CreateN": func(x *misuseScene, by world.Actor) error { return x.unit.CreateN(by, 2, nil) },
			"Bundle.Set":     func(x *misuseScene, by world.Actor) error { return x.unit.Set(by, x.hs[0], misuseUnit{}) },
			"Bundle.Add":     func(x *misuseScene, by world.Actor) error { return x.named.Add(by, x.hs[0], misuseNamed{}) },
			"Bundle.Add and remove": func(x *misuseScene, by world.Actor) error {
				return x.named.Add(by, x.hs[0], misuseNamed{}, x.unit)
			},
			"Component.Set":     func(x *misuseScene, by world.Actor) error { return x.health.Set(by, x.hs[0], misuseHealth{}) },
			"Component.Add":     func(x *misuseScene, by world.Actor) error { return x.name.Add(by, x.hs[0], misuseName{}) },
			"Component.Remove":  func(x *misuseScene, by world.Actor) error { return x.health.Remove(by, x.hs[0]) },
			"Func.Call":         func(x *misuseScene, by world.Actor) error { return x.heal.Call(by, x.hs[0], 1) },
			"Transaction.Call":  func(x *misuseScene, by world.Actor) error { return x.pay.Call(by, x.paying()) },
			"Transaction.Run":   func(x *misuseScene, by world.Actor) error { _, err := x.pay.Run(by, x.paying()); return err },
			"Message.Send":      func(x *misuseScene, by world.Actor) error { return x.hit.Send(by, x.hs[0], misuseHit{}) },
			"Message.SendShard": func(x *misuseScene, by world.Actor) error { return x.hit.SendShard(by, 0, misuseHit{}) },
			"Output.Put":        func(x *misuseScene, by world.Actor) error { return x.said.Put(by, 1) },
			"Message.Broadcast": func(x *misuseScene, by world.Actor) error { return x.hit.Broadcast(by, misuseHit{}) },
			"Names.Bind":        func(x *misuseScene, by world.Actor) error { return x.names.Bind(by, x.hs[0], "zero") },
			"Names.Unbind":      func(x *misuseScene, by world.Actor) error { return x.names.Unbind(by, x.hs[20]) },
			"Timers.After": func(x *misuseScene, by world.Actor) error {
				_, err := x.timers.After(by, x.hs[0], 5, misuseHit{})
				return err
			},
			"Timers.Every": func(x *misuseScene, by world.Actor) error {
				_, err := x.timers.Every(by, x.hs[0], 5, misuseHit{})
				return err
			},
			"Prefab.Create":     func(x *misuseScene, by world.Actor) error { _, err := x.pair.Create(by); return err },
			"Prefab.CreateN":    func(x *misuseScene, by world.Actor) error { _, err := x.pair.CreateN(by, 2, nil); return err },
			"prefab.Copy":       func(x *misuseScene, by world.Actor) error { _, err := prefab.Copy(by, x.hs[0], x.kin); return err },
			"Call.Go":           func(x *misuseScene, by world.Actor) error { _, err := x.calls.Go(by, x.hs[0], 1); return err },
			"Relation.AddChild": func(x *misuseScene, by world.Actor) error { return x.kin.AddChild(by, x.hs[10], x.hs[1]) },
			"Relation.Remove":   func(x *misuseScene, by world.Actor) error { return x.kin.Remove(by, x.hs[11]) },
			"Relation.Sort":     func(x *misuseScene, by world.Actor) error { return x.kin.Sort(by, x.hs[10], handle.Handle.Compare) },
		} {
			add(call+" by "+holder, "", func(x, y *misuseScene) error { return do(x, of(y)) })
		}
	}
	for call, do := range map[string]func(by world.Actor, h handle.Handle) error{
		"Move":          func(by world.Actor, h handle.Handle) error { return world.Move(by, h, 1) },
		"AddFlags":      func(by world.Actor, h handle.Handle) error { return world.AddFlags(by, h, 1) },
		"reference.To":  func(by world.Actor, h handle.Handle) error { reference.To(by, h); return nil },
		"reference.Own": func(by world.Actor, h handle.Handle) error { reference.Own(by, h, nil); return nil },
	} {
		add(call+" by nil", "", func(x, _ *misuseScene) error { return do(nil, x.hs[0]) })
	}
	const bits = "a handle of another world is not told from one's own if its bits fit"
	add("World.Alive of a handle", bits, func(x, y *misuseScene) error { x.w.Alive(y.hs[0]); return nil })
	add("Port.Destroy of a handle", bits, func(x, y *misuseScene) error { return x.port.Destroy(y.hs[0]) })
	add("Component.Ask by a Port", "", func(x, y *misuseScene) error {
		return x.health.Ask(y.port, x.hs[0], new(world.Answer[misuseHealth]))
	})
	add("Question.Ask by a Port", "", func(x, y *misuseScene) error { return x.points.Ask(y.port, x.hs[0], 1, new(world.Answer[int64])) })
	add("World.Has of a Component", "", func(x, y *misuseScene) error { x.w.Has(x.hs[0], y.health); return nil })
	add("World.Pin of a Component", "", func(x, y *misuseScene) error { x.w.Pin(y.health); return nil })
	add("World.Observe of a Component", "", func(x, y *misuseScene) error {
		x.w.Observe("late", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) { return nil }, y.health)
		return nil
	})
	add("World.Query of a Reader", "", func(x, y *misuseScene) error { x.w.Query(y.read); return nil })
	add("Component.AddTo of a Query", "", func(x, y *misuseScene) error { return x.name.AddTo(y.all, nil) })
	add("Bundle.AddTo of a Query", "", func(x, y *misuseScene) error { return x.named.AddTo(y.all, nil) })
	add("Query.Remove of a Bundle", "", func(x, y *misuseScene) error { return x.all.Remove(y.unit) })
	add("Bundle.Add, removing a Bundle", "", func(x, y *misuseScene) error { return x.named.Add(x.w, x.hs[0], misuseNamed{}, y.unit) })
	add("Bundle.CreateRows in a World", "", func(x, y *misuseScene) error { return x.unit.CreateRows(y.w, 2, func(world.Chunk) {}) })
	add("Bundle.Reserve in a World", "", func(x, y *misuseScene) error { return x.unit.Reserve(y.w, 2) })
	add("Build.Creates of a Bundle", "", func(x, y *misuseScene) error {
		(*world.Build)(engine.Of(x.w).NewBuild(0, "late")).Creates(y.unit)
		return nil
	})
	add("Relation.Read by a Build", "", func(x, y *misuseScene) error {
		x.kin.Read((*world.Build)(engine.Of(y.w).NewBuild(0, "late")))
		return nil
	})
	add("Log.Play", "", func(x, _ *misuseScene) error {
		log, err := inputlog.Open(bytes.NewReader(misuseLog))
		if err == nil {
			_, err = log.Play(world.MustNew(world.Options{Shards: 3}), nil)
		}
		return err
	})
	return sorted(rows)
}

// unlockedBehind is why something that is kept is not looked for.
const unlockedBehind = "not checked in a release build; what was kept may be rows that hold other entities by now"

// keptRows use what is kept behind its time.
func keptRows() (rows []misuseRow) {
	add := func(call, why string, do func(x *misuseScene) error) {
		rows = append(rows, misuseRow{call: call, why: why, do: do})
	}
	system := func(x *misuseScene) (kept *world.Context) {
		x.system = func(c *world.Context) { kept = c }
		x.step()
		return kept
	}
	for call, do := range map[string]func(x *misuseScene, c *world.Context) error{
		"Context.Status":               func(x *misuseScene, c *world.Context) error { c.Status(x.hs[0]); return nil },
		"Context.Owns":                 func(x *misuseScene, c *world.Context) error { c.Owns(x.hs[0]); return nil },
		"Context.Has":                  func(x *misuseScene, c *world.Context) error { c.Has(x.hs[0], x.health); return nil },
		"Context.Owner":                func(x *misuseScene, c *world.Context) error { c.Owner(x.hs[0]); return nil },
		"Context.Rand":                 func(_ *misuseScene, c *world.Context) error { c.Rand().Uint64(); return nil },
		"Context.Count":                func(_ *misuseScene, c *world.Context) error { c.Count(); return nil },
		"FlagsOf by Context":           func(x *misuseScene, c *world.Context) error { world.FlagsOf(c, x.hs[0]); return nil },
		"Context.Destroy":              func(x *misuseScene, c *world.Context) error { return c.Destroy(x.hs[0]) },
		"Copy by Context":              func(x *misuseScene, c *world.Context) error { _, err := world.Copy(c, x.hs[0]); return err },
		"Bundle.Create by Context":     func(x *misuseScene, c *world.Context) error { _, err := x.unit.Create(c, misuseUnit{}); return err },
		"Bundle.Set by Context":        func(x *misuseScene, c *world.Context) error { return x.unit.Set(c, x.hs[0], misuseUnit{}) },
		"Component.Set by Context":     func(x *misuseScene, c *world.Context) error { return x.health.Set(c, x.hs[0], misuseHealth{}) },
		"Component.Add by Context":     func(x *misuseScene, c *world.Context) error { return x.name.Add(c, x.hs[0], misuseName{}) },
		"AddFlags by Context":          func(x *misuseScene, c *world.Context) error { return world.AddFlags(c, x.hs[0], 1) },
		"Move by Context":              func(x *misuseScene, c *world.Context) error { return world.Move(c, x.hs[0], 1) },
		"Func.Call by Context":         func(x *misuseScene, c *world.Context) error { return x.heal.Call(c, x.hs[0], 1) },
		"Message.Send by Context":      func(x *misuseScene, c *world.Context) error { return x.hit.Send(c, x.hs[0], misuseHit{}) },
		"Output.Put by Context":        func(x *misuseScene, c *world.Context) error { return x.said.Put(c, 1) },
		"Message.Broadcast by Context": func(x *misuseScene, c *world.Context) error { return x.hit.Broadcast(c, misuseHit{}) },
		"Names.Bind by Context":        func(x *misuseScene, c *world.Context) error { return x.names.Bind(c, x.hs[0], "zero") },
		"Timers.After by Context": func(x *misuseScene, c *world.Context) error {
			_, err := x.timers.After(c, x.hs[0], 5, misuseHit{})
			return err
		},
		"Mail.Tell by Context":         func(x *misuseScene, c *world.Context) error { return x.mail.Tell(c, x.hs[0], misuseFar, misuseHit{}) },
		"Timers.Cancel by Context":     func(x *misuseScene, c *world.Context) error { return x.timers.Cancel(c, x.timer) },
		"Prefab.Create by Context":     func(x *misuseScene, c *world.Context) error { _, err := x.pair.Create(c); return err },
		"prefab.Copy by Context":       func(x *misuseScene, c *world.Context) error { _, err := prefab.Copy(c, x.hs[10], x.kin); return err },
		"Call.Go by Context":           func(x *misuseScene, c *world.Context) error { _, err := x.calls.Go(c, x.hs[0], 1); return err },
		"Relation.AddChild by Context": func(x *misuseScene, c *world.Context) error { return x.kin.AddChild(c, x.hs[10], x.hs[1]) },
	} {
		add(call, "", func(x *misuseScene) error { return do(x, system(x)) })
	}
	add("Context.Locate", "not checked in a release build, because a check would cost as much as the look-up", func(x *misuseScene) error { system(x).Locate(x.hs[0]); return nil })
	for call, do := range map[string]func(c *world.Context, h handle.Handle){
		"Context.Alive":  func(c *world.Context, h handle.Handle) { c.Alive(h) },
		"Context.Tick":   func(c *world.Context, _ handle.Handle) { c.Tick() },
		"Context.Delta":  func(c *world.Context, _ handle.Handle) { c.Delta() },
		"Context.Shard":  func(c *world.Context, _ handle.Handle) { c.Shard() },
		"Context.Shards": func(c *world.Context, _ handle.Handle) { c.Shards() },
		"Context.System": func(c *world.Context, _ handle.Handle) { c.System() },
	} {
		add(call, "only reads, and does no harm", func(x *misuseScene) error { do(system(x), x.hs[0]); return nil })
	}

	self := func(x *misuseScene) (kept *world.EntityContext) {
		if err := x.do(x.w, func(self *world.EntityContext) { kept = self }); err != nil {
			return nil
		}
		return kept
	}
	for call, do := range map[string]func(x *misuseScene, s *world.EntityContext) error{
		"Component.Read of an EntityContext":  func(x *misuseScene, s *world.EntityContext) error { x.health.Read(s); return nil },
		"Component.Write of an EntityContext": func(x *misuseScene, s *world.EntityContext) error { x.health.Write(s); return nil },
		"EntityContext.Destroy":               func(x *misuseScene, s *world.EntityContext) error { return s.Destroy(x.hs[0]) },
		"EntityContext.Status":                func(x *misuseScene, s *world.EntityContext) error { s.Status(x.hs[0]); return nil },
		"Bundle.Create by EntityContext": func(x *misuseScene, s *world.EntityContext) error {
			_, err := x.unit.Create(s, misuseUnit{})
			return err
		},
		"Component.Set by EntityContext":     func(x *misuseScene, s *world.EntityContext) error { return x.health.Set(s, x.hs[1], misuseHealth{}) },
		"Component.Add by EntityContext":     func(x *misuseScene, s *world.EntityContext) error { return x.name.Add(s, x.hs[1], misuseName{}) },
		"AddFlags by EntityContext":          func(x *misuseScene, s *world.EntityContext) error { return world.AddFlags(s, x.hs[0], 1) },
		"Move by EntityContext":              func(x *misuseScene, s *world.EntityContext) error { return world.Move(s, x.hs[0], 1) },
		"Func.Call by EntityContext":         func(x *misuseScene, s *world.EntityContext) error { return x.heal.Call(s, x.hs[1], 1) },
		"Message.Send by EntityContext":      func(x *misuseScene, s *world.EntityContext) error { return x.hit.Send(s, x.hs[1], misuseHit{}) },
		"Output.Put by EntityContext":        func(x *misuseScene, s *world.EntityContext) error { return x.said.Put(s, 1) },
		"Message.Broadcast by EntityContext": func(x *misuseScene, s *world.EntityContext) error { return x.hit.Broadcast(s, misuseHit{}) },
		"Timers.After by EntityContext": func(x *misuseScene, s *world.EntityContext) error {
			_, err := x.timers.After(s, x.hs[1], 5, misuseHit{})
			return err
		},
		"Mail.Tell by EntityContext": func(x *misuseScene, s *world.EntityContext) error {
			return x.mail.Tell(s, x.hs[0], misuseFar, misuseHit{})
		},
		"Prefab.Create by EntityContext": func(x *misuseScene, s *world.EntityContext) error { _, err := x.pair.Create(s); return err },
		"Call.Go by EntityContext":       func(x *misuseScene, s *world.EntityContext) error { _, err := x.calls.Go(s, x.hs[1], 1); return err },
		"Names.Bind by EntityContext":    func(x *misuseScene, s *world.EntityContext) error { return x.names.Bind(s, x.hs[0], "zero") },
	} {
		add(call, "", func(x *misuseScene) error { return do(x, self(x)) })
	}
	transaction := func(x *misuseScene) (kept *world.Tx) {
		x.acting = func(tx *world.Tx) error { kept = tx; return nil }
		_ = x.pay.Call(x.w, x.paying())
		return kept
	}
	for call, do := range map[string]func(x *misuseScene, tx *world.Tx) error{
		"Component.Get":           func(x *misuseScene, tx *world.Tx) error { x.health.Get(tx, x.hs[0]); return nil },
		"Component.Edit":          func(x *misuseScene, tx *world.Tx) error { x.health.Edit(tx, x.hs[0]); return nil },
		"Resource.Edit":           func(x *misuseScene, tx *world.Tx) error { x.weather.Edit(tx); return nil },
		"Tx.Alive":                func(x *misuseScene, tx *world.Tx) error { tx.Alive(x.hs[0]); return nil },
		"Tx.Tick":                 func(_ *misuseScene, tx *world.Tx) error { tx.Tick(); return nil },
		"Tx.Status":               func(x *misuseScene, tx *world.Tx) error { tx.Status(x.hs[0]); return nil },
		"Tx.Has":                  func(x *misuseScene, tx *world.Tx) error { tx.Has(x.hs[0], x.health); return nil },
		"Tx.Owner":                func(x *misuseScene, tx *world.Tx) error { tx.Owner(x.hs[0]); return nil },
		"Tx.Rand":                 func(_ *misuseScene, tx *world.Tx) error { tx.Rand().Uint64(); return nil },
		"Tx.Destroy":              func(x *misuseScene, tx *world.Tx) error { return tx.Destroy(x.hs[0]) },
		"FlagsOf by Tx":           func(x *misuseScene, tx *world.Tx) error { world.FlagsOf(tx, x.hs[0]); return nil },
		"Copy by Tx":              func(x *misuseScene, tx *world.Tx) error { _, err := world.Copy(tx, x.hs[0]); return err },
		"Bundle.Create by Tx":     func(x *misuseScene, tx *world.Tx) error { _, err := x.unit.Create(tx, misuseUnit{}); return err },
		"Bundle.CreateN by Tx":    func(x *misuseScene, tx *world.Tx) error { return x.unit.CreateN(tx, 2, nil) },
		"Bundle.Set by Tx":        func(x *misuseScene, tx *world.Tx) error { return x.unit.Set(tx, x.hs[0], misuseUnit{}) },
		"Bundle.Add by Tx":        func(x *misuseScene, tx *world.Tx) error { return x.named.Add(tx, x.hs[0], misuseNamed{}) },
		"Component.Set by Tx":     func(x *misuseScene, tx *world.Tx) error { return x.health.Set(tx, x.hs[0], misuseHealth{}) },
		"Component.Add by Tx":     func(x *misuseScene, tx *world.Tx) error { return x.name.Add(tx, x.hs[0], misuseName{}) },
		"Component.Remove by Tx":  func(x *misuseScene, tx *world.Tx) error { return x.health.Remove(tx, x.hs[0]) },
		"Flag by Tx":              func(x *misuseScene, tx *world.Tx) error { return world.AddFlags(tx, x.hs[0], 1) },
		"Move by Tx":              func(x *misuseScene, tx *world.Tx) error { return world.Move(tx, x.hs[0], 1) },
		"Message.Send by Tx":      func(x *misuseScene, tx *world.Tx) error { return x.hit.Send(tx, x.hs[0], misuseHit{}) },
		"Output.Put by Tx":        func(x *misuseScene, tx *world.Tx) error { return x.said.Put(tx, 1) },
		"Message.Broadcast by Tx": func(x *misuseScene, tx *world.Tx) error { return x.hit.Broadcast(tx, misuseHit{}) },
		"Transaction.Run by Tx":   func(x *misuseScene, tx *world.Tx) error { _, err := x.pay.Run(tx, x.paying()); return err },
		"Names.Bind by Tx":        func(x *misuseScene, tx *world.Tx) error { return x.names.Bind(tx, x.hs[0], "zero") },
		"Names.Read by Tx":        func(x *misuseScene, tx *world.Tx) error { x.names.Read(tx); return nil },
		"Timers.After by Tx": func(x *misuseScene, tx *world.Tx) error {
			_, err := x.timers.After(tx, x.hs[0], 5, misuseHit{})
			return err
		},
		"Mail.Tell by Tx":         func(x *misuseScene, tx *world.Tx) error { return x.mail.Tell(tx, x.hs[0], misuseFar, misuseHit{}) },
		"Timers.Cancel by Tx":     func(x *misuseScene, tx *world.Tx) error { return x.timers.Cancel(tx, x.timer) },
		"Prefab.Create by Tx":     func(x *misuseScene, tx *world.Tx) error { _, err := x.pair.Create(tx); return err },
		"prefab.Copy by Tx":       func(x *misuseScene, tx *world.Tx) error { _, err := prefab.Copy(tx, x.hs[10], x.kin); return err },
		"Call.Go by Tx":           func(x *misuseScene, tx *world.Tx) error { _, err := x.calls.Go(tx, x.hs[0], 1); return err },
		"Relation.AddChild by Tx": func(x *misuseScene, tx *world.Tx) error { return x.kin.AddChild(tx, x.hs[10], x.hs[1]) },
		"Relation.Read by Tx":     func(x *misuseScene, tx *world.Tx) error { x.kin.Read(tx); return nil },
		"snapshot.Extract by Tx": func(x *misuseScene, tx *world.Tx) error {
			_, err := snapshot.Extract(tx, snapshot.ExtractOptions{Codecs: misuseCodecs()}, x.hs[0])
			return err
		},
		"snapshot.Insert by Tx": func(x *misuseScene, tx *world.Tx) error {
			_, err := snapshot.Insert(tx, misusePiece, snapshot.InsertOptions{})
			return err
		},
		"snapshot.PutBack": func(x *misuseScene, tx *world.Tx) error {
			return snapshot.PutBack(tx, misusePiece, snapshot.InsertOptions{})
		},
	} {
		add(call, "", func(x *misuseScene) error { return do(x, transaction(x)) })
	}
	for call, do := range map[string]func(s *world.EntityContext, h handle.Handle){
		"EntityContext.Alive":  func(s *world.EntityContext, h handle.Handle) { s.Alive(h) },
		"EntityContext.Handle": func(s *world.EntityContext, _ handle.Handle) { s.Handle() },
		"EntityContext.Tick":   func(s *world.EntityContext, _ handle.Handle) { s.Tick() },
		"EntityContext.Shard":  func(s *world.EntityContext, _ handle.Handle) { s.Shard() },
	} {
		add(call, "only reads, and does no harm", func(x *misuseScene) error { do(self(x), x.hs[0]); return nil })
	}

	build := func(x *misuseScene) *world.Build {
		b := (*world.Build)(engine.Of(x.w).NewBuild(0, "late"))
		(*engine.Build)(b).Finish()
		return b
	}
	for call, do := range map[string]func(x *misuseScene, b *world.Build){
		"Build.Query":   func(_ *misuseScene, b *world.Build) { b.Query() },
		"Build.Creates": func(x *misuseScene, b *world.Build) { b.Creates(x.unit) },
		"Read of Build": func(_ *misuseScene, b *world.Build) { world.Read[misuseHealth](b) },
		"Write of Build": func(_ *misuseScene, b *world.Build) {
			world.Write[misuseHealth](b)
		},
		"ReadForeign":           func(_ *misuseScene, b *world.Build) { world.ReadForeign[misuseHealth](b) },
		"Receive":               func(_ *misuseScene, b *world.Build) { world.Receive[misuseHit](b) },
		"ReadForeign of shards": func(_ *misuseScene, b *world.Build) { world.ReadForeign[misuseHealth](b, 1) },
		"Accumulate":            func(_ *misuseScene, b *world.Build) { world.Accumulate[int](b) },
		"WriteResource":         func(_ *misuseScene, b *world.Build) { world.WriteResource[int](b) },
		"ReadResource":          func(_ *misuseScene, b *world.Build) { world.ReadResource[int](b) },
	} {
		add(call, "", func(x *misuseScene) error { do(x, build(x)); return nil })
	}

	add("Reader.Slice of a Chunk", unlockedBehind, func(x *misuseScene) error {
		ch, _ := x.all.At(0)
		x.w.Refresh()
		x.read.Slice(ch)
		return nil
	})
	add("Query.Chunks, an iterator", "begins a new walk", func(x *misuseScene) error {
		all := x.all.Chunks()
		x.w.Refresh()
		walk(all)
		return nil
	})
	add("Names.All, an iterator in a tick", "", func(x *misuseScene) error {
		all := x.names.All()
		return x.inTick(func() error { walk2(all); return nil })
	})
	add("Writer.Slice of a Chunk", unlockedBehind, func(x *misuseScene) error {
		ch, _ := x.all.At(0)
		x.w.Refresh()
		x.write.Slice(ch)
		return nil
	})
	add("Receiver.All", unlockedBehind, func(x *misuseScene) error {
		var kept *world.Receiver[misuseHit]
		x.s.MustAdd("late", func(b *world.Build) func(*world.Context) {
			kept = world.Receive[misuseHit](b)
			return func(*world.Context) {}
		})
		x.step()
		kept.All()
		return nil
	})
	add("ForeignReader.Get", unlockedBehind, func(x *misuseScene) error {
		var kept *world.ForeignReader[misuseName]
		x.s.MustAdd("late", func(b *world.Build) func(*world.Context) {
			kept = world.ReadForeign[misuseName](b)
			return func(*world.Context) {}
		})
		x.step()
		kept.Get(x.hs[0])
		return nil
	})
	add("Recorder.Hash, closed", "", func(x *misuseScene) error {
		r, err := inputlog.NewRecorder(x.w, io.Discard, inputlog.Options{Codecs: misuseCodecs()})
		require.NoError(x.t, err)
		require.NoError(x.t, r.Close())
		return r.Hash(state.NewHasher(x.w, misuseCodecs()))
	})
	add("Recorder.Hash of a closed world", "", func(x *misuseScene) error {
		r, err := inputlog.NewRecorder(x.w, io.Discard, inputlog.Options{Codecs: misuseCodecs()})
		require.NoError(x.t, err)
		x.w.Close()
		return r.Hash(state.NewHasher(x.w, misuseCodecs()))
	})
	closed := func(x *misuseScene) *world.Port { x.port.Close(); return x.port }
	add("Port.Destroy, closed", "", func(x *misuseScene) error { return closed(x).Destroy(x.hs[0]) })
	add("Port.Batch, closed", "", func(x *misuseScene) error {
		p := closed(x)
		return p.Batch(func() error { return nil })
	})
	add("Bundle.Create by a Port, closed", "", func(x *misuseScene) error { _, err := x.unit.Create(closed(x), misuseUnit{}); return err })
	add("Bundle.CreateN by a Port, closed", "", func(x *misuseScene) error { return x.unit.CreateN(closed(x), 2, nil) })
	add("Port.Close, closed", "closing a closed port is no error", func(x *misuseScene) error { closed(x).Close(); return nil })
	add("Completion under way", "", func(x *misuseScene) error {
		var done world.Completion
		if err := x.port.Notify(&done).Destroy(x.hs[0]); err != nil {
			return err
		}
		return x.port.Notify(&done).Destroy(x.hs[1])
	})
	add("Completion.Wait of nothing", "the outcome is Undecided", func(*misuseScene) error {
		_, err := new(world.Completion).Wait(context.Background())
		return err
	})
	add("Answer.Get of nothing", "", func(*misuseScene) error {
		_, err := new(world.Answer[int]).Get(context.Background())
		return err
	})
	add("Owner.Release", "", func(x *misuseScene) error {
		o := reference.Own(x.w, x.hs[1], nil)
		o.Release()
		o.Release()
		return nil
	})
	add("Owner.Clone", "", func(x *misuseScene) error {
		o := reference.Own(x.w, x.hs[1], nil)
		o.Release()
		o.Clone()
		return nil
	})
	add("Recorder.Close", "closing a closed Recorder is no error", func(x *misuseScene) error {
		r, err := inputlog.NewRecorder(x.w, io.Discard, inputlog.Options{Codecs: misuseCodecs()})
		if err == nil {
			err = r.Close()
		}
		if err == nil {
			err = r.Close()
		}
		return err
	})
	return sorted(rows)
}

// inTick makes a call within a tick, on its goroutine.
func (x *misuseScene) inTick(call func() error) (err error) {
	tick := engine.Of(x.w).BeginTick()
	defer tick.End(serial)
	return call()
}

func serial(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

// twiceRows make a call twice at the same time, as far as a test can without a race of its
// own: the second while the first calls back.
func twiceRows() (rows []misuseRow) {
	add := func(call, why string, do func(x *misuseScene) error) {
		rows = append(rows, misuseRow{call: call, why: why, do: do})
	}
	beside := func(x *misuseScene, call func() error) (err error) {
		x.system = func(*world.Context) {
			var done sync.WaitGroup
			done.Go(func() {
				defer func() {
					if v := recover(); v != nil {
						err = panicError{v}
					}
				}()
				err = call()
			})
			done.Wait()
		}
		x.step()
		if p, ok := err.(panicError); ok {
			panic(p.value)
		}
		return err
	}
	add("Scheduler.Step beside itself", "", func(x *misuseScene) error {
		return beside(x, func() error { return x.s.Step(context.Background()) })
	})
	add("Scheduler.Run beside Step", "", func(x *misuseScene) error {
		return beside(x, func() error { return x.s.Run(context.Background()) })
	})
	add("Scheduler.Step beside another's", "", func(x *misuseScene) error {
		other := scheduler.New(x.w, scheduler.Options{})
		return beside(x, func() error { return other.Step(context.Background()) })
	})
	add("World.Refresh beside Scheduler.Step", "", func(x *misuseScene) error {
		return beside(x, func() error { x.w.Refresh(); return nil })
	})
	add("World.Close beside Scheduler.Step", "", func(x *misuseScene) error {
		return beside(x, func() error { x.w.Close(); return nil })
	})
	add("World.Refresh beside World.Refresh", "", func(x *misuseScene) (err error) {
		x.onSet = func(*world.Context) {
			_, said := did(func() error { x.w.Refresh(); return nil })
			err = panicError{said}
		}
		if e := x.health.Set(x.w, x.hs[0], misuseHealth{}); e != nil {
			return e
		}
		x.w.Refresh()
		panic(err.(panicError).value)
	})
	add("World.Close beside World.Close", "the second call returns at once, and the first goes on", func(x *misuseScene) error {
		x.onSet = func(*world.Context) { x.w.Close() }
		if err := x.health.Set(x.w, x.hs[0], misuseHealth{}); err != nil {
			return err
		}
		x.w.Close()
		return nil
	})
	add("Port.Batch within Port.Batch", "", func(x *misuseScene) error {
		return x.port.Batch(func() error { return x.port.Batch(func() error { return nil }) })
	})
	add("Port.Close within Port.Batch", "", func(x *misuseScene) error {
		return x.port.Batch(func() error { x.port.Close(); return nil })
	})
	const init = "not checked in a release build; init must not use the port"
	add("Port.Destroy within CreateN's init", init, func(x *misuseScene) error {
		return x.unit.CreateN(x.port, 2, func(int, *misuseUnit) { _ = x.port.Destroy(x.hs[0]) })
	})
	add("inputlog.NewRecorder, a second one", "", func(x *misuseScene) error {
		if _, err := inputlog.NewRecorder(x.w, io.Discard, inputlog.Options{Codecs: misuseCodecs()}); err != nil {
			return err
		}
		_, err := inputlog.NewRecorder(x.w, io.Discard, inputlog.Options{Codecs: misuseCodecs()})
		return err
	})
	add("Relation.Sort within Relation.Sort", "both are sorted", func(x *misuseScene) error {
		return x.kin.Sort(x.w, x.hs[10], func(a, b handle.Handle) int {
			_ = x.kin.Sort(x.w, x.hs[1], handle.Handle.Compare)
			return a.Compare(b)
		})
	})
	add("Relation.RemoveChild within Relation.Sort", "", func(x *misuseScene) error {
		return x.kin.Sort(x.w, x.hs[10], func(a, b handle.Handle) int {
			_ = x.kin.RemoveChild(x.w, x.hs[11], hierarchy.Swap)
			return a.Compare(b)
		})
	})
	add("World.Refresh within Relation.Sort", "", func(x *misuseScene) error {
		return x.kin.Sort(x.w, x.hs[10], func(a, b handle.Handle) int {
			x.w.Refresh()
			return a.Compare(b)
		})
	})
	add("View.Now within Relation.Sort", "the frame has the order from before the Sort", func(x *misuseScene) error {
		return x.kin.Sort(x.w, x.hs[10], func(a, b handle.Handle) int {
			if frame, err := x.view.Now(); err == nil {
				frame.Release()
			}
			return a.Compare(b)
		})
	})
	return rows
}

// panicError is a panic that is on its way to another goroutine.
type panicError struct{ value any }

func (panicError) Error() string { return "panic" }

// sorted are rows by the name of the call.
func sorted(rows []misuseRow) []misuseRow {
	slices.SortFunc(rows, func(a, b misuseRow) int { return strings.Compare(a.call, b.call) })
	return rows
}
