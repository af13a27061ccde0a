package main

import "math"

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
