package store

import (
	"math/bits"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Dirty returns how many tables have had marked rows since the last Compact, even if all of those
// were spared: Compact must see these tables before any of their chunks is given up.
func (s *Shard) Dirty() int { return len(s.dirty) }

// Compact removes the rows of the marked atoms, and of those that have left, and fills the holes.
// It is the step compact, for one shard. It recycles the slots of the marked atoms whose home is
// here; RemoteDead and PortDead have the rest.
func (s *Shard) Compact() {
	s.settle()
	if m := &s.migration; len(m.requests)+len(m.outgoing)+len(m.flagged) > 0 {
		s.finishMigration()
	}
	if len(s.dirty) > 1 || len(s.dirty) == 1 && len(s.dirty[0].dirty) > 1 {
		s.GrowFree(s.MarkedRows()) // in one allocation instead of chunk by chunk
	}
	for _, t := range s.dirty {
		t.compact()
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
	s.migration.left = false
}

// freeDead counts the dead among marked rows, which have these handles, and frees their slots; see
// Allocator.FreeAll. The others are those of outgoing atoms.
func (s *Shard) freeDead(marked []handle.Handle, fromLast bool) {
	if s.migration.left {
		s.compaction.handles = append(s.compaction.handles[:0], marked...)
		marked = slices.DeleteFunc(s.compaction.handles, isTombstone)
		s.compaction.handles = marked
	}
	s.tally.destroyed += uint64(len(marked))
	s.FreeAll(marked, fromLast)
}

// Mark marks the atom at l and reports whether it was not marked yet. The next Compact of
// its shard removes it. The caller must own the shard.
func (s *Space) Mark(l slots.Loc) bool { return s.chunk(l).mark(l.Row()) }

// Marked reports whether the atom at l is marked. The caller must own its shard.
func (s *Space) Marked(l slots.Loc) bool { return s.chunk(l).isMarked(l.Row()) }

// MarkAll marks every atom and returns how many were not marked yet. The coordinator calls it when
// the world is cleared or closed.
func (s *Shard) MarkAll() int {
	n := 0
	for _, t := range s.tables {
		for _, c := range t.chunks[:t.cur.order+1] {
			n += c.markAll()
		}
	}
	return n
}

// MarkedRows returns the number of marked atoms. The owner of the shard calls it, or the
// coordinator between steps.
func (s *Shard) MarkedRows() int {
	n := 0
	for _, t := range s.dirty {
		for _, c := range t.dirty {
			n += c.marked
		}
	}
	return n
}

// AppendMarked appends the handles of the marked atoms, in the order of AppendDying. The
// coordinator calls it in the step extend.
func (s *Shard) AppendMarked(to []handle.Handle) []handle.Handle {
	for _, t := range s.dirty {
		to = t.appendMarked(to)
	}
	return to
}

// appendMarked appends the handles of the marked atoms in the order of their rows, so that the
// sizes of chunks make no difference. The owner of the shard calls it, or the coordinator in the
// step extend.
func (t *Table) appendMarked(to []handle.Handle) []handle.Handle {
	t.sortDirty() // as Compact will
	for _, c := range slices.Backward(t.dirty) {
		to = c.appendMarked(to)
	}
	return to
}

// appendMarked appends the handles of the chunk's marked rows, in order.
func (c *Chunk) appendMarked(to []handle.Handle) []handle.Handle {
	if c.marked == c.n {
		return append(to, c.handles[:c.n]...)
	}
	for words := c.words; words != 0; words &= words - 1 {
		i := bits.TrailingZeros64(words)
		for word := c.marks[i]; word != 0; word &= word - 1 {
			to = append(to, c.handles[i*64+bits.TrailingZeros64(word)])
		}
	}
	return to
}

// MarkEach marks those atoms of the given handles that are alive. Unless marked is nil, it appends
// to it the handles of the atoms that were not marked before. The caller must own all shards: it is
// the coordinator in the step extend.
func (s *Space) MarkEach(hs []handle.Handle, marked *[]handle.Handle) {
	chunks := *s.chunks.Load()
	var run markRun
	for _, h := range hs {
		l := s.Locate(h)
		if l == 0 {
			continue
		}
		if l/64 != run.at {
			run.mark()
			run = markRun{at: l / 64, chunk: chunks[l>>slots.RowBits].chunk}
			run.before = run.chunk.marks[l.Row()/64]
		}
		bit := uint64(1) << (l % 64)
		if marked != nil && (run.before|run.rows)&bit == 0 {
			*marked = append(*marked, h)
		}
		run.rows |= bit
	}
	run.mark()
}

// markRun collects rows to be marked that share a word of a chunk's marks. So atoms that are
// created together and die together are marked up to 64 at a time.
//
// Ownership: the caller of MarkEach.
type markRun struct {
	at     slots.Loc // of the first of the 64, divided by 64
	chunk  *Chunk
	rows   uint64
	before uint64 // the rows that were marked before
}

// mark marks the rows of the run.
func (m *markRun) mark() {
	if m.rows != 0 {
		m.chunk.markWord((m.at * 64).Row(), m.rows)
	}
}

// markWord marks rows, a set within the 64 rows around row, and returns which of the 64 were marked
// before.
func (c *Chunk) markWord(row int, rows uint64) (before uint64) {
	before = c.marks[row/64]
	if fresh := rows &^ before; fresh != 0 {
		c.marks[row/64] = before | fresh
		c.words |= 1 << (row / 64)
		c.table.touch(c)
		c.marked += bits.OnesCount64(fresh)
	}
	return before
}

// Spare removes the mark of the atom at l, if it has one. The caller must own its
// shard.
func (s *Space) Spare(l slots.Loc) {
	if c := s.chunk(l); c.isMarked(l.Row()) {
		c.unmark(l.Row())
	}
}

// held is a request to destroy whose outcome is put off: only after all requests are applied is it
// known whether the entity dies.
type held struct {
	request queue.PendingRequest
	at      uint32 // its number among many requests
	there   bool   // the entity was not gone
	first   bool   // it marked the entity
}

// DecideHeld decides the requests to destroy that were put off, in order. An atom that is no longer
// marked was spared. The coordinator calls it at the end of the step extend.
func (s *Shard) DecideHeld() {
	for _, d := range s.applying.held {
		h := d.request.Handle
		if d.request.IsMany() {
			h = d.request.Handles()[d.at]
		}
		o := queue.Gone
		l := slots.Loc(0)
		if d.there {
			l = s.space.LocateStaged(h) // not its former location: other rows may have left the table since
		}
		switch {
		case l != 0 && !s.space.Marked(l):
			o = queue.Refused
		case d.first:
			o = queue.Applied
		}
		if d.request.IsMany() {
			s.DecideOne(d.request, int(d.at), o)
		} else {
			s.Decide(d.request.Request, o)
		}
	}
	clear(s.applying.held)
	s.applying.held = s.applying.held[:0]
}

// MarkMatching marks the atoms of the first rows that match, but no more than most. It returns how
// many rows those are, and how many of them were not marked before. The owner of the shard calls
// it.
func (t *Table) MarkMatching(f *Filter, most int) (met, fresh int) {
	if met = t.MatchingRows(f); met <= most && met == t.Rows() {
		for _, c := range t.chunks[:t.cur.order+1] {
			fresh += c.markAll()
		}
		return met, fresh
	}
	return min(met, most), t.markHead(f, most)
}

// markHead marks the atoms of the first rows that match, at most most, and returns how many were
// not marked before.
func (t *Table) markHead(f *Filter, most int) (fresh int) {
	t.head(f, most, func(r Rows) {
		for row := r.from; row < r.to; row++ {
			if r.chunk.mark(row) {
				fresh++
			}
		}
	})
	return fresh
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

// sortDirty puts the chunks with marked rows in order, the last chunk first. The owner of the shard
// calls it before it reads or removes marked rows.
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

// closeAll is closeHoles where there are holes.
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
