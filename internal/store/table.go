package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Table holds the atoms with one set of components, in chunks that grow, by default
// from 16 to 4096 rows: a small table stays small, a large one iterates in long runs.
//
//	chunks  [16 rows][64 rows][256 rows][1024 rows][4096 rows][4096 rows] …
//	         full     full     full      full       cur        spare
//
// Invariants: chunks before cur are full, chunks behind it are empty. The shard's dirty tables are
// those with dirty chunks, each once. A chunk whose marked rows were all spared is dirty until
// Compact, which comes before any chunk is given up. The shard's spare tables are those that may
// have empty chunks, or may be given back, each once. A table is in the shard's list from its first
// chunk on, until it has had none for a while. Outside of the list it decides nothing: so it makes
// no difference whether something in the program has made it. A table that is gone has no chunk.
//
// Ownership: the shard's owner.
type Table struct {
	// What a loop over tables looks at is first, in one line of the cache.
	cur    *Chunk // takes the next row; noChunk before the first
	chunks []*Chunk
	// loopMarks are the numbers of rows when loops began, for loops during which the table has
	// grown. lastLoop is the newest of these loops.
	lastLoop  uint64
	loopMarks []loopMark

	shard       *Shard
	set         Set
	ids         []int // the components, ascending
	columns     []*Column
	sizes       []uintptr // of the columns' rows
	rowBytes    uint64    // their sum
	step        int       // how many rows of a chunk are made ready at a time, a power of two
	growth      Growth
	plain       []bool // by column: it may be copied as bytes
	same        edge   // to the table itself
	edges       []*edge
	edgesMax    int     // at this number of edges, those to tables that are gone are removed
	toggleEdges []*edge // by component: the edge that adds or removes only it
	pointers    bool    // some column is not plain
	dirty       []*Chunk
	fragmented  bool            // it is among the shard's fragmented tables
	listed      bool            // it is among those with something spare
	kept        bool            // a caller has a pointer to it
	in          bool            // it is in the shard's list of tables
	gone        bool            // it was given back
	left        uint32          // tick in which rows or chunks last left it, or in which it was made
	serial      uint64          // its number among all that came into the list, from 1
	fields      map[int][]Field // by kind: of bundles that are stored here but were not made for this table
}

// loopMark is how many rows a table had when a loop began.
type loopMark struct {
	loop uint64
	rows int
}

// Table returns the table of a component set, made on the first call. It is not among Tables until
// it has a chunk. The owner of the shard calls it.
func (s *Shard) Table(set Set) *Table {
	if t := s.bySet[set]; t != nil {
		return t
	}
	n := set.Len()
	t := &Table{
		shard: s, set: set, cur: noChunk, growth: s.space.growthOf(set),
		ids: make([]int, 0, n), columns: make([]*Column, 0, n), sizes: make([]uintptr, 0, n), plain: make([]bool, 0, n),
	}
	for c := range set.All {
		col := s.space.Columns[c]
		t.ids, t.columns = append(t.ids, c), append(t.columns, col)
		t.sizes, t.plain = append(t.sizes, col.of.Size), append(t.plain, col.of.Plain)
		t.rowBytes += uint64(col.of.Size)
		t.pointers = t.pointers || !col.of.Plain
	}
	t.step = stepOf(t.sizes)
	t.same = t.newEdge(t)
	s.bySet[set] = t
	t.noteSpare() // in case it gets no row
	return t
}

// What counts against ChangeBytesMax besides the rows of a chunk that is made, and the rows that
// move and are no smaller than rowBytesMin. Each is about what takes as long as it takes to move as
// many bytes. Components that are smaller do not count against AnswerBytesMax.
const (
	tableBytes  = 32 << 10 // for a table that comes into the list
	chunkBytes  = 4 << 10  // for a chunk
	columnBytes = 512      // for each of its columns
	rowBytesMin = 4 << 10
	movedTimes  = 4 // for a row that goes to another shard: it needs new memory there, and another row fills its place
)

// Set returns the table's components.
func (t *Table) Set() Set { return t.set }

// Fields completes a bundle's fields for this table, and reports whether all of them are plain:
// free of pointers. It changes nothing.
func (t *Table) Fields(fields []Field) (complete Fields, plain bool) {
	all, plain := slices.Clone(fields), true
	for i := range all {
		f := &all[i]
		f.column = t.position(f.Component)
		f.size = t.sizes[f.column]
		if f.of = nil; !t.plain[f.column] {
			f.of, plain = t.columns[f.column].of, false
		}
	}
	return newFields(all), plain
}

// FieldsOf is Fields for a bundle that is identified by the kind of its creates. It finds the
// fields only once. The owner of the shard calls it.
func (t *Table) FieldsOf(kind int, fields []Field) []Field {
	if known, ok := t.fields[kind]; ok {
		return known
	}
	if t.fields == nil {
		t.fields = map[int][]Field{}
	}
	complete, _ := t.Fields(fields)
	t.fields[kind] = complete.All
	return complete.All
}

