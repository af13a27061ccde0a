package main

import (
	"context"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// atoll is the library of this repository, with a number of shards.
func atoll(shards int) contender { return atollWith(world.Options{Shards: shards}) }

func atollWith(o world.Options) contender {
	return contender{
		name: "atoll", role: own, shards: o.Shards,
		iterate: func() field { return atollIterate(o) },
		lookup:  func(n int) lookups { return atollLookup(o, n) },
		populate: func(wide bool, n int) population {
			if wide {
				return atollPopulate[atollWide](o, n)
			}
			return atollPopulate[atollMover](o, n)
		},
		values: func(wide bool, n int) values {
			if wide {
				return atollWideValues(o, n)
			}
			return atollValues(o, n)
		},
		change:    func(wide bool, n int) change { return atollChange(o, wide, n) },
		hierarchy: func(s wishes) kinship { return atollHierarchy(o, s) },
		newWorld:  func() any { return world.MustNew(world.Options{Shards: o.Shards}) },
	}
}

// The bundles that entities are created from.
type (
	atollPlace struct{ Position }
	atollMover struct {
		Position
		Velocity
	}
	atollWide struct {
		C1
		C2
		C3
		C4
		C5
		C6
		C7
		C8
		C9
		C10
	}
)

// atollWorld is a world with all components registered.
type atollWorld struct {
	*world.World
	position *world.Component[Position]
	velocity *world.Component[Velocity]
	extras   []func(handle.Handle) // each adds one of the extra components
	places   *world.Bundle[atollPlace]
	movers   *world.Bundle[atollMover]
}

func newAtollWorld(o world.Options) *atollWorld {
	w := &atollWorld{World: world.MustNew(o)}
	w.position = world.Register[Position](w.World, "position")
	w.velocity = world.Register[Velocity](w.World, "velocity")
	atollExtra[C1](w, "c1")
	atollExtra[C2](w, "c2")
	atollExtra[C3](w, "c3")
	atollExtra[C4](w, "c4")
	atollExtra[C5](w, "c5")
	atollExtra[C6](w, "c6")
	atollExtra[C7](w, "c7")
	atollExtra[C8](w, "c8")
	atollExtra[C9](w, "c9")
	atollExtra[C10](w, "c10")
	w.places, w.movers = world.NewBundle[atollPlace](w.World), world.NewBundle[atollMover](w.World)
	return w
}

func atollExtra[C any](w *atollWorld, name string) {
	c := world.Register[C](w.World, name)
	w.extras = append(w.extras, func(h handle.Handle) { check(c.Add(w.World, h, *new(C))) })
}

// place makes n entities of any set with a Position.
func (a *atollWorld) place(s set, n int) []handle.Handle {
	var handles []handle.Handle
	if s&velocity != 0 {
		handles = must(a.movers.AppendN(nil, a.World, n, func(_ int, m *atollMover) { m.Velocity = Velocity{1, 1} }))
	} else {
		handles = must(a.places.AppendN(nil, a.World, n, nil))
	}
	for _, add := range components(s/extra, a.extras) {
		for _, h := range handles {
			add(h)
		}
	}
	return handles
}

func atollIterate(o world.Options) field {
	w := newAtollWorld(o)
	pos, vel := world.Write[Position](w.World), world.Read[Velocity](w.World)
	all, both := w.Query(pos), w.Query(pos, vel)
	return field{
		place: func(s set, n int) {
			switch s {
			case position:
				check(w.places.CreateN(w.World, n, nil))
			case moving:
				check(w.movers.CreateRows(w.World, n, func(rows world.Chunk) {
					v := vel.Slice(rows)
					for i := range v {
						v[i] = Velocity{1, 1}
					}
				}))
			default:
				w.place(s, n)
			}
			w.Refresh()
		},
		pass: func() {
			for ch := range both.Chunks() {
				move(pos.Slice(ch), vel.Slice(ch))
			}
		},
		sum: func() float64 {
			sum := 0.0
			for ch := range all.Chunks() {
				for _, p := range pos.Slice(ch) {
					sum += p.X + p.Y
				}
			}
			return sum
		},
	}
}

func atollLookup(o world.Options, n int) lookups {
	w := newAtollWorld(o)
	handles := shuffle(must(w.places.AppendN(nil, w.World, n, func(i int, p *atollPlace) { p.X = float64(i) })))
	pos, writer := world.Read[Position](w.World), world.Write[Position](w.World)
	return lookups{
		read: func() float64 {
			sum := 0.0
			for _, h := range handles {
				sum += pos.Get(h).X
			}
			return sum
		},
		write: func() {
			for _, h := range handles {
				writer.Get(h).X++
			}
		},
	}
}

func atollPopulate[T any](o world.Options, n int) population {
	w := newAtollWorld(o)
	b := world.NewBundle[T](w.World)
	all := w.Query()
	handles := make([]handle.Handle, 0, n)
	return population{
		create: func(n int) {
			for range n {
				handles = append(handles, must(b.Create(w.World, *new(T))))
			}
		},
		createBatch: func(n int) { check(b.CreateN(w.World, n, nil)) },
		destroy: func() {
			for _, h := range handles {
				w.Destroy(h)
			}
			w.Refresh()
			handles = handles[:0]
		},
		destroyBatch: func() {
			all.Destroy()
			w.Refresh()
			handles = handles[:0]
		},
		count: w.Count,
		forget: func() {
			handles = nil
			w.Refresh() // clears the shards' lookups from before the world grew
		},
		stats: func() (used, reserved uint64) {
			var stats world.Stats
			w.Stats(&stats)
			return stats.BytesUsed, stats.BytesReserved
		},
	}
}

func atollValues(o world.Options, n int) values {
	w := newAtollWorld(o)
	pos, vel := world.Read[Position](w.World), world.Read[Velocity](w.World)
	both := w.Query(pos, vel)
	handles := make([]handle.Handle, 0, n)
	return values{
		create: func(n int) {
			for range n {
				handles = append(handles, must(w.movers.Create(w.World, atollMover{Position{1, 2}, Velocity{3, 4}})))
			}
		},
		createBatch: func(n int) {
			check(w.movers.CreateN(w.World, n, func(_ int, m *atollMover) { *m = atollMover{Position{1, 2}, Velocity{3, 4}} }))
		},
		clear: func() {
			both.Destroy()
			w.Refresh()
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			for ch := range both.Chunks() {
				p, v := pos.Slice(ch), vel.Slice(ch)
				for i := range p {
					sum += p[i].X + p[i].Y + v[i].X + v[i].Y
				}
			}
			return sum
		},
	}
}

func atollChange(o world.Options, wide bool, n int) change {
	w := newAtollWorld(o)
	pos := world.Read[Position](w.World)
	all, with := w.Query(pos), w.Query(pos, world.With[Velocity](w.World))
	handles := w.place(baseOf(wide), n)
	add := func(c *world.Context, h handle.Handle) error { return w.velocity.Add(c, h, Velocity{}) }
	remove := func(c *world.Context, h handle.Handle) error { return w.velocity.Remove(c, h) }
	c := change{
		add: func() {
			for _, h := range handles {
				check(w.velocity.Add(w.World, h, Velocity{}))
			}
		},
		remove: func() {
			for _, h := range handles {
				check(w.velocity.Remove(w.World, h))
			}
		},
		addBatch:    func() { check(w.velocity.AddTo(all, nil)) },
		removeBatch: func() { check(with.Remove(w.velocity)) },
		addTenth:    w.system(add, new(lot)),
		removeTick:  w.system(remove, nil, func(b *world.Build) world.Term { return world.With[Velocity](b) }),
		count:       with.Count,
	}
	if n <= w.Shards()*w.Options().OutboxRequests { // systems of a shard request no more in a tick
		c.addTick = w.system(add, nil)
	}
	return c
}

// system returns a function that takes a tick, in which a system changes entities with a Position:
// those that the terms select, or those that a lot draws.
func (a *atollWorld) system(change func(*world.Context, handle.Handle) error, l *lot, terms ...func(*world.Build) world.Term) func() {
	s := scheduler.New(a.World, scheduler.Options{Workers: 1})
	s.MustAdd("change", func(b *world.Build) func(*world.Context) {
		of := []world.Term{world.Read[Position](b)}
		for _, term := range terms {
			of = append(of, term(b))
		}
		all := b.Query(of...)
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				for _, h := range ch.Handles() {
					if l == nil || l.drawn() {
						check(change(c, h))
					}
				}
			}
		}
	})
	return func() {
		if l != nil {
			*l = newLot()
		}
		check(s.Step(context.Background()))
	}
}

