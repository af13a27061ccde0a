package hierarchy

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

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
		x.relation.driver.Binds(x.frame, x.relation.part, "Reader.Diff")
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
	for home := range max(len(was.homes), len(is.homes)) {
		for i := range max(was.pagesOf(home), is.pagesOf(home)) {
			if !d.pageChanged(home, i) {
				continue
			}
			first := handle.Handle(home)<<homeShift | handle.Handle(i)<<pageShift
			before, after := was.page(home, i), is.page(home, i)
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
		if h != handle.None && d.changed(times.lists, since(times.runs, n>>runBits)) && !d.pageChanged(int(h>>homeShift), int(h>>pageShift%homePages)) {
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
func (t *Tree) position(h handle.Handle) Position {
	number := t.number(t.linkOf(t.look(h)))
	if number == 0 {
		return Position{}
	}
	return Position{t.owners[number], t.placeOf(h)}
}

// pagesOf returns how many pages a home has, and a function that returns them; a missing page is an
// empty one.
func (d *directory) pagesOf(home int) int {
	if home < len(d.homes) {
		return len(d.homes[home])
	}
	return 0
}

func (d *directory) page(home, i int) *page {
	if i < d.pagesOf(home) {
		return d.homes[home][i]
	}
	return &noPage
}