// Rows returns the number of occupied rows, dying ones included.
func (t *Table) Rows() int { return t.cur.first + t.cur.n }

// RowsAt returns the number of rows when the loop began.
func (t *Table) RowsAt(loop uint64) int {
	if t.lastLoop < loop {
		return t.Rows()
	}
	for _, m := range t.loopMarks {
		if m.loop >= loop {
			return m.rows
		}
	}
	return t.Rows()
}

// push takes the next row for an atom, which the caller places. There must be one: see
// ensureRow. It is small enough to be inlined.
func (t *Table) push(h handle.Handle) (c *Chunk, row int) {
	c = t.cur
	row = c.n
	c.handles[row] = h
	c.n = row + 1
	c.changed = t.shard.space.now
	return c, row
}

// noChunk stands for the current chunk of a table without chunks.
var noChunk = &Chunk{order: -1}

// ensureRow makes sure that the next row can be taken. After an error the table has the rows that
// it had. It is small enough to be inlined.
func (t *Table) ensureRow() error {
	if t.cur.n < len(t.cur.handles) && t.lastLoop == t.shard.Loop {
		return nil
	}
	return t.nextRow()
}

// nextRow records the number of rows for a loop, or a Reveal, that began since the last time, goes
// to the next chunk if the present one is full, and makes rows ready. After an error the table has
// the rows that it had.
func (t *Table) nextRow() error {
	if t.lastLoop != t.shard.Loop {
		t.lastLoop = t.shard.Loop
		t.loopMarks = append(t.loopMarks, loopMark{t.lastLoop, t.Rows()})
		if len(t.loopMarks) == 1 {
			t.shard.grown = append(t.shard.grown, t)
		}
	}
	if t.cur.n == t.cur.Cap() {
		if err := t.nextChunk(); err != nil {
			return err
		}
	}
	t.cur.ready(t.cur.n + 1)
	t.cur.hide()
	return nil
}

// nextChunk goes to the chunk behind the present one. After an error the present chunk stays the
// present one.
func (t *Table) nextChunk() error {
	next := t.cur.order + 1
	if t.gone {
		panic("world: a row for a table that was given back; ask the shard for the table of the components again")
	}
	if next == len(t.chunks) {
		if err := t.add(t.nextCap(), 0); err != nil {
			return err
		}
	}
	t.cur = t.chunks[next]
	if next > 0 && t.cur.Cap() > t.chunks[next-1].Cap() && !t.fragmented {
		t.fragmented = true
		t.shard.fragmented = append(t.shard.fragmented, t)
	}
	return nil
}

// nextCap returns the size of the chunk that follows the last.
func (t *Table) nextCap() int {
	if n := len(t.chunks); n > 0 {
		return t.growth.next(t.chunks[n-1].Cap())
	}
	return t.growth.RowsFirst
}

// add appends an empty chunk. The table is known to need room for needs rows. The owner of the
// shard calls it. After an error there is no new chunk.
func (t *Table) add(rows, needs int) error {
	c, before := newChunk(t, rows), 0
	if n := len(t.chunks); n > 0 {
		c.first, before = t.chunks[n-1].first+t.chunks[n-1].Cap(), t.chunks[n-1].number()
	}
	if err := t.shard.space.add(c, rows, before, t.stripPlan(rows, needs)); err != nil {
		return err
	}
	t.chunks = append(t.chunks, c)
	t.shard.cost += chunkBytes + columnBytes*uint64(len(t.ids)) + uint64(rows)*(t.rowBytes+8)
	t.enter()
	return nil
}

// enter puts a table that has a chunk in the shard's list. From then on its state is as if it had
// been made just now.
func (t *Table) enter() {
	if t.in {
		return
	}
	s := t.shard
	s.tables = append(s.tables, t)
	s.made++
	s.cost += tableBytes
	t.serial, t.in = s.made, true
	t.noteSpare()
}

// reserve makes room for n more rows. Rows that do not fit in the present chunks get chunks of the
// largest size, or one chunk that holds them all and is not smaller than the next would be. After
// an error, chunks that were added stay.
func (t *Table) reserve(n int) error {
	if space := t.shard.space; !space.HasChunks(n) {
		if err := space.CheckChunks(t.Needs(n)); err != nil {
			return err
		}
	}
	room := t.room()
	for room < n {
		rows := max(t.growth.holding(n-room), t.nextCap())
		if err := t.add(rows, n-room); err != nil {
			return err
		}
		room += rows
	}
	return nil
}

// room returns how many rows fit in the chunks that there are.
func (t *Table) room() (n int) {
	for _, c := range t.chunks[max(t.cur.order, 0):] { // those before it are full
		n += c.Cap() - c.n
	}
	return n
}

// Needs returns how many chunks room for n more rows takes.
func (t *Table) Needs(n int) (chunks int) {
	next := t.nextCap()
	for room := t.room(); room < n; chunks++ {
		rows := max(t.growth.holding(n-room), next)
		room, next = room+rows, t.growth.next(rows)
	}
	return chunks
}

