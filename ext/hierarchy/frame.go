package hierarchy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/paged"
)

// changes notes which parts of a tree have changed, and when, so that a copy is updated
// by copying only these. Times are numbers of copies: what has changed since a copy was begun has
// a higher one. Where everything changes, the tree forgets them, and the next copy begins anew.
//
// Ownership: as for the tree.
type changes struct {
	now   uint64     // the number of the next copy
	last  uint64     // when anything changed
	pages [][]uint64 // when a page of nodes changed, by home and number
	runs  []uint64   // when a run of lists changed
	spans []uint64   // when a span of words in buckets changed
}

const (
	runBits  = 6 // lists in a run
	spanBits = 9 // words in a span
)

// at returns an element of a slice, or the zero value behind its end.
func at[T any](s []T, i int) (v T) {
	if i < len(s) {
		v = s[i]
	}
	return v
}

// note notes that something changes now.
func (c *changes) note(times *[]uint64, i int) {
	for i >= len(*times) {
		*times = append(*times, 0)
	}
	(*times)[i], c.last = c.now, c.now
}

// page returns when a page of a home changed.
func (c *changes) page(home, i int) uint64 { return at(at(c.pages, home), i) }

// follow takes over the times of nodes and lists.
func (c *changes) follow(from *changes) {
	c.runs = append(c.runs[:0], from.runs...)
	for home, times := range from.pages {
		if home == len(c.pages) {
			c.pages = append(c.pages, nil)
		}
		c.pages[home] = append(c.pages[home][:0], times...)
	}
}

// touchNode notes that the node of h changes.
func (t *tree) touchNode(h handle.Handle) {
	if c := t.changes; c != nil {
		home := int(h.Home())
		for home >= len(c.pages) {
			c.pages = append(c.pages, nil)
		}
		c.note(&c.pages[home], paged.NumberOf(h))
	}
}

// touchList notes that the record or the owner of a list changes.
func (t *tree) touchList(number uint32) {
	if c := t.changes; c != nil {
		c.note(&c.runs, int(number>>runBits))
	}
}

// touchPlaces notes that a list, and its places from one to before another, change.
func (t *tree) touchPlaces(number uint32, from, to int) {
	if t.changes != nil {
		t.touchList(number)
		start := t.list(number).start()
		for i := (start + from) >> spanBits; i<<spanBits < start+to; i++ {
			t.changes.note(&t.changes.spans, i)
		}
	}
}

// frozen is a copy of a relation. Its tree has only what a Reader reads.
//
// Ownership: as for extend.Copy.
type frozen struct {
	tree      tree
	conflicts []Conflict
	paths     []handle.Handle // of the conflicts
	of        *changes        // from which it is updated
	at        uint64          // which copy of the tree it is
	times     changes         // when pages and runs had changed, for Reader.Diff
	runs      extend.Runs[word]
}

// Changed reports whether the relation differs from the newest copy.
func (a adapter) Changed() bool {
	c := a.tree.changes
	return c == nil || c.last == c.now || a.retold
}

// CopySize returns how many bytes a copy takes.
func (a adapter) CopySize() uint64 {
	t := a.tree
	return uint64(t.dir.Pages*pageSize+len(t.records)+len(t.owners)+t.held) * wordBytes
}

// Copy begins a copy of the settled relation.
func (a adapter) Copy(old extend.Copy) (extend.Copy, int, int) {
	t := a.tree
	t.Settle()
	if t.changes == nil {
		t.changes = &changes{now: 1}
	}
	c := t.changes
	x, _ := old.(*frozen)
	if x == nil || x.of != c {
		x = &frozen{of: c}
		x.tree.arenas = noArenas(0)
	}
	x.runs.Reset()
	to := &x.tree
	x.copyNodes(&to.dir, &t.dir)
	x.copyWords(&to.records, t.records, c.runs, listWords<<runBits)
	x.copyWords(&to.owners, t.owners, c.runs, 1<<runBits)
	x.copyArenas(to, t)
	to.split = t.split
	x.times.follow(c)
	x.at = c.now
	c.now++
	clear(x.conflicts)
	x.conflicts, x.paths = append(x.conflicts[:0], a.conflicts...), x.paths[:0]
	for i := range x.conflicts {
		if f := &x.conflicts[i]; f.Path != nil {
			from := len(x.paths)
			x.paths = append(x.paths, f.Path...)
			f.Path = x.paths[from:len(x.paths):len(x.paths)]
		}
	}
	a.retold = false
	parts, words := x.runs.Parts()
	return x, parts, words * wordBytes
}

// Forget stops noting what changes.
func (a adapter) Forget() { a.tree.changes = nil }

// copyNodes finds the pages of nodes that must be copied.
func (f *frozen) copyNodes(to, from *directory) {
	for first, p := range from.All {
		home, i := int(first.Home()), paged.NumberOf(first)
		own := to.Page(home, i)
		if own == nil {
			own = new(page)
			to.Put(first, own)
		} else if f.at >= f.of.page(home, i) {
			continue
		}
		f.runs.Add(own[:], p[:])
	}
}