// atollWideValues has no query of all ten: entities have no other components.
func atollWideValues(o world.Options, n int) values {
	w := newAtollWorld(o)
	b := world.NewBundle[atollWide](w.World)
	all := w.Query()
	read := []func(world.Chunk) float64{
		atollSum[C1](w), atollSum[C2](w), atollSum[C3](w), atollSum[C4](w), atollSum[C5](w),
		atollSum[C6](w), atollSum[C7](w), atollSum[C8](w), atollSum[C9](w), atollSum[C10](w),
	}
	wide := atollWide{C1{1, 2}, C2{1, 2}, C3{1, 2}, C4{1, 2}, C5{1, 2}, C6{1, 2}, C7{1, 2}, C8{1, 2}, C9{1, 2}, C10{1, 2}}
	handles := make([]handle.Handle, 0, n)
	return values{
		create: func(n int) {
			for range n {
				handles = append(handles, must(b.Create(w.World, wide)))
			}
		},
		createBatch: func(n int) { check(b.CreateN(w.World, n, func(_ int, m *atollWide) { *m = wide })) },
		clear: func() {
			all.Destroy()
			w.Refresh()
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			for ch := range all.Chunks() {
				for _, f := range read {
					sum += f(ch)
				}
			}
			return sum
		},
	}
}

// atollSum returns a function that adds up the fields of a component in a chunk.
func atollSum[C C1 | C2 | C3 | C4 | C5 | C6 | C7 | C8 | C9 | C10](w *atollWorld) func(world.Chunk) float64 {
	c := world.Read[C](w.World)
	return func(ch world.Chunk) float64 {
		sum := 0.0
		for _, v := range c.Slice(ch) {
			p := Position(v)
			sum += p.X + p.Y
		}
		return sum
	}
}
