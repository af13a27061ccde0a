package store

import (
	"math/bits"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/slots"
)

// compaction is the scratch of Compact.
type compaction struct {
	holes   []slots.Loc
	dead    []handle.Handle // in the rows of holes
	moves   []relocation    // of the current table, for its columns
	handles []handle.Handle // of rows that move
}

// compact removes the marked rows, fills each hole with the last living row of the
// table, and hands the handles of the dead to the shard. Its cost grows with the number
// of dead.
func (t *Table) compact() {
	kept := t.dirty[:0]
	for _, c := range t.dirty {
		if c.touched = c.marked > 0; c.touched { // otherwise its marked rows were spared
			kept = append(kept, c)
		}
	}
	clear(t.dirty[len(kept):])
	if t.dirty = kept; len(kept) == 0 {
		return
	}
	t.sortDirty()
	sh, before := t.shard, t.Rows()
	sh.compaction.moves = sh.compaction.moves[:0]
	if sh.KeepOrder {
		t.compactInOrder()
	}
	for _, c := range t.dirty {
		c.touched = false
		if c.marked > 0 && c.marked == c.n {
			t.closeHoles()
			if t.last() == c {
				c.empty(sh)
				continue
			}
		}
		c.takeMarked(&sh.compaction)
		if len(sh.compaction.holes) >= holesAtOnce {
			t.closeHoles()
		}
	}
	t.closeHoles()
	clear(t.dirty)
	t.dirty = t.dirty[:0]
	if t.used() < len(t.chunks) {
		t.noteSpare()
	}
	if len(sh.compaction.moves) > 0 {
		for _, col := range t.columns {
			col.move(sh.compaction.moves)
		}
	}
	t.wipeRemoved(before)
}

// sortDirty puts the last chunk first.
func (t *Table) sortDirty() {
	switch n := len(t.dirty); {
	case n <= 1:
	case n < len(t.chunks)/8:
		slices.SortFunc(t.dirty, func(a, b *Chunk) int { return b.order - a.order })
	default:
		t.dirty = t.dirty[:0]
		for _, c := range slices.Backward(t.chunks) {
			if c.touched {
				t.dirty = append(t.dirty, c)
			}
		}
	}
}

// holesAtOnce is about how many holes are closed at a time. The memory for this is scattered, so
// each kind of access has a loop of its own, in which no row waits for the one before. A single
// loop takes twice as long at a million entities.
const holesAtOnce = 512

// closeHoles removes the rows of the shard's holes. The holes are in the order of the table, the
// highest first, so every row behind a hole is alive. It is small enough to be inlined: there are
// none where whole chunks are emptied.
func (t *Table) closeHoles() {
	if len(t.shard.compaction.holes) > 0 {
		t.closeAll()
	}
}

func (t *Table) closeAll() {
	sh := t.shard
	chunks := *sh.space.chunks.Load()
	sh.freeDead(sh.compaction.dead, false)
	first := len(sh.compaction.moves)
	sh.compaction.handles = sh.compaction.handles[:0]
	holes := sh.compaction.holes
	for i := 0; i < len(holes); i++ {
		l := holes[i]
		c, row := chunks[l>>slots.RowBits].chunk, l.Row()
		if i+1 < len(holes) && holes[i+1] == l-1 && row > 0 {
			i += t.closeRun(c, row, adjacent(holes[i:])) - 1
			continue
		}
		last := t.last()
		last.n--
		if last == c && last.n == row {
			c.dropFlags(row)
			continue
		}
		h := last.handles[last.n]
		c.handles[row] = h
		c.changed = sh.space.now
		c.carryFlags(row, last, last.n)
		sh.compaction.moves = append(sh.compaction.moves, relocation{to: l, from: last.base + slots.Loc(last.n), n: 1})
		sh.compaction.handles = append(sh.compaction.handles, h)
	}
	k := 0
	for _, m := range sh.compaction.moves[first:] {
		for i := range slots.Loc(m.n) {
			sh.space.Slot(sh.compaction.handles[k]).Loc = m.to + i
			k++
		}
	}
	sh.compaction.holes, sh.compaction.dead = sh.compaction.holes[:0], sh.compaction.dead[:0]
}

// closeRun closes the last of n holes that follow one another in a chunk, up to a row, as many as
// rows of one chunk can fill, and returns how many.
func (t *Table) closeRun(c *Chunk, row, n int) int {
	sh, last := t.shard, t.last()
	behind := last.n
	if last == c {
		behind -= row + 1
	}
	if behind == 0 { // they are the last rows
		last.n -= n
		for i := range n {
			c.dropFlags(row - i)
		}
		return n
	}
	n = min(n, behind)
	at := row + 1 - n
	last.n -= n
	handles := last.handles[last.n : last.n+n]
	copy(c.handles[at:], handles)
	c.changed = sh.space.now
	if !c.flags.none() || !last.flags.none() {
		for i := range n {
			c.carryFlags(at+i, last, last.n+i)
		}
	}
	sh.compaction.moves = append(sh.compaction.moves, relocation{c.base + slots.Loc(at), last.base + slots.Loc(last.n), int32(n)})
	sh.compaction.handles = append(sh.compaction.handles, handles...)
	return n
}

