package world_test

import (
	"testing"

	"github.com/atoll-sim/atoll/world"
)

// What a user may well write: it promotes all that an Actor needs.
type (
	ownWorld   struct{ *world.World }
	ownContext struct{ *world.Context }
	ownPort    struct{ *world.Port }
)

// TestEmbeddedActor acts by structs that embed an Actor. They compile, so each call must
// say that it does nothing.
func TestEmbeddedActor(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	h, port := f.newUnit(1), f.port()
	refuse := func(by world.Actor) {
		for name, do := range map[string]func() error{
			"Create":        func() error { _, err := f.unit.Create(by, Unit{}); return err },
			"CreateN":       func() error { return f.unit.CreateN(by, 2, nil) },
			"Set":           func() error { return f.health.Set(by, h, Health{2}) },
			"Add":           func() error { return f.frozen.Add(by, h, Frozen{}) },
			"Remove":        func() error { return f.health.Remove(by, h) },
			"Add, removing": func() error { return f.mover.Add(by, h, Mover{}, f.health) },
			"Flag":          func() error { return world.Flag(by, h, 1) },
			"Move":          func() error { return world.Move(by, h, 1) },
			"Send":          func() error { return f.hit.Send(by, h, Hit{}) },
			"SendShard":     func() error { return f.hit.SendShard(by, 0, Hit{}) },
			"Call":          func() error { return f.do(by, h, func(*world.EntityContext) {}) },
		} {
			t.Run(name, func(t *testing.T) {
				mustPanic(t, []string{"by a world_test.own", "itself"}, func() { _ = do() })
			})
		}
	}
	refuse(ownWorld{f.World})
	refuse(ownPort{port})
	f.during("any", 0, func(c *world.Context) { refuse(ownContext{c}) })
	f.Refresh()
	f.mustHave(1)(h)
}
