package main

import (
	"context"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type atollFighter struct {
	Position
	Velocity
	Health
}

// atollArmy is a world with an arena on each shard.
type atollArmy struct {
	*world.World
	fighters *world.Bundle[atollFighter]
	arenas   []*arena[handle.Handle]
}

func newAtollArmy(shards, n int) *atollArmy {
	w := world.MustNew(world.Options{Shards: shards})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Health](w, "health")
	a := &atollArmy{World: w, fighters: world.NewBundle[atollFighter](w)}
	for i := range shards {
		a.arenas = append(a.arenas, newArena[handle.Handle]((n+shards-1-i)/shards, i))
	}
	return a
}

// systems lists the battle's systems in order.
func (a *atollArmy) systems() []armySystem {
	return []armySystem{{"march", a.march}, {"sense", a.sense}, {"fight", a.fight}, {"recruit", a.recruit}}
}

type armySystem struct {
	name      string
	construct scheduler.System
}

func (a *atollArmy) march(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Write[Velocity](b)
	all, here := b.Query(pos, vel), a.arenas[b.Shard()]
	return func(*world.Context) {
		for ch := range all.Chunks() {
			here.move(pos.Slice(ch), vel.Slice(ch))
		}
	}
}

func (a *atollArmy) sense(b *world.Build) func(*world.Context) {
	pos := world.Read[Position](b)
	all, here := b.Query(pos), a.arenas[b.Shard()]
	return func(*world.Context) {
		here.empty()
		for ch := range all.Chunks() {
			here.count(pos.Slice(ch))
		}
		here.sum()
		for ch := range all.Chunks() {
			here.enter(ch.Handles(), pos.Slice(ch))
		}
	}
}

func (a *atollArmy) fight(b *world.Build) func(*world.Context) {
	health, here := world.Write[Health](b), a.arenas[b.Shard()]
	return func(c *world.Context) {
		here.fight(c.Tick(), func(h handle.Handle) *Health { return health.At(c.Locate(h)) })
		for _, h := range here.dead {
			check(c.Destroy(h))
		}
	}
}

// recruit replaces the dead; in the first tick it creates all fighters.
func (a *atollArmy) recruit(b *world.Build) func(*world.Context) {
	b.Creates(a.fighters)
	here := a.arenas[b.Shard()]
	return func(c *world.Context) {
		for range here.share - (c.Count() - len(here.dead)) {
			p, v, h := here.recruit()
			must(a.fighters.Create(c, atollFighter{p, v, h}))
		}
	}
}

func atollBattle(shards, workers, n int) game {
	a := newAtollArmy(shards, n)
	s := scheduler.New(a.World, scheduler.Options{Workers: workers})
	for _, x := range a.systems() {
		s.MustAdd(x.name, x.construct)
	}
	ctx := context.Background()
	return game{
		tick:   func() { check(s.Step(ctx)) },
		verify: func(ticks int) error { return verifyBattle(n, ticks, a.Count(), attacksIn(a.arenas)) },
	}
}
