package near

import (
	"math"
	"runtime"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
)

// entry is an entity and where it is.
type entry struct {
	Point
	handle handle.Handle
}

// is reports whether an entry is of an entity at a place. 0 and -0 differ, because readers can tell
// them apart.
func (e *entry) is(h handle.Handle, p *Point) bool {
	return e.handle == h && math.Float64bits(e.X) == math.Float64bits(p.X) &&
		math.Float64bits(e.Y) == math.Float64bits(p.Y) && math.Float64bits(e.Z) == math.Float64bits(p.Z)
}

// layer is some entities by cell: those of cell k are entries[starts[k]:starts[k+1]]. Their order
// in a cell has no meaning.
type layer struct {
	starts  []uint32
	entries []entry
	users   int // versions that have it
	copies  int // those of them that frames have
}

func (l *layer) bytes() uint64 { return 4*uint64(cap(l.starts)) + 32*uint64(cap(l.entries)) }

// run returns the entries of a run of cells.
func (l *layer) run(first, last int) (from, to int) {
	return int(l.starts[first]), int(l.starts[last+1])
}

// source is the rows of a chunk that are to be looked at.
type source struct {
	chunk  *store.Chunk
	column int
	number int      // of the chunk
	n      int      // how many rows
	rows   []uint32 // which ones; nil for the first n
	offset int      // how many rows the sources before it have
}

// none stands for no entry, and for no cell.
const none = math.MaxUint32

// Work is divided into parts of about partRows rows, partsMax of them at most.
const (
	partsMax = 8
	partRows = 4096
)

// batch is how many rows are read at a time. It is large enough that the loop of scattered writes
// rarely waits for the last writes of the one before.
const batch = 512

// builder makes layers.
//
// Ownership: the coordinator; steps that run in parallel have one part each.
type builder struct {
	*Index
	filter  store.Filter
	sources []source
	ends    []int // of the parts: the number of sources up to there
	to      *layer
	at      []uint32 // by row: its cell, or none; then the number of its entry
	parts   [partsMax]struct {
		next   []uint32 // by cell: the number of entries; then where the next one goes
		points []Point  // batch of them
		_      [64]byte
	}
	countPart, putPart func(int) // bound once
}

// divide divides the sources into parts of about the same number of rows. It returns how many rows
// there are.
func (b *builder) divide(sources []source) (rows int) {
	for i := range sources {
		sources[i].offset = rows
		rows += sources[i].n
	}
	// Each part counts the rows of every cell. That must cost less than the work on its rows.
	parts := min(partsMax, runtime.GOMAXPROCS(0), 1+rows/partRows, 1+4*rows/b.grid.cells())
	b.sources, b.ends = sources, b.ends[:0]
	for i := range sources {
		if done := sources[i].offset + sources[i].n; done*parts >= rows*(len(b.ends)+1) {
			b.ends = append(b.ends, i+1)
		}
	}
	for i := range b.ends {
		if p := &b.parts[i]; p.points == nil {
			p.points = make([]Point, batch)
		}
	}
	return rows
}

// part returns the sources of a part.
func (b *builder) part(i int) []source {
	from := 0
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.sources[from:b.ends[i]]
}

// build makes a layer of rows. It sets at, which has an element for each row, to the entries
// that the rows became, or none.
//
// Loops with scattered writes do nothing else: other work in them would wait for the writes, too.
func (b *builder) build(to *layer, sources []source, at []uint32, step extend.Step) {
	rows := b.divide(sources)
	b.to, b.at = to, at
	step(len(b.ends), rows, b.countPart)
	b.prefix()
	step(len(b.ends), rows, b.putPart)
	b.sources, b.to, b.at = nil, nil, nil
}

// sized returns a slice of a length, with room for some more if it must be made.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		s = make([]T, n+n/8)
	}
	return s[:n]
}

// count finds the cells of a part's rows, and counts the rows in each.
func (b *builder) count(i int) {
	p := &b.parts[i]
	p.next = sized(p.next, b.grid.cells())
	clear(p.next)
	next, sources := p.next, b.part(i)
	for k := range sources {
		s := &sources[k]
		cells := b.at[s.offset : s.offset+s.n]
		for from := 0; from < s.n; from += batch {
			some := cells[from:min(from+batch, s.n)]
			b.grid.find(b.points(s, from, p.points[:len(some)]), some)
		}
		if s.rows == nil && !b.filter.All() {
			s.leaveOut(&b.filter, cells)
		}
		for _, cell := range cells {
			if cell != none {
				next[cell]++
			}
		}
	}
}

// leaveOut sets the cells of rows that do not match to none.
func (s *source) leaveOut(f *store.Filter, cells []uint32) {
	for from := 0; from < s.n; from += 64 {
		out := s.chunk.Unmatched(f, from/64)
		for i := range cells[from:min(from+64, s.n)] {
			if out>>i&1 != 0 {
				cells[from+i] = none
			}
		}
	}
}

// prefix finds where the entries of each cell begin, and of those of each part.
func (b *builder) prefix() {
	starts := sized(b.to.starts, b.grid.cells()+1)
	sum := uint32(0)
	switch len(b.ends) {
	case 1:
		next := b.parts[0].next[:len(starts)-1]
		for cell, n := range next {
			starts[cell], next[cell] = sum, sum
			sum += n
		}
	default:
		for cell := range starts[:len(starts)-1] {
			starts[cell] = sum
			for i := range b.ends {
				n := &b.parts[i].next[cell]
				*n, sum = sum, sum+*n
			}
		}
	}
	starts[len(starts)-1] = sum
	b.to.starts, b.to.entries = starts, sized(b.to.entries, int(sum))
}

// points reads where the rows of a source are, from one row on.
func (b *builder) points(s *source, from int, to []Point) []Point {
	b.column.points(s.chunk.Column(s.column), s.rows, from, to)
	return to
}

// read reads where up to 64 rows of a source are, from one row on. It returns which of them do not
// match.
func (b *builder) read(s *source, from int, to []Point) (out uint64) {
	b.column.points(s.chunk.Column(s.column), nil, from, to)
	if !b.filter.All() {
		out = s.chunk.Unmatched(&b.filter, from/64)
	}
	for i := range to {
		if !to[i].finite() {
			out |= 1 << i
		}
	}
	return out
}

// put copies a part's rows to their entries.
func (b *builder) put(i int) {
	p, sources := &b.parts[i], b.part(i)
	for k := range sources {
		s := &sources[k]
		for from := 0; from < s.n; from += batch {
			at := b.at[s.offset+from : s.offset+min(from+batch, s.n)]
			for i, cell := range at {
				if cell != none {
					at[i] = p.next[cell]
					p.next[cell]++
				}
			}
			s.put(from, b.points(s, from, p.points[:len(at)]), at, b.to.entries)
		}
	}
}

// put copies rows, from one on, to the entries that at names. It leaves out a row whose element of
// at is none.
func (s *source) put(from int, points []Point, at []uint32, entries []entry) {
	handles := s.chunk.Handles()
	if s.rows == nil {
		handles = handles[from:]
		for i, k := range at {
			if k != none {
				e := &entries[k]
				e.Point, e.handle = points[i], handles[i]
			}
		}
		return
	}
	for i, row := range s.rows[from : from+len(at)] {
		entries[at[i]] = entry{points[i], handles[row]}
	}
}

// anyOf reports whether a bit is set in a set of bits.
func anyOf(set []uint64, i int) bool { return set[i/64]>>(i%64)&1 != 0 }