// adjacent returns how many of the first holes follow one another in a chunk. Those of a batch that
// is destroyed together mostly do.
func adjacent(holes []slots.Loc) (n int) {
	most := min(holes[0].Row()+1, len(holes))
	for n = 1; n < most && holes[n] == holes[0]-slots.Loc(n); n++ {
	}
	return n
}

// takeMarked appends the marked rows, the highest first, and unmarks them.
func (c *Chunk) takeMarked(to *compaction) {
	holes, dead := slices.Grow(to.holes, c.marked), slices.Grow(to.dead, c.marked)
	for words := c.words; words != 0; {
		i := bits.Len64(words) - 1
		words &^= 1 << i
		w := c.marks[i]
		for c.marks[i] = 0; w != 0; {
			bit := bits.Len64(w) - 1
			w &^= 1 << bit
			row := i*64 + bit
			holes, dead = append(holes, c.base+slots.Loc(row)), append(dead, c.handles[row])
		}
	}
	to.holes, to.dead, c.words, c.marked = holes, dead, 0, 0
}

// compactInOrder moves the living rows down over the marked ones, in order, from the
// first marked row on. The marked rows are then last, and are removed without moving others.
// Its cost grows with the number of rows behind the first marked one.
func (t *Table) compactInOrder() {
	sh := t.shard
	sh.compaction.handles = sh.compaction.handles[:0]
	first := t.dirty[len(t.dirty)-1]
	to, at := first, 0
	for _, c := range t.chunks[first.order:] {
		for row := range c.n {
			h := c.handles[row]
			if c.isMarked(row) {
				sh.compaction.handles = append(sh.compaction.handles, h)
				c.dropFlags(row)
				continue
			}
			if to != c || at != row {
				to.place(at, h, &sh.space.Lookup)
				to.changed = sh.space.now
				sh.compaction.moves = append(sh.compaction.moves, relocation{to: to.base + slots.Loc(at), from: c.base + slots.Loc(row), n: 1})
				to.carryFlags(at, c, row)
			}
			if at++; at == to.Cap() {
				to, at = t.chunks[min(to.order+1, len(t.chunks)-1)], 0
			}
		}
	}
	t.truncate(to, at)
}

// truncate puts the dying atoms behind the last living row, which is the one before
// row at of chunk to, and marks only their rows.
func (t *Table) truncate(to *Chunk, at int) {
	dying := t.shard.compaction.handles
	for _, c := range t.dirty {
		clear(c.marks)
		c.words, c.marked, c.touched = 0, 0, false
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
	for c := to; len(dying) > 0; c, at = t.chunks[c.order+1], 0 {
		n := copy(c.handles[at:c.n], dying)
		dying = dying[n:]
		for row := at; row < at+n; row++ {
			c.mark(row)
		}
		if c.order+1 == len(t.chunks) {
			break
		}
	}
	t.sortDirty()
}

// empty removes all rows of the last chunk, which are all marked.
func (c *Chunk) empty(sh *Shard) {
	sh.freeDead(c.handles[:c.n], true)
	clear(c.marks)
	c.clearFlags()
	c.n, c.words, c.marked = 0, 0, 0
}

// clearAtOnce is the number of used rows from which a chunk is cleared at once when it becomes
// empty. The rows of smaller chunks are cleared when they are taken again.
const clearAtOnce = 64

// wipeRemoved wipes the rows that were removed: from the present number of rows up to the
// number before.
func (t *Table) wipeRemoved(before int) {
	rows := t.Rows()
	for _, c := range t.chunks[max(t.cur.order, 0):] {
		if c.first >= before {
			break
		}
		from, to := max(rows-c.first, 0), min(before-c.first, c.Cap())
		c.used = max(c.used, to)
		if from == 0 {
			c.changed, c.reserved = t.shard.space.now, false // there were rows until now
		}
		if from == 0 && c.used >= clearAtOnce && !check.Enabled { // the check build poisons them below
			c.clear(0, c.used)
			c.used = 0
			continue
		}
		if t.wipes() {
			c.wipe(from, to)
		}
	}
}

// wipes reports whether columns of the table must forget the values of removed rows.
func (t *Table) wipes() bool { return t.pointers || check.Enabled }

// wipe makes the columns forget what the rows [from, to) held: their atoms were destroyed, or are in
// other rows now. A refresh calls it when it applies requests and when it compacts. Callers ask
// Table.wipes first.
func (c *Chunk) wipe(from, to int) {
	for _, col := range c.table.columns {
		col.wipe(c.number(), from, to)
	}
}

// clear sets all components of the rows [from, to) to zero.
func (c *Chunk) clear(from, to int) {
	for i := range c.table.columns {
		c.zero(i, from, to)
	}
}

// zero is clear for one column.
func (c *Chunk) zero(column, from, to int) {
	if t := c.table; t.plain[column] {
		zeroPlain(c.bases[column], from, to, t.sizes[column])
	} else {
		t.columns[column].zero(c.number(), from, to)
	}
}