// reserveLasting makes room for n more rows, and makes it stay. Only chunks of the largest size
// count: a refresh may gather the rows of the smaller ones there, and give these up. After an
// error, chunks that were added stay.
func (t *Table) reserveLasting(n int) error {
	total, most, have := t.Rows()+n, 0, 0
	for _, c := range t.chunks {
		most = min(max(most, c.Cap()), t.growth.RowsMax)
	}
	for _, c := range t.chunks {
		if c.Cap() >= most {
			have += c.Cap()
		}
	}
	if have < total && most < t.growth.RowsMax { // the next is larger, and counts alone
		most, have = max(t.growth.holding(total), t.nextCap()), 0
	}
	if missing := (total - have + most - 1) / most; missing > 0 {
		if err := t.shard.space.CheckChunks(missing); err != nil {
			return err
		}
	}
	for left := total - have; left > 0; left -= most {
		if err := t.add(most, left); err != nil {
			return err
		}
	}
	for _, c := range t.chunks {
		if c.Cap() >= most && total > 0 {
			c.reserved = c.n == 0
			total -= c.Cap()
		}
	}
	return nil
}

// touch records that a chunk has a marked row.
func (t *Table) touch(c *Chunk) {
	if c.touched {
		return
	}
	c.touched = true
	if len(t.dirty) == 0 {
		t.shard.dirty = append(t.shard.dirty, t)
	}
	t.dirty = append(t.dirty, c)
}

// forgetDirty takes the chunks that have gone to another table off the list of dirty ones.
func (t *Table) forgetDirty() {
	t.dirty = slices.DeleteFunc(t.dirty, func(c *Chunk) bool { return c.table != t })
	if len(t.dirty) == 0 {
		t.shard.dirty = slices.DeleteFunc(t.shard.dirty, func(d *Table) bool { return d == t })
	}
}

// last returns the last chunk that has rows, and makes it the current one. There must be one.
func (t *Table) last() *Chunk {
	for t.cur.n == 0 {
		t.cur = t.chunks[t.cur.order-1]
	}
	return t.cur
}

// Components returns the numbers of the table's components, ascending.
func (t *Table) Components() []int { return t.ids }

// Chunks returns the table's chunks in order: rows are in the first ones, without
// a hole; those behind are empty.
func (t *Table) Chunks() []*Chunk { return t.chunks }

// Serial returns the table's number among all that its shard has ever made. It changes when the
// shard is loaded.
func (t *Table) Serial() uint64 { return t.serial }

// Run returns a view of the first rows of chunk i, at most left of them.
func (t *Table) Run(i, left int) Rows {
	c := t.chunks[i]
	return c.rows(0, min(left, len(c.handles))) // a chunk that has all of its rows is ready as a whole
}

// Only returns a view of the first left rows if the current chunk has all of them, which is so in a
// small table.
func (t *Table) Only(left int) (r Rows, ok bool) {
	c := t.cur
	if c.order != 0 {
		return Rows{}, false
	}
	return c.rows(0, left), true
}

// position returns where a component is among the table's columns, or -1.
func (t *Table) position(component int) int {
	if !t.set.Has(component) {
		return -1
	}
	return t.set.rank(component)
}

// Shard returns the shard the table belongs to.
func (t *Table) Shard() *Shard { return t.shard }

// Marked returns the number of marked rows.
func (t *Table) Marked() int {
	n := 0
	for _, c := range t.chunks {
		n += c.marked
	}
	return n
}

// noteSpare lists the table among those that may have chunks to give back, or may be given
// back themselves.
func (t *Table) noteSpare() {
	t.left = t.shard.space.now
	if !t.listed {
		t.listed = true
		t.shard.shrinking.tables = append(t.shard.shrinking.tables, t)
	}
}

// used returns the number of chunks that have rows.
func (t *Table) used() int {
	if t.cur.n > 0 {
		return t.cur.order + 1
	}
	return max(t.cur.order, 0)
}

// Field is a component's place in a bundle, which is a struct of components.
type Field struct {
	Component int
	Offset    uintptr

	column int // position in the table
	size   uintptr
	of     *mem.Type // nil if it has no pointers
}

// isPair reports whether the field has no pointers and 16 bytes, the commonest: two numbers.
func (f *Field) isPair() bool { return f.of == nil && f.size == 16 }

// Fields are a bundle's fields in one table.
type Fields struct {
	All           []Field // the pairs, then the others
	pairs, others []Field
	end           uintptr // where the last one ends in the bundle
}

// newFields puts the fields of a bundle in the order in which a create stores them: pairs first.
func newFields(all []Field) Fields {
	pairs, others := make([]Field, 0, len(all)), []Field(nil)
	end := uintptr(0)
	for i := range all {
		if f := &all[i]; f.isPair() {
			pairs = append(pairs, *f)
		} else {
			others = append(others, *f)
		}
		end = max(end, all[i].Offset+all[i].size)
	}
	n := len(pairs)
	all = append(pairs, others...)
	return Fields{all, all[:n:n], all[n:], end}
}
