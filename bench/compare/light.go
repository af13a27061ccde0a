package main

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlange-42/ark/ecs"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// light200k and light20k are the light simulation with many entities and with few.
var (
	light20k  = lightSection("light-20k", 20_000, 80)
	light200k = lightSection("light-200k", 200_000, 30)
)

func lightSection(name string, n, rounds int) *section {
	return &section{
		name:  name,
		title: "A tick of little work: wander, move, buffs that come and go",
		text: `N entities wander: each draws a random number and turns a little. 900 a tick are given a buff, which is a component, and as many lose theirs, one by
one. All move. Atoll has four systems, by the calls of the guide. Ark is behind a mutex and partitioned by hand as in the battle; buffs come and go when its goroutines have
finished. Slices are what this machine gives: goroutines that share nothing but a counter, are awake when a tick begins, and have neither handles nor archetypes. Where two of them are
not twice as fast as one, the two processors were one core at times. Contenders take turns of 25 ticks, of which
the first 5 are not measured. What came of each is compared, bit by bit.`,
		quick: n, full: n, weight: 3, cost: 6,
		columns: gameColumns,
		run: func(n int, s settings) []finding {
			return play(n, s.inSections("ark", "slices"), func(c contender, goroutines, n int) game {
				switch c.role {
				case own:
					return newAtollLight(c.shards, goroutines, n)
				case limit:
					return slicesLight(goroutines, n)
				}
				return newArkLight(goroutines, n)
			}, turns{rounds: min(rounds, 4*s.plan.roundsMax), ticks: 25, cold: 5, settle: 50})
		},
	}
}

// The rules of the light simulation: all entities wander, which is a draw of the entity's own
// random numbers and a turn; some get a buff, which ends after some ticks; all move. What each does
// depends only on its own draws and the tick, so all contenders can be compared with plain slices,
// bit by bit.
const (
	buffsAtATick = 900
	buffTicks    = 4
	wanderTurn   = 1.0 / 64
)

// Mood is the state of an entity's random numbers.
type Mood struct{ Draw uint64 }

// Buff is a buff that lasts until a tick.
type Buff struct{ Until uint64 }

// light has the settings that all contenders share.
type light struct {
	n    int
	luck uint64 // an entity that draws less gets a buff
}

func newLight(n int) light {
	each := min(buffsAtATick, n/20)
	return light{n: n, luck: uint64(float64(each) / float64(n-each*buffTicks) * math.MaxUint64)}
}

// born returns the initial components of entity i.
func (light) born(i int) (Mood, Position, Velocity) {
	return Mood{uint64(i+1) * 0x9e3779b97f4a7c15}, Position{float64(i), 0}, Velocity{1, 0}
}

// wander draws for each, and turns it a little.
//
//go:noinline
func wander(moods []Mood, vel []Velocity) {
	vel = vel[:len(moods)]
	for i := range moods {
		x := moods[i].Draw
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		moods[i].Draw = x
		turn := float64(int64(x)) * (wanderTurn / (1 << 63))
		v := vel[i]
		vel[i] = Velocity{v.X - turn*v.Y, v.Y + turn*v.X}
	}
}

// lucky reports whether an entity without a buff gets one.
func (l *light) lucky(m Mood) bool { return m.Draw < l.luck }

// outcome is the result for a number of entities, in any order.
type outcome struct {
	entities, buffs int
	sum             uint64
}

func (o *outcome) add(m Mood, p Position) {
	o.entities++
	o.sum += (m.Draw ^ math.Float64bits(p.X)) * (math.Float64bits(p.Y) | 1)
}

// expected caches the results of the light simulation, computed by slices.
var expected = map[struct{ n, ticks int }]outcome{}

func (l *light) verify(ticks int, got outcome) error {
	key := struct{ n, ticks int }{l.n, ticks}
	want, ok := expected[key]
	if !ok {
		g := newSliceLight(*l, 1)
		for range ticks {
			g.turn(0)
			g.ticks++
		}
		want = g.outcome()
		expected[key] = want
	}
	return same("outcome", got, want)
}

// sliceLight is the light simulation by hand: slices for each goroutine, with the tick at
// which each entity's buff ends, and a list of the entities with one. It does not
// keep entities that have a buff together, so it does less than the others.
//
// Its goroutines stay awake between ticks, up to sliceAwake, and so does the one that waits for
// them. This shows what the machine can do.
type sliceLight struct {
	light
	sides []sliceSide
	ticks uint64
}

const sliceAwake = time.Millisecond

type sliceSide struct {
	moods  []Mood
	pos    []Position
	vel    []Velocity
	until  []uint64
	buffed []int32
	asked  atomic.Uint64 // the tick that its goroutine is to make, or asleep
	made   atomic.Uint64 // ticks
	_      [64]byte
}

func newSliceLight(l light, goroutines int) *sliceLight {
	g := &sliceLight{light: l, sides: make([]sliceSide, goroutines)}
	for i := range l.n {
		s := &g.sides[i*goroutines/l.n]
		m, p, v := l.born(i)
		s.moods, s.pos, s.vel, s.until = append(s.moods, m), append(s.pos, p), append(s.vel, v), append(s.until, 0)
	}
	return g
}

func (s *sliceLight) tick() {
	next := s.ticks + 1
	for i := range s.sides[1:] {
		if s.sides[i+1].asked.Swap(next) == asleep {
			go s.take(i+1, next)
		}
	}
	s.turn(0)
	for i := range s.sides[1:] {
		for s.sides[i+1].made.Load() < next {
		}
	}
	s.ticks++
}

// take makes a side's ticks, from the requested one on, until none is requested in time.
func (s *sliceLight) take(side int, tick uint64) {
	own := &s.sides[side]
	for {
		s.turn(side)
		own.made.Store(tick)
		tick++
		for until := time.Now().Add(sliceAwake); own.asked.Load() < tick; {
			if time.Now().After(until) && own.asked.CompareAndSwap(tick-1, asleep) {
				return
			}
		}
	}
}

// asleep is the value of asked for a side that has no goroutine.
const asleep = 0

func (s *sliceLight) turn(side int) {
	own := &s.sides[side]
	wander(own.moods, own.vel)
	for i, m := range own.moods {
		if s.lucky(m) && own.until[i] == 0 {
			own.until[i] = s.ticks + buffTicks
			own.buffed = append(own.buffed, int32(i))
		}
	}
	left := own.buffed[:0]
	for _, i := range own.buffed {
		if own.until[i] <= s.ticks {
			own.until[i] = 0
		} else {
			left = append(left, i)
		}
	}
	own.buffed = left
	move(own.pos, own.vel)
}

func (s *sliceLight) outcome() (o outcome) {
	for i := range s.sides {
		own := &s.sides[i]
		for k, m := range own.moods {
			o.add(m, own.pos[k])
		}
		o.buffs += len(own.buffed)
	}
	return o
}

func slicesLight(goroutines, n int) game {
	g := newSliceLight(newLight(n), goroutines)
	return game{tick: g.tick, verify: func(ticks int) error { return g.light.verify(ticks, g.outcome()) }}
}

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
