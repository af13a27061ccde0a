package main

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/mlange-42/ark/ecs"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

var battles = &section{
	name:  "battle",
	title: "A tick of a game: movement, collision grid, damage and churn",
	text: `N fighters move about, in cells of 16 on average; a grid of who is in which cell is made anew; one of 16 attacks whoever is nearest in its cell;
about one of 64 dies and another comes. All do it by the same code, but for the loops and calls of the libraries. Ark with two goroutines is partitioned by
hand in the way of its own example: entities are related to the goroutine they are of, each asks for its own, and creating and destroying is
done by one goroutine afterwards. Contenders take turns, tick by tick; the least of 15 ticks each, by the clock. Processor time is that of all goroutines
together, the median: other programs hardly change it, and as much of it as on one goroutine means that two would be twice as fast on a machine of one's own. How many there are, and how many
attacks, is compared with what there should be.`,
	quick: 100_000, full: 1_000_000, weight: 10, cost: 40,
	columns: gameColumns,
	run: func(n int, s settings) []finding {
		return play(n, s.inSections("ark"), func(c contender, goroutines, n int) game {
			if c.role == own {
				return atollBattle(c.shards, goroutines, n)
			}
			return arkBattle(goroutines, n)
		}, battleTurns)
	},
}

// battleTurns: during the ticks before the first round, storage grows and health spreads.
var battleTurns = turns{rounds: 15, ticks: 1, settle: 20}

// verifyBattle compares a battle with the expected result.
func verifyBattle(n, ticks, fighters int, attacks uint64) error {
	if err := same("number of entities", fighters, n); err != nil {
		return err
	}
	if each := float64(attacks) / float64(ticks) / float64(n); n >= manyFrom && math.Abs(each*attackPeriod-1) > 0.25 {
		return fmt.Errorf("wrong result: %.3f attacks per entity and tick, want about %.3f", each, 1.0/attackPeriod)
	}
	return nil
}

// The rules of the battle: all fighters move; a grid is built of the fighters in each cell;
// one fighter of so many attacks the nearest in its cell; a fighter without health is
// destroyed, and a new one is created.
const (
	cellSide     = 16
	cellCrowd    = 16 // fighters in a cell, on average
	attackPeriod = 16 // ticks
	fullHealth   = 100
	damage       = 25
)

// Health is what a fighter can take.
type Health struct{ Points int32 }

// arena is a part of the battle's area, with a grid of the fighters in it. E is the type of a
// contender's handles.
//
//	starts:  0  2  2  5 …      cell c is fighters[starts[c]:starts[c+1]]
//
// Ownership: the goroutine whose fighters are in it.
type arena[E comparable] struct {
	share    int // fighters that belong here
	cells    int // in a row, and rows
	starts   []uint32
	fighters []fighter[E]
	random   uint64
	attacks  uint64
	dead     []E
	_        [64]byte // other arenas are written by other goroutines
}

type fighter[E comparable] struct {
	who E
	at  Position
}

func newArena[E comparable](share int, seed int) *arena[E] {
	cells := int(math.Ceil(math.Sqrt(float64(share) / cellCrowd)))
	return &arena[E]{share: share, cells: max(cells, 1), starts: make([]uint32, max(cells, 1)*max(cells, 1)+1), random: uint64(seed)*2 + 1}
}

// chance returns a random number from 0 to 1.
func (a *arena[E]) chance() float64 {
	a.random ^= a.random << 13
	a.random ^= a.random >> 7
	a.random ^= a.random << 17
	return float64(a.random>>11) / (1 << 53)
}

// recruit returns what a new fighter has.
func (a *arena[E]) recruit() (Position, Velocity, Health) {
	side := float64(a.cells * cellSide)
	return Position{a.chance() * side, a.chance() * side}, Velocity{a.chance()*2 - 1, a.chance()*2 - 1}, Health{fullHealth}
}

// move moves fighters. They turn around at the edge.
func (a *arena[E]) move(pos []Position, vel []Velocity) {
	side := float64(a.cells * cellSide)
	vel = vel[:len(pos)]
	for i := range pos {
		pos[i].X, vel[i].X = bounce(pos[i].X+vel[i].X, vel[i].X, side)
		pos[i].Y, vel[i].Y = bounce(pos[i].Y+vel[i].Y, vel[i].Y, side)
	}
}

func bounce(at, velocity, side float64) (float64, float64) {
	switch {
	case at < 0:
		return -at, -velocity
	case at >= side:
		return 2*side - at, -velocity
	}
	return at, velocity
}

func (a *arena[E]) cellOf(p Position) int {
	column := func(x float64) int { return min(max(int(x)/cellSide, 0), a.cells-1) }
	return column(p.Y)*a.cells + column(p.X)
}

// The grid is rebuilt by counting sort: empty it, count all rows, sum the counts, and
// enter all rows.

func (a *arena[E]) empty() { clear(a.starts) }

func (a *arena[E]) count(pos []Position) {
	for _, p := range pos {
		a.starts[a.cellOf(p)]++
	}
}

func (a *arena[E]) sum() {
	end := uint32(0)
	for c, n := range a.starts {
		end += n
		a.starts[c] = end // of the cell: it is filled from the end
	}
	if cap(a.fighters) < int(end) {
		a.fighters = make([]fighter[E], end+end/8)
	}
	a.fighters = a.fighters[:end]
}

func (a *arena[E]) enter(who []E, pos []Position) {
	who = who[:len(pos)]
	for i, p := range pos {
		at := &a.starts[a.cellOf(p)]
		*at--
		a.fighters[*at] = fighter[E]{who[i], p}
	}
}

// fight finds the targets of all fighters whose turn it is. health returns the health of a target.
// Afterwards dead has those that die.
func (a *arena[E]) fight(tick uint64, health func(E) *Health) {
	a.dead = a.dead[:0]
	for c := range len(a.starts) - 1 {
		crowd := a.fighters[a.starts[c]:a.starts[c+1]]
		for i := int((tick + uint64(c)) % attackPeriod); i < len(crowd); i += attackPeriod {
			target := nearest(crowd, i)
			if target < 0 {
				continue
			}
			a.attacks++
			h := health(crowd[target].who)
			if h.Points > 0 { // otherwise an earlier attack killed it
				if h.Points -= damage; h.Points <= 0 {
					a.dead = append(a.dead, crowd[target].who)
				}
			}
		}
	}
}

// nearest returns the index of the fighter nearest to number self in a crowd, or -1.
func nearest[E comparable](crowd []fighter[E], self int) int {
	best, who := math.Inf(1), -1
	at := crowd[self].at
	for i := range crowd {
		dx, dy := crowd[i].at.X-at.X, crowd[i].at.Y-at.Y
		if d := dx*dx + dy*dy; d < best && i != self {
			best, who = d, i
		}
	}
	return who
}

// attacksIn adds up the attacks of all arenas.
func attacksIn[E comparable](arenas []*arena[E]) (sum uint64) {
	for _, a := range arenas {
		sum += a.attacks
	}
	return sum
}

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
