package main

import (
	"sync"

	"github.com/mlange-42/ark/ecs"
)

// arkSide is the relation of a fighter to its goroutine, which is the target.
type arkSide struct{ ecs.RelationMarker }

// arkArmy is Ark's world, with an arena for each goroutine.
type arkArmy struct {
	w        *ecs.World
	fighters *ecs.Map4[Position, Velocity, Health, arkSide]
	health   *ecs.Map[Health]
	moving   *ecs.Filter2[Position, Velocity]
	placed   *ecs.Filter1[Position]
	sides    []ecs.Relation // by goroutine
	arenas   []*arena[ecs.Entity]
	ticks    uint64
}

// arkBattle is Ark with its queries partitioned by hand, as in its own
// example of parallel queries: entities are related to their goroutine,
// each goroutine queries its own, and structural changes are made
// after all have finished. One goroutine has a single side.
func arkBattle(goroutines, n int) game {
	w := ecs.NewWorld()
	a := &arkArmy{
		w: w, fighters: ecs.NewMap4[Position, Velocity, Health, arkSide](w), health: ecs.NewMap[Health](w),
		moving: ecs.NewFilter2[Position, Velocity](w).With(ecs.C[arkSide]()),
		placed: ecs.NewFilter1[Position](w).With(ecs.C[arkSide]()),
	}
	for i := range goroutines {
		a.sides = append(a.sides, ecs.Rel[arkSide](w.NewEntity()))
		a.arenas = append(a.arenas, newArena[ecs.Entity]((n+goroutines-1-i)/goroutines, i))
		a.recruit(i, a.arenas[i].share)
	}
	all := ecs.NewFilter1[Health](w)
	return game{
		tick: a.tick,
		verify: func(ticks int) error {
			q := all.Query()
			defer q.Close()
			return verifyBattle(n, ticks, q.Count(), attacksIn(a.arenas))
		},
	}
}

func (a *arkArmy) tick() {
	var others sync.WaitGroup
	for i := range a.arenas[1:] {
		others.Go(func() { a.turn(i + 1) })
	}
	a.turn(0)
	others.Wait()
	for i, here := range a.arenas {
		for _, e := range here.dead {
			a.w.RemoveEntity(e)
		}
		a.recruit(i, len(here.dead))
	}
	a.ticks++
}

// turn is what a goroutine does to its side.
func (a *arkArmy) turn(side int) {
	here := a.arenas[side]
	for q := a.moving.Query(a.sides[side]); q.NextTable(); {
		here.move(q.GetColumns())
	}
	here.empty()
	for q := a.placed.Query(a.sides[side]); q.NextTable(); {
		here.count(q.GetColumns())
	}
	here.sum()
	for q := a.placed.Query(a.sides[side]); q.NextTable(); {
		here.enter(q.Entities(), q.GetColumns())
	}
	here.fight(a.ticks, a.health.Get)
}

// recruit makes n new fighters.
func (a *arkArmy) recruit(side, n int) {
	here := a.arenas[side]
	fill := func(p *Position, v *Velocity, h *Health, _ *arkSide) { *p, *v, *h = here.recruit() }
	for range n {
		a.fighters.NewEntityFn(fill, a.sides[side])
	}
}
