package store

import (
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Runner is a Handler that can apply several requests at once: those for adjacent rows, as a system
// sends them that loops over its entities.
type Runner interface {
	// ApplyRun applies the first of some requests, decides their outcomes and returns how many they
	// are. What it does is what Apply does for one after the other, down to the order of rows. So it
	// makes no difference where requests are divided: by a sender, a chunk, or a record of a log. If
	// that is not as simple as it expects, it returns 0, and Apply gets the first request.
	ApplyRun(s *Shard, a Adjacent) (applied int)
}

// adjacentLeast is the least number of requests that are applied at once.
const adjacentLeast = 4

// Adjacent are requests of one kind for living atoms in adjacent rows, up or down. None of the rows
// is marked.
type Adjacent struct {
	requests []queue.PendingRequest
	indexes  []uint32 // of the requests, in order
	chunk    *Chunk
	row      int // of the first
	step     int // from each row to the next: 1 or -1
}

// adjacent returns those at the head of the requests with the indexes, if they are enough.
func (s *Shard) adjacent(requests []queue.PendingRequest, indexes []uint32) (a Adjacent, ok bool) {
	if len(indexes) < adjacentLeast {
		return a, false
	}
	l := requests[indexes[0]].Loc()
	step := requests[indexes[1]].Loc() - l
	if l == 0 || step != 1 && step != ^slots.Loc(0) || requests[indexes[adjacentLeast-1]].Loc() != l+step*(adjacentLeast-1) {
		return a, false
	}
	c, row, kind := s.space.chunk(l), l.Row(), requests[indexes[0]].Kind()
	most, n := min(row+1, len(indexes)), 0
	if step == 1 {
		most = min(c.n-row, len(indexes))
	}
	for at := l; n < most; n, at = n+1, at+step {
		if r := &requests[indexes[n]]; r.Loc() != at || r.Kind() != kind || c.isMarked(at.Row()) {
			break
		}
	}
	return Adjacent{requests, indexes[:n], c, row, int(int32(step))}, n >= adjacentLeast
}

// Len returns the number of requests.
func (a Adjacent) Len() int { return len(a.indexes) }

// Head returns the first n requests.
func (a Adjacent) Head(n int) Adjacent {
	a.indexes = a.indexes[:n]
	return a
}

// Payload returns the payload of request i.
func (a Adjacent) Payload(i int) mem.Pointer { return a.requests[a.indexes[i]].Payload() }

// Table returns the table of the atoms.
func (a Adjacent) Table() *Table { return a.chunk.table }

// Applied decides that all requests are applied, and returns how many they are.
func (a Adjacent) Applied() int {
	for _, i := range a.indexes {
		a.requests[i].Decide(queue.Applied)
	}
	a.chunk.table.shard.Outcomes.Add(queue.Applied, len(a.indexes))
	return len(a.indexes)
}

// With gives the atoms one component more, from the payloads.
func (a Adjacent) With(component int) (applied int) {
	t := a.chunk.table
	if t.set.Has(component) {
		return a.Store(component)
	}
	if a = a.move(t.toggleEdge(component)); a.Len() > 0 {
		a.put(component)
	}
	return a.Applied()
}

// Without takes one component away from the atoms.
func (a Adjacent) Without(component int) (applied int) {
	if t := a.chunk.table; t.set.Has(component) {
		return a.move(t.toggleEdge(component)).Applied()
	}
	return 0
}

// Store replaces a component of the atoms by the payloads.
func (a Adjacent) Store(component int) (applied int) {
	t := a.chunk.table
	if !t.set.Has(component) {
		return 0
	}
	a.put(component)
	a.chunk.written[t.set.rank(component)] = t.shard.space.now
	if t.shard.space.Columns[component].watched {
		for i := range a.indexes {
			t.shard.NoteStored(a.chunk.handles[a.row+i*a.step], component)
		}
	}
	return a.Applied()
}

// put stores the payloads as a component that the atoms have.
func (a Adjacent) put(component int) {
	at := a.chunk.table.set.rank(component)
	of := a.chunk.table.columns[at].of
	if of.Plain {
		a.putPlain(Field{column: at, size: of.Size})
		return
	}
	for i := range a.indexes {
		of.Assign(of.At(a.chunk.bases[at], a.row+i*a.step), a.Payload(i).Address)
	}
}

// PutFields stores the payloads, which are bundles, and stamps their components as written.
func (a Adjacent) PutFields(fields []Field, plain bool) {
	Atom{Chunk: a.chunk}.Overwrite(fields)
	if plain {
		for _, f := range fields {
			a.putPlain(f)
		}
		return
	}
	for i := range a.indexes {
		Store(Atom{Chunk: a.chunk, Row: a.row + i*a.step}, fields, a.Payload(i).Address)
	}
}

// NoteAllStored is Space.NoteAllStored for the atoms.
func (a Adjacent) NoteAllStored(components Set) {
	space := a.chunk.table.shard.space
	if space.watch.Stored.Meets(&components) {
		for i := range a.indexes {
			space.NoteAllStored(a.loc(i), components)
		}
	}
}

func (a Adjacent) loc(i int) slots.Loc { return a.chunk.base + slots.Loc(a.row+i*a.step) }

// To moves the first atoms to the table of another component set, as Shard.Change does, and returns
// these. It moves none if one of them might have to be refused, or to wait for memory.
func (a Adjacent) To(set Set) Adjacent {
	if t := a.chunk.table; t.set != set {
		return a.move(t.edgeTo(set))
	}
	return a
}

func (a Adjacent) move(e *edge) Adjacent {
	c, t, to := a.chunk, a.chunk.table, e.to
	if e.cost > 0 || to.cur.n == len(to.cur.handles) && to.cur.order+1 >= len(to.chunks) || to.ensureRow() != nil {
		return Adjacent{chunk: c}
	}
	at := to.cur.n
	n := min(len(a.indexes), len(to.cur.handles)-at)
	if n < 2 {
		return Adjacent{chunk: c}
	}
	a = a.Head(n)
	if t.settleRows(n); c.noted {
		t.shard.settle()
	}
	to.cur.extend(n)
	if a.step > 0 {
		to.cur.moveRows(at, c, a.row, n, e)
	} else {
		to.cur.moveRowsBack(at, c, a.row, n, e)
	}
	if e.watched {
		t.shard.noteChanges(to.cur, at, n, t)
	}
	t.removeAdjacent(c, a.row, n, a.step)
	a.chunk, a.row, a.step = to.cur, at, 1
	return a
}

// removeAdjacent frees n rows whose atoms have left: row and the next ones, up or down by step. The
// other rows are then in the order that swapRemove leaves if it frees these one after the other, so
// that the last row is behind the hole or, in the end, one that filled a hole before. There are at
// least two rows: so, going up, some row was replaced.
//
//	up    a b [- - - -] c d e f g  ──▶  a b g f e d c       down  a b [- - -] c d e f  ──▶  a b d e f c
//	      a b [- - - -] c d        ──▶  a b d c                   a b [- - -] c d      ──▶  a b d c
func (t *Table) removeAdjacent(c *Chunk, row, n, step int) {
	rows := t.Rows()
	last := rows - 1
	behind := last - (c.first + row)
	switch {
	case step > 0:
		t.fill(c, row, 1, last, min(n, behind+1-n))
	case behind >= n:
		t.fill(c, row, -1, last, n)
	case behind > 0: // they move down until they are in the lowest rows: all as often, but the first of them once more
		more := n % behind
		t.fill(c, row-n+behind, -1, last-more, behind-more)
		t.fill(c, row-n+more, -1, last, more)
	}
	if step > 0 || behind > 0 { // otherwise each was the last row when it was freed
		c.changed = t.shard.space.now
	}
	for n > 0 {
		x := t.last()
		x.used = max(x.used, x.n)
		k := min(n, x.n)
		x.n -= k
		if x.n == 0 {
			x.emptied()
		}
		if t.wipes() {
			x.wipe(x.n, x.n+k)
		}
		n -= k
	}
}

// fill moves n rows of the table, number from and those before it, to the row at of a chunk and to
// those after it or, if step is -1, before it.
func (t *Table) fill(c *Chunk, at, step, from, n int) {
	for order := t.cur.order; n > 0; order-- {
		x := t.chunks[order]
		row := from - x.first
		if row < 0 {
			continue
		}
		k := min(n, row+1)
		if step > 0 {
			c.moveRowsBack(at, x, row, k, &t.same)
		} else {
			c.moveRows(at-k+1, x, row-k+1, k, &t.same)
		}
		for i := 0; i < k && x.marked > 0; i++ {
			if x.isMarked(row - i) {
				c.mark(at + i*step)
				x.unmark(row - i)
			}
		}
		at, from, n = at+k*step, from-k, n-k
	}
}

// moveRowsBack is moveRows for row and those before it, in this order. The chunks differ, or the
// rows do not overlap.
func (c *Chunk) moveRowsBack(at int, from *Chunk, row, n int, e *edge) {
	for i := range e.plain {
		p := &e.plain[i]
		copyRowsBack(c.bases[p.to], at, from.bases[p.from], row, n, p.size)
	}
	for _, p := range e.typed {
		for i := range n {
			e.to.columns[p.to].copy(c.base+slots.Loc(at+i), from.base+slots.Loc(row-i))
		}
	}
	space := c.table.shard.space
	for i := range n {
		c.place(at+i, from.handles[row-i], &space.Lookup)
	}
	if c.flags != nil || from.flags != nil {
		for i := range n {
			c.carryFlags(at+i, from, row-i)
		}
	}
}

// destroyer marks the atoms of adjacent requests to destroy.
type destroyer struct{}

func (destroyer) ApplyRun(s *Shard, a Adjacent) (applied int) {
	if s.HoldDestroys {
		return 0
	}
	low := min(a.row, a.row+(a.Len()-1)*a.step)
	for row, end := low, low+a.Len(); row < end; {
		n := min(end-row, 64-row%64)
		a.chunk.markWord(row, ^uint64(0)>>(64-n)<<(row%64))
		row += n
	}
	return a.Applied()
}
