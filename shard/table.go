package shard

import (
	"errors"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// ErrChunks is returned when a world has no chunk number left to give.
var ErrChunks = errors.New("shard: out of chunks")

const (
	firstRows  = 16 // rows of a table's first chunk
	growFactor = 4
)

// Table holds the atoms with one set of components, in chunks that grow from
// 16 to 1024 rows: a small table stays small, a large one iterates in long runs.
//
//	chunks  [16 rows][64 rows][256 rows][1024 rows][1024 rows] …
//	         full     full     full      tail       spare
//
// Invariants: chunks before tail are full, chunks behind it are empty.
//
// Ownership: the shard's owner.
type Table struct {
	shard   *Shard
	set     Set
	columns []AnyColumn
	chunks  []*Chunk
	tail    int // index of the chunk that takes the next row
	rows    int // occupied rows, marked ones included
	dirty   []*Chunk

	// marks remember the number of rows when a loop began, for loops during
	// which the table has grown; lastMark is the newest loop among them.
	marks    []mark
	lastMark uint64
}

type mark struct {
	loop uint64
	rows int
}

// Set returns the table's components.
func (t *Table) Set() Set { return t.set }

// Rows returns the number of occupied rows, marked ones included.
func (t *Table) Rows() int { return t.rows }

// Chunks returns the table's chunks, spare ones included.
func (t *Table) Chunks() []*Chunk { return t.chunks }

// RowsAt returns the number of rows there were when the loop began.
func (t *Table) RowsAt(loop uint64) int {
	if t.lastMark < loop {
		return t.rows
	}
	for _, m := range t.marks {
		if m.loop >= loop {
			return m.rows
		}
	}
	return t.rows
}

// row takes the next row for h. Only the handle is stored.
func (t *Table) row(h handle.Handle) (*Chunk, int, error) {
	if t.lastMark != t.shard.Loop {
		t.lastMark = t.shard.Loop
		t.marks = append(t.marks, mark{t.lastMark, t.rows})
		if len(t.marks) == 1 {
			t.shard.grown = append(t.shard.grown, t)
		}
	}
	if t.tail == len(t.chunks) || t.chunks[t.tail].n == t.chunks[t.tail].Cap() {
		if err := t.advance(); err != nil {
			return nil, 0, err
		}
	}
	c := t.chunks[t.tail]
	row := c.n
	c.handles[row] = h
	c.n++
	t.rows++
	return c, row, nil
}

// advance makes tail a chunk with room.
func (t *Table) advance() error {
	next := t.tail
	if next < len(t.chunks) {
		next++ // the present one is full
	}
	if next == len(t.chunks) {
		rows := firstRows
		if next > 0 {
			rows = min(t.chunks[next-1].Cap()*growFactor, RowsMax)
		}
		if err := t.add(rows); err != nil {
			return err
		}
	}
	t.tail = next
	return nil
}

// add appends an empty chunk.
func (t *Table) add(rows int) error {
	c := &Chunk{
		order: len(t.chunks), table: t,
		handles: make([]handle.Handle, rows),
		dead:    make([]uint64, (rows+63)/64),
	}
	if n := len(t.chunks); n > 0 {
		c.first = t.chunks[n-1].first + t.chunks[n-1].Cap()
	}
	if err := t.shard.space.add(c, t.columns); err != nil {
		return err
	}
	t.chunks = append(t.chunks, c)
	return nil
}

// reserve makes room for n more rows. What does not fit in the present chunks
// gets chunks of the largest size.
func (t *Table) reserve(n int) error {
	room := 0
	for _, c := range t.chunks {
		room += c.Cap() - c.n
	}
	for room < n {
		rows := firstRows
		for rows < min(n-room, RowsMax) {
			rows *= growFactor
		}
		if err := t.add(rows); err != nil {
			return err
		}
		room += rows
	}
	return nil
}

// touch notes that a chunk has its first marked row.
func (t *Table) touch(c *Chunk) {
	if len(t.dirty) == 0 {
		t.shard.dirty = append(t.shard.dirty, t)
	}
	t.dirty = append(t.dirty, c)
}

// pop drops the last row and returns its place and handle.
func (t *Table) pop() (Loc, handle.Handle) {
	c := t.chunks[t.tail]
	for c.n == 0 {
		t.tail--
		c = t.chunks[t.tail]
	}
	c.n--
	t.rows--
	return c.base + Loc(c.n), c.handles[c.n]
}

// sweep removes the marked rows, each filled by the last living row of the
// table, and hands the handles of the dead to the shard. It costs by the number
// of dead.
func (t *Table) sweep() {
	slices.SortFunc(t.dirty, func(a, b *Chunk) int { return b.order - a.order })
	sh, before := t.shard, t.rows
	sh.moves = sh.moves[:0]
	for _, c := range t.dirty {
		for at := len(c.dead) - 1; c.deadN > 0; {
			var row int
			row, at = c.popMarked(at)
			dead := c.handles[row]
			hole := c.base + Loc(row)
			if last, h := t.pop(); last != hole {
				c.handles[row] = h
				sh.space.slot(h).loc = hole
				sh.moves = append(sh.moves, relocation{to: hole, from: last})
			}
			sh.bury(dead)
		}
	}
	t.dirty = t.dirty[:0]
	for _, col := range t.columns {
		col.move(sh.moves)
	}
	t.wipe(before)
}

// wipe lets the columns forget the rows between the present number and before.
func (t *Table) wipe(before int) {
	for i := t.tail; i < len(t.chunks); i++ {
		c := t.chunks[i]
		if c.first >= before {
			break
		}
		from, to := max(t.rows-c.first, 0), min(before-c.first, c.Cap())
		for _, col := range t.columns {
			col.wipe(c.Number(), from, to)
		}
	}
}
