package world_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestNilNamed passes nil wherever a user can: the panic names the call and the argument, and is
// none of the runtime.
func TestNilNamed(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	h, p := f.newUnit(1), f.port()
	heal := world.RegisterFunc(f.World, "nil heal", func(*world.EntityContext, int) {})
	ask := world.RegisterQuestion(f.World, "nil ask", func(*world.EntityContext, int) int { return 0 })
	var none context.Context
	calls := map[string]func(){
		"Port.Batch: f":                    func() { _ = p.Batch(nil) },
		"Port.Within: ctx":                 func() { p.Within(none) },
		"World.Observe: build":             func() { f.Observe("nil", world.OnCreate, nil) },
		"world.RegisterFunc: f":            func() { world.RegisterFunc[int](f.World, "nil", nil) },
		"world.RegisterQuestion: f":        func() { world.RegisterQuestion[int, int](f.World, "nil", nil) },
		"world.RegisterAccumulator: merge": func() { world.RegisterAccumulator[int](f.World, "nil", nil) },
		"Component.Ask: answer":            func() { _ = f.health.Ask(p, h, nil) },
		"Question.Ask: answer":             func() { _ = ask.Ask(p, h, 0, nil) },
		"Component.Ask: p":                 func() { _ = f.health.Ask(nil, h, new(world.Answer[Health])) },
		"Question.Ask: p":                  func() { _ = ask.Ask(nil, h, 0, new(world.Answer[int])) },
		"World.Stats: dst":                 func() { f.World.Stats(nil) },
		"Query.Destroy: q":                 func() { (*world.Query)(nil).Destroy() },
		"Component.AddTo: q":               func() { _ = f.health.AddTo(nil, nil) },
		"Bundle.Reserve: w":                func() { _ = f.unit.Reserve(nil, 1) },
		"Bundle.CreateRows: w":             func() { _ = f.unit.CreateRows(nil, 1, func(world.Chunk) {}) },
		"world.RegisterResource: w":        func() { world.RegisterResource(nil, "nil", 1) },
		"world.Read: a":                    func() { world.Read[Health](nil) },
		"world.Read: a, a *World":          func() { world.Read[Health]((*world.World)(nil)) },
		"a reference: by":                  func() { engine.Of(nil).Liveness() },
		"World.Has: c, typed":              func() { f.Has(h, (*world.Component[Health])(nil)) },
		"Bundle.Add: part 0, typed":        func() { _ = f.unit.Add(p, h, Unit{}, (*world.Bundle[Unit])(nil)) },
		"World.Has: c":                     func() { f.Has(h, nil) },
		"Bundle.Add: part 0":               func() { _ = f.unit.Add(p, h, Unit{}, nil) },
		"Component.Read: self":             func() { f.health.Read(nil) },
		"Component.Write: self":            func() { f.health.Write(nil) },
	}
	for name, by := range map[string]world.Actor{
		"a nil Actor": nil, "a nil *world.World": (*world.World)(nil), "a nil *world.Context": (*world.Context)(nil),
		"a nil *world.Port": (*world.Port)(nil), "a nil *world.EntityContext": (*world.EntityContext)(nil),
	} {
		for call, run := range map[string]func(){
			"Bundle.Create":     func() { _, _ = f.unit.Create(by, Unit{}) },
			"Bundle.CreateN":    func() { _ = f.unit.CreateN(by, 2, nil) },
			"Bundle.AppendN":    func() { _, _ = f.unit.AppendN(nil, by, 2, nil) },
			"Bundle.Set":        func() { _ = f.unit.Set(by, h, Unit{}) },
			"Bundle.Add":        func() { _ = f.unit.Add(by, h, Unit{}) },
			"Component.Set":     func() { _ = f.health.Set(by, h, Health{}) },
			"Component.Add":     func() { _ = f.health.Add(by, h, Health{}) },
			"Component.Remove":  func() { _ = f.health.Remove(by, h) },
			"Message.Send":      func() { _ = f.hit.Send(by, h, Hit{}) },
			"Message.SendShard": func() { _ = f.hit.SendShard(by, 0, Hit{}) },
			"Message.Broadcast": func() { _ = f.hit.Broadcast(by, Hit{}) },
			"Func.Call":         func() { _ = heal.Call(by, h, 0) },
			"world.Move":        func() { _ = world.Move(by, h, 0) },
			"world.FlagsOf":     func() { world.FlagsOf(by, h) },
			"world.Copy":        func() { _, _ = world.Copy(by, h) },
			"world.AddFlags":    func() { _ = world.AddFlags(by, h, 1) },
			"world.RemoveFlags": func() { _ = world.RemoveFlags(by, h, 1) },
			"a reference":       func() { engine.Of(by).Liveness() },
		} {
			calls[call+": by "+name] = run
		}
	}
	for call, run := range calls {
		t.Run(call, func(t *testing.T) {
			defer func() {
				v := recover()
				require.NotNil(t, v, "no panic")
				_, bare := v.(runtime.Error)
				require.False(t, bare, "%v", v)
				name := call[:strings.IndexByte(call, 58)]
				require.Contains(t, fmt.Sprint(v), name)
				require.Contains(t, fmt.Sprint(v), "nil")
			}()
			run()
		})
	}
	f.Refresh()
	require.True(t, f.Alive(h))
}