// copyArenas finds what must be copied of buckets.
func (f *frozen) copyArenas(to, from *tree) {
	if len(to.sectors) > len(from.sectors) {
		to.arenas = noArenas(0)
	}
	to.growTo(len(from.sectors))
	for i := 1; i < len(to.sectors); i++ {
		s := &from.sectors[i]
		if own := &to.sectors[i]; int(own.head) == i && (int(s.head) != i || cap(own.words) != cap(s.words)) {
			to.dropArena(i)
		}
	}
	for first, s := range from.eachArena {
		own := &to.sectors[first]
		fresh := own.head == 0
		if fresh {
			to.setArena(first, make([]word, 0, cap(s.words)))
		}
		own.words = own.words[:len(s.words)]
		f.copyPieces(own.words, s.words, fresh, f.of.spans, 1<<spanBits, first<<sectorBits)
	}
}

// copyWords finds what must be copied of some memory. times is when each piece of a size changed.
func (f *frozen) copyWords(to *[]word, from []word, times []uint64, size int) {
	fresh := len(from) > cap(*to)
	if fresh {
		*to = make([]word, 0, len(from)+len(from)/4)
	}
	*to = (*to)[:len(from)]
	f.copyPieces(*to, from, fresh, times, size, 0)
}

// copyPieces is copyWords for memory of the same length, that begins at so many words.
func (f *frozen) copyPieces(to, from []word, fresh bool, times []uint64, size, begin int) {
	if f.at == 0 || fresh {
		f.runs.Add(to, from)
		return
	}
	for p := 0; p < len(from); {
		i := (begin + p) / size
		end := min((i+1)*size-begin, len(from))
		if f.at < at(times, i) {
			f.runs.Add(to[p:end], from[p:end])
		}
		p = end
	}
}

// Part does a part of the copying.
func (f *frozen) Part(i int) { f.runs.Part(i) }

// Bytes returns the memory of the copy, without some 8 bytes for each page and run.
func (f *frozen) Bytes() uint64 { return uint64(f.tree.Bytes()) }

// Position is where a child is: its parent, and its place among the parent's children. The zero
// Position is that of an entity without a parent.
type Position struct {
	Parent handle.Handle
	Place  int
}

// Moved is an entity that has another position in one frame than in another.
type Moved struct {
	Child    handle.Handle
	From, To Position
}

// Diff returns the entities whose parent or place differs from that in an earlier frame, in the
// order of their handles. Among them are entities that got a parent, or have none any more, dead or
// alive. Diff ignores whether an entity without a parent is in the relation, and whether a list is
// fixed.
//
// It looks only at the parts in which something changed in between, of 1,024 entities or 64 parents
// each. It looks at all if the relation was loaded or got room by Reserve, or if there was no frame for a
// while. It panics if one of the Readers is not of a frame, if they are of two relations, or if a
// frame was released. Any number of goroutines may call it.
func (r *Reader) Diff(before *Reader) []Moved {
	for _, x := range []*Reader{r, before} {
		if x.frozen == nil {
			panic("hierarchy: Reader.Diff needs two Readers of frames; pass a world.Frame to Relation.Read")
		}
		x.relation.engine.Binds(x.frame, x.relation.part, "Reader.Diff")
	}
	if r.relation != before.relation {
		panic(fmt.Sprintf("hierarchy: Reader.Diff of relations %q and %q; compare frames of one", r.relation.name, before.relation.name))
	}
	d := diff{was: before.frozen, is: r.frozen, older: before.frozen, newer: r.frozen}
	if d.older.at > d.newer.at {
		d.older, d.newer = d.newer, d.older
	}
	if d.was != d.is {
		d.nodes()
		d.lists()
	}
	slices.SortFunc(d.moved, func(a, b Moved) int { return a.Child.Compare(b.Child) })
	return d.moved
}

// diff compares two copies of a relation.
type diff struct {
	was, is      *frozen
	older, newer *frozen // the same two, by age
	moved        []Moved
}

// changed reports whether a part changed between the two copies, by when it did last.
func (d *diff) changed(last uint64) bool { return d.older.of != d.newer.of || d.older.at < last }

// nodes compares the entities on pages that changed.
func (d *diff) nodes() {
	was, is := &d.was.tree.dir, &d.is.tree.dir
	for home := range max(len(was.Homes), len(is.Homes)) {
		for i := range max(len(was.Table(home)), len(is.Table(home))) {
			if !d.changed(d.newer.times.page(home, i)) {
				continue
			}
			first := paged.First(home, i)
			before, after := cmp.Or(was.Page(home, i), &noPage), cmp.Or(is.Page(home, i), &noPage)
			for k := range before {
				a, b := node(before[k]), node(after[k])
				if a != 0 {
					d.entity(handleAt(first, k, a))
				}
				if b != 0 && (a == 0 || a>>versionShift != b>>versionShift) {
					d.entity(handleAt(first, k, b))
				}
			}
		}
	}
}

// lists compares the owners of lists that changed but whose nodes did not: the links of owners are
// in the lists.
func (d *diff) lists() {
	times := &d.newer.times
	for n, h := range d.is.tree.owners {
		if h != handle.None && d.changed(at(times.runs, n>>runBits)) && !d.changed(times.page(int(h.Home()), paged.NumberOf(h))) {
			d.entity(h)
		}
	}
}

func (d *diff) entity(h handle.Handle) {
	if from, to := d.was.tree.position(h), d.is.tree.position(h); from != to {
		d.moved = append(d.moved, Moved{h, from, to})
	}
}

// position returns where an entity is, in a tree without open gaps.
func (t *tree) position(h handle.Handle) Position {
	number := t.number(t.linkOf(t.look(h)))
	if number == 0 {
		return Position{}
	}
	return Position{t.owners[number], t.placeOf(h)}
}
