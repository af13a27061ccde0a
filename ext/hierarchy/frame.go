package hierarchy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/paged"
)

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

// copyNodes finds the pages of nodes that must be copied.
func (f *frozen) copyNodes(to, from *directory) {
	for first, p := range from.All {
		home, i := int(first.Home()), paged.NumberOf(first)
		own := to.Page(home, i)
		if own == nil {
			own = new(page)
			to.Put(first, own)
		} else if f.at >= f.of.nodes && f.at >= since(f.of.timesOf(home), i) {
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
	c := f.of
	for first, s := range from.eachArena {
		own, all := &to.sectors[first], c.words
		if own.head == 0 {
			to.setArena(first, make([]word, 0, cap(s.words)))
			all = c.now
		}
		own.words = own.words[:len(s.words)]
		f.copyPieces(own.words, s.words, all, c.spans, 1<<spanBits, first<<sectorBits)
	}
}

// copyWords finds what must be copied of some memory. all is when all of it changed, and times is
// when each piece of a size did.
func (f *frozen) copyWords(to *[]word, from []word, all uint64, times []uint64, size int) {
	if len(from) > cap(*to) {
		*to, all = make([]word, 0, len(from)+len(from)/4), f.of.now
	}
	*to = (*to)[:len(from)]
	f.copyPieces(*to, from, all, times, size, 0)
}

// copyPieces is copyWords for memory of the same length, that begins at so many words.
func (f *frozen) copyPieces(to, from []word, all uint64, times []uint64, size, begin int) {
	if f.at == 0 || f.at < all {
		f.runs.Add(to, from)
		return
	}
	for at := 0; at < len(from); {
		i := (begin + at) / size
		end := min((i+1)*size-begin, len(from))
		if f.at < since(times, i) {
			f.runs.Add(to[at:end], from[at:end])
		}
		at = end
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
// each. It looks at all if the relation was loaded, or if there was no frame for a
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

// changed reports whether something changed between the two copies: last is when the part changed,
// all when everything did.
func (d *diff) changed(all, last uint64) bool {
	return d.older.of != d.newer.of || d.older.at < max(all, last)
}

func (d *diff) pageChanged(home, i int) bool {
	times := &d.newer.times
	return d.changed(times.nodes, since(times.timesOf(home), i))
}

// nodes compares the entities on pages that changed.
func (d *diff) nodes() {
	was, is := &d.was.tree.dir, &d.is.tree.dir
	for home := range max(len(was.Homes), len(is.Homes)) {
		for i := range max(len(was.Table(home)), len(is.Table(home))) {
			if !d.pageChanged(home, i) {
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
		if h != handle.None && d.changed(times.lists, since(times.runs, n>>runBits)) && !d.pageChanged(int(h.Home()), paged.NumberOf(h)) {
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
