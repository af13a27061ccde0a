package realm

import (
	"math"
	"math/rand/v2"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// island is what the systems of one shard share.
//
// Ownership: the worker that runs the shard, whose systems run one after
// another. It is read between ticks.
type island struct {
	share     int // creatures that should live here, without those that moved in and out
	corner    Position
	chance    rand.PCG // the source of dice
	dice      *rand.Rand
	ledger    Ledger
	graveyard graveyard
	people    grid // creatures and avatars
	litter    grid // items on the ground

	lying []entry  // what litter is made of
	looks []look   // requests for this tick's sight
	_     [64]byte // other islands are written by other workers
}

// look is a question about an entity anywhere.
type look struct {
	target handle.Handle
	client uint32
	seq    uint32
}

func (i *island) init(number int, corner Position, share int, seed uint64) {
	i.share, i.corner = share, corner
	i.chance.Seed(seed, uint64(number))
	i.dice = rand.New(&i.chance)
	i.graveyard = newGraveyard(seed, uint64(number))
	i.people, i.litter = newGrid(corner, share+share/4), newGrid(corner, share)
}

// created and destroyed record in the island's books what its systems did.
func (i *island) created(k Kind) { i.ledger.Created[k]++ }

func (i *island) destroyed(k Kind, h handle.Handle) {
	i.ledger.Destroyed[k]++
	i.graveyard.add(h)
}

// sent counts a message or an entity that met a limit. A dead receiver
// is no loss: it would not have got the message anyway.
func (i *island) sent(err error) bool {
	if err != nil && err != world.ErrStale {
		i.ledger.Dropped++
	}
	return err == nil
}

// place returns a random position on the island.
func (i *island) place() Position {
	return Position{i.corner.X + i.dice.Float32()*Side, i.corner.Y + i.dice.Float32()*Side}
}

// heading returns a random velocity of a creature.
func (i *island) heading() Velocity {
	return Velocity{(i.dice.Float32()*2 - 1) * creatureSpeed, (i.dice.Float32()*2 - 1) * creatureSpeed}
}

// must panics if an entity of the own shard that is known to be alive cannot be
// destroyed, which would be a bug in the world.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Ledger is the books of one island, or the sum of all.
//
// Ownership: the systems of the island write it, while they run. It is read
// between ticks.
type Ledger struct {
	Created   [kinds]uint64 // by kind; avatars are created by clients, not here
	Destroyed [kinds]uint64 // by kind; avatars that died, not those that left

	Obeyed  uint64 // commands applied
	Late    uint64 // commands for an avatar that had died
	Refused uint64 // commands that met a full outbox
	Skipped uint64 // commands that never arrived, found by gaps in their numbers
	Doubled uint64 // commands that arrived twice
	Unheard uint64 // replies that were dropped: the mailbox was full or closed

	Blows   uint64 // attacks that landed
	Abroad  uint64 // of those, on an entity of another island
	Dropped uint64 // attacks, rumours, items and creatures that met a limit
}

// add adds another island's.
func (l *Ledger) add(o *Ledger) {
	for k := range l.Created {
		l.Created[k] += o.Created[k]
		l.Destroyed[k] += o.Destroyed[k]
	}
	l.Obeyed += o.Obeyed
	l.Late += o.Late
	l.Refused += o.Refused
	l.Skipped += o.Skipped
	l.Doubled += o.Doubled
	l.Unheard += o.Unheard
	l.Blows += o.Blows
	l.Abroad += o.Abroad
	l.Dropped += o.Dropped
}

// alive returns how many of a kind should be alive, by the ledger.
func (l *Ledger) alive(k Kind) int { return int(l.Created[k] - l.Destroyed[k]) }

// Ledger returns the sum of the islands' ledgers. No tick may be running.
func (r *Realm) Ledger() Ledger {
	var sum Ledger
	for i := range r.islands {
		sum.add(&r.islands[i].ledger)
	}
	return sum
}

// gravesMax is how many dead handles an island keeps.
const gravesMax = 1024

// graveyard is a random sample of the handles of all that died on an island.
// All are equally likely to be in it.
//
// Ownership: the island's.
type graveyard struct {
	graves []handle.Handle
	dead   uint64 // how many there were
	dice   *rand.Rand
}

func newGraveyard(seed, island uint64) graveyard {
	return graveyard{graves: make([]handle.Handle, 0, gravesMax), dice: rand.New(rand.NewPCG(seed, ^island))}
}

// add adds a handle whose entity is destroyed by this tick's refresh.
func (g *graveyard) add(h handle.Handle) {
	g.dead++
	if len(g.graves) < gravesMax {
		g.graves = append(g.graves, h)
		return
	}
	if i := g.dice.Uint64N(g.dead); i < gravesMax {
		g.graves[i] = h
	}
}

// AppendDead appends the sample of dead handles to dst: up to most of each
// island, beginning anywhere. No tick may be running.
func (r *Realm) AppendDead(dst []handle.Handle, most int) []handle.Handle {
	for i := range r.islands {
		g := &r.islands[i].graveyard
		n := len(g.graves)
		if n <= most {
			dst = append(dst, g.graves...)
			continue
		}
		for k, at := 0, int(r.inspector.Uint64N(uint64(n))); k < most; k++ {
			dst = append(dst, g.graves[(at+k)%n])
		}
	}
	return dst
}

// GravesMax returns how many dead handles the realm keeps at most.
func (r *Realm) GravesMax() int { return gravesMax * len(r.islands) }

const (
	// Side is the length of an island's sides, whatever the number of islands.
	Side = 1024
	// cellSide is the length of the sides of a cell. Entities in the same cell, or
	// in cells that touch, are near each other.
	cellSide = 16
	cells    = Side / cellSide // in a row
)

// grid has the entities of an island, sorted by cell.
//
//	starts:  0  2  2  5 …      cell c is entries[starts[c]:starts[c+1]]
//	entries: a b | | c d e …
//
// Ownership: the island's. It is valid from the sense system until the
// refresh.
type grid struct {
	corner  Position // of the island
	starts  []uint32
	entries []entry
}

type entry struct {
	who handle.Handle
	at  Position
}

// newGrid makes a grid of the island with that corner, with room for n entries.
func newGrid(corner Position, n int) grid {
	return grid{corner: corner, starts: make([]uint32, cells*cells+1), entries: make([]entry, 0, n)}
}

// rebuild rebuilds the grid by counting sort: it counts the entities of each cell,
// then copies each to the cell's next place.
func (g *grid) rebuild(all *world.Query, pos *world.Reader[Position]) {
	clear(g.starts)
	n := 0
	for ch := range all.Chunks() {
		for _, p := range pos.Slice(ch) {
			g.starts[g.cellOf(p)]++
		}
		n += ch.Len()
	}
	g.room(n)
	for ch := range all.Chunks() {
		who := ch.Handles()
		for i, p := range pos.Slice(ch) {
			at := &g.starts[g.cellOf(p)]
			*at--
			g.entries[*at] = entry{who[i], p}
		}
	}
}

// sort rebuilds the grid from a list.
func (g *grid) sort(list []entry) {
	clear(g.starts)
	for i := range list {
		g.starts[g.cellOf(list[i].at)]++
	}
	g.room(len(list))
	for _, e := range list {
		at := &g.starts[g.cellOf(e.at)]
		*at--
		g.entries[*at] = e
	}
}

// room turns the counts of cells into their ends, and makes room for all entries.
func (g *grid) room(n int) {
	end := uint32(0)
	for c, count := range g.starts {
		end += count
		g.starts[c] = end // of the cell: it is filled from the end
	}
	if cap(g.entries) < n {
		g.entries = make([]entry, n+n/4)
	}
	g.entries = g.entries[:n]
}

// cell returns the entities in the same cell as p.
func (g *grid) cell(p Position) []entry {
	c := g.cellOf(p)
	return g.entries[g.starts[c]:g.starts[c+1]]
}

// nearest returns the entity nearest to p in its cell and those that touch it,
// except one, or none.
func (g *grid) nearest(p Position, except handle.Handle) handle.Handle {
	best, who := float32(math.Inf(1)), handle.None
	x, y := column(p.X-g.corner.X), column(p.Y-g.corner.Y)
	for row := max(y-1, 0); row <= min(y+1, cells-1); row++ {
		first, last := row*cells+max(x-1, 0), row*cells+min(x+1, cells-1)
		for _, e := range g.entries[g.starts[first]:g.starts[last+1]] {
			dx, dy := e.at.X-p.X, e.at.Y-p.Y
			if d := dx*dx + dy*dy; d < best && e.who != except {
				best, who = d, e.who
			}
		}
	}
	return who
}

// cellOf returns the number of p's cell. A place just outside of the island
// counts as in the cell at the edge.
func (g *grid) cellOf(p Position) int {
	return column(p.Y-g.corner.Y)*cells + column(p.X-g.corner.X)
}

func column(x float32) int { return min(max(int(x)/cellSide, 0), cells-1) }
