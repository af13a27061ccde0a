package main

import (
	"sync"

	"github.com/mlange-42/ark/ecs"
)

// arkLight is Ark's world behind a mutex, partitioned as the battle's is.
type arkLight struct {
	light
	mu     sync.Mutex // goroutines outside of the tick would lock it, too
	w      *ecs.World
	buffs  *ecs.Map[Buff]
	plain  *ecs.Filter1[Mood]
	buffed *ecs.Filter1[Buff]
	turned *ecs.Filter2[Mood, Velocity]
	moved  *ecs.Filter2[Position, Velocity]
	sides  []arkLightSide
	ticks  uint64
}

type arkLightSide struct {
	is          ecs.Relation
	lucky, over []ecs.Entity
	_           [64]byte
}

func newArkLight(goroutines, n int) game {
	w := ecs.NewWorld()
	side := ecs.C[arkSide]()
	a := &arkLight{
		light: newLight(n), w: w, buffs: ecs.NewMap[Buff](w),
		plain:  ecs.NewFilter1[Mood](w).With(side).Without(ecs.C[Buff]()),
		buffed: ecs.NewFilter1[Buff](w).With(side),
		turned: ecs.NewFilter2[Mood, Velocity](w).With(side),
		moved:  ecs.NewFilter2[Position, Velocity](w).With(side),
		sides:  make([]arkLightSide, goroutines),
	}
	wanderers := ecs.NewMap4[Mood, Position, Velocity, arkSide](w)
	for i := range a.sides {
		a.sides[i].is = ecs.Rel[arkSide](w.NewEntity())
	}
	for i := range n {
		wanderers.NewEntityFn(func(m *Mood, p *Position, v *Velocity, _ *arkSide) { *m, *p, *v = a.born(i) }, a.sides[i*goroutines/n].is)
	}
	all, buffed := ecs.NewFilter2[Mood, Position](w), ecs.NewFilter1[Buff](w)
	return game{tick: a.tick, verify: func(ticks int) error {
		var o outcome
		for q := all.Query(); q.Next(); {
			m, p := q.Get()
			o.add(*m, *p)
		}
		q := buffed.Query()
		defer q.Close()
		o.buffs = q.Count()
		return a.verify(ticks, o)
	}}
}

func (a *arkLight) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	var others sync.WaitGroup
	for i := range a.sides[1:] {
		others.Go(func() { a.turn(i + 1) })
	}
	a.turn(0)
	others.Wait()
	for i := range a.sides {
		for _, e := range a.sides[i].lucky {
			a.buffs.Add(e, &Buff{a.ticks + buffTicks})
		}
		for _, e := range a.sides[i].over {
			a.buffs.Remove(e)
		}
	}
	a.ticks++
}

// turn is what a goroutine does to its side.
func (a *arkLight) turn(side int) {
	here := &a.sides[side]
	for q := a.turned.Query(here.is); q.NextTable(); {
		wander(q.GetColumns())
	}
	here.lucky, here.over = here.lucky[:0], here.over[:0]
	for q := a.plain.Query(here.is); q.NextTable(); {
		who := q.Entities()
		for i, m := range q.GetColumns() {
			if a.lucky(m) {
				here.lucky = append(here.lucky, who[i])
			}
		}
	}
	for q := a.buffed.Query(here.is); q.NextTable(); {
		who := q.Entities()
		for i, x := range q.GetColumns() {
			if x.Until <= a.ticks {
				here.over = append(here.over, who[i])
			}
		}
	}
	for q := a.moved.Query(here.is); q.NextTable(); {
		move(q.GetColumns())
	}
}
