package main

import (
	"context"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type atollWanderer struct {
	Mood
	Position
	Velocity
}

// atollLight is the light simulation as the guide teaches it.
type atollLight struct {
	light
	buffs *world.Component[Buff]
}

func newAtollLight(shards, workers, n int) game {
	w := world.MustNew(world.Options{Shards: shards})
	world.Register[Mood](w, "mood")
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	a := &atollLight{light: newLight(n), buffs: world.Register[Buff](w, "buff")}
	check(world.NewBundle[atollWanderer](w).CreateN(w, n, func(i int, x *atollWanderer) { x.Mood, x.Position, x.Velocity = a.born(i) }))
	s := scheduler.New(w, scheduler.Options{Workers: workers})
	s.MustAdd("wander", a.wander).MustAdd("bless", a.bless).MustAdd("fade", a.fade).MustAdd("move", a.move)
	ctx := context.Background()
	return game{
		tick:   func() { check(s.Step(ctx)) },
		verify: func(ticks int) error { return a.verify(ticks, a.outcome(w)) },
	}
}

func (a *atollLight) wander(b *world.Build) func(*world.Context) {
	moods, vel := world.Write[Mood](b), world.Write[Velocity](b)
	all := b.Query(moods, vel)
	return func(*world.Context) {
		for ch := range all.Chunks() {
			wander(moods.Slice(ch), vel.Slice(ch))
		}
	}
}

// bless gives buffs.
func (a *atollLight) bless(b *world.Build) func(*world.Context) {
	moods := world.Read[Mood](b)
	plain := b.Query(moods, world.Without[Buff](b))
	var lucky []handle.Handle
	return func(c *world.Context) {
		lucky = lucky[:0]
		for ch := range plain.Chunks() {
			for i, m := range moods.Slice(ch) {
				if a.lucky(m) {
					lucky = append(lucky, ch.Handle(i))
				}
			}
		}
		for _, h := range lucky {
			check(a.buffs.Add(c, h, Buff{c.Tick() + buffTicks}))
		}
	}
}

// fade removes the buffs that are over.
func (a *atollLight) fade(b *world.Build) func(*world.Context) {
	buff := world.Read[Buff](b)
	buffed := b.Query(buff)
	var over []handle.Handle
	return func(c *world.Context) {
		over = over[:0]
		for ch := range buffed.Chunks() {
			for i, x := range buff.Slice(ch) {
				if x.Until <= c.Tick() {
					over = append(over, ch.Handle(i))
				}
			}
		}
		for _, h := range over {
			check(a.buffs.Remove(c, h))
		}
	}
}

func (a *atollLight) move(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Read[Velocity](b)
	all := b.Query(pos, vel)
	return func(*world.Context) {
		for ch := range all.Chunks() {
			move(pos.Slice(ch), vel.Slice(ch))
		}
	}
}

func (a *atollLight) outcome(w *world.World) (o outcome) {
	moods, pos := world.Read[Mood](w), world.Read[Position](w)
	for ch := range w.Query(moods, pos).Chunks() {
		p := pos.Slice(ch)
		for i, m := range moods.Slice(ch) {
			o.add(m, p[i])
		}
	}
	o.buffs = w.Query(world.With[Buff](w)).Count()
	return o
}
