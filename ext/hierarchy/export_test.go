package hierarchy

import (
	"reflect"
	"slices"
	"testing"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// Verify checks a tree's invariants.
func (t *tree) Verify() error { return t.verify(false) }

// KeepsCapacity reports whether lists keep their buckets for now.
func (r *Relation) KeepsCapacity() bool { return r.tree.keep }

// OpenLists returns how many lists are noted to have gaps.
func (t *tree) OpenLists() int { return len(t.open) }

// Divide gives the places in links so many bits, or with 0 as many as they have by
// themselves.
func (t *tree) Divide(placeBits int) {
	by := splitFor(len(t.owners))
	if placeBits > 0 {
		by = split{lists: linkMask >> (listShift + placeBits), shift: uint8(versionShift - placeBits)}
	}
	t.divide(by)
	for n, owner := range t.owners {
		if owner != handle.None {
			t.renumber(uint32(n), 0) // they may have been given more
		}
	}
}

// Verify checks those of a relation, and that nobody in it is dead.
func (r *Relation) Verify() error {
	for h := range r.tree.entities {
		if !r.w.Alive(h) {
			return errVersion
		}
	}
	return r.tree.verify(false)
}

// Clone returns a conflict, with paths that stay.
func (f Conflict) Clone() Conflict {
	f.Path = slices.Clone(f.Path)
	return f
}

// Bytes returns the memory of a relation.
func (r *Relation) Bytes() int { return r.tree.Bytes() }

// OpenLists returns how many lists of a relation are noted to have gaps.
func (r *Relation) OpenLists() int { return r.tree.OpenLists() }

// AppendState appends the state of a relation.
func (r *Relation) AppendState(dst []byte) []byte { return adapter{r}.AppendState(dst) }

// Copy copies a tree as a frame does, into an old copy or nil, one part after the other, and
// returns a reader of the copy. It reports whether the tree said that it had changed, and how many
// bytes were copied.
func (t *tree) Copy(old extend.Copy) (c extend.Copy, r *Reader, changed bool, bytes int) {
	k := adapter{&Relation{tree: t}}
	changed = k.Changed()
	c, parts, bytes := k.Copy(old)
	for i := range parts {
		c.Part(i)
	}
	return c, &Reader{tree: &c.(*frozen).tree}, changed, bytes
}

// Steps returns how many steps the requests of the last sender have taken, in all relations.
func (r *Relation) Steps() int { return r.engine.Sender().Steps }

// Noting reports whether a relation notes what changes, for copies.
func (r *Relation) Noting() bool { return r.tree.changes != nil }

// CopySize returns how many bytes a copy for frames takes.
func (r *Relation) CopySize() uint64 { return adapter{r}.CopySize() }

// Divide is Tree.Divide.
func (r *Relation) Divide(placeBits int) { r.tree.Divide(placeBits) }

// Resave saves a relation and loads it again.
func (r *Relation) Resave(t testing.TB) {
	if err := (adapter{r}).LoadSaved(adapter{r}.AppendSaved(nil)); err != nil {
		t.Fatal(err)
	}
}

// ArenaWords gives later arenas at most so many words, as a power of two.
func (t *tree) ArenaWords(bits uint64) { t.most = 1 << bits }

// ArenaWords is Tree.ArenaWords.
func (r *Relation) ArenaWords(bits uint64) { r.tree.ArenaWords(bits) }

// Sweeping reports whether lists are being moved out of old arenas.
func (t *tree) Sweeping() bool { return t.sweep != 0 }

// Words returns how many words the arenas have, and the buckets of lists.
func (t *tree) Words() (held, live int) { return t.held, t.live }

// Sectors returns how many sectors are in use, and the number of the last.
func (t *tree) Sectors() (used, last int) { return t.used, len(t.sectors) - 1 }

// Sweeping is Tree.Sweeping.
func (r *Relation) Sweeping() bool { return r.tree.Sweeping() }

// Steps returns how many steps all changes have taken.
func (t *tree) Steps() int { return t.steps }

// AddSteps adds to them.
func (t *tree) AddSteps(n int) { t.steps += n }

// AppendState appends what a tree means.
func (t *tree) AppendState(dst []byte) []byte { return t.appendState(dst) }

// Tree is a tree without a world. Most tests are of trees alone.
type Tree = tree

// NewTree makes an empty tree.
func NewTree(o Memory) *Tree { return newTree(o) }

// Load makes a tree of an image. Of the options it takes KeepCapacity and ManualGrowth.
func Load(image []byte, o Memory) (*Tree, error) {
	t, err := load(image)
	if err == nil {
		t.keep, t.manual = o.KeepCapacity, o.ManualGrowth
	}
	return t, err
}

// Load replaces the contents of the tree, and the sizes of its buckets, by an image.
func (t *tree) Load(image []byte) error {
	next, err := load(image)
	if err == nil {
		t.become(next)
	}
	return err
}

// ErrVersion says that a tree still has an earlier entity of a slot.
var ErrVersion = errVersion

// PlaceMax is the highest place that a child can have.
const PlaceMax = placeMax

// What follows makes the changes that Relation sends, at once and without a world.

// AddChild makes an entity a child of another: its last one, or in a fixed list at the first
// free place. Both are added to the tree. O(1), or O(depth) for a child that has children itself.
//
// It returns ErrParent if the child already has a parent, a CycleError if it is the
// parent or an ancestor of it, and ErrNoPlace if a fixed list is full.
func (t *tree) AddChild(parent, child handle.Handle) error {
	return t.do(child, change{op: opAddChild, to: parent})
}

// AddChildAt is AddChild at a place, from 0 to the number of places. Children from there on move
// back by one. O(later children). It returns ErrPlace for a place beyond, and ErrFixed for a fixed
// list.
func (t *tree) AddChildAt(parent, child handle.Handle, place int) error {
	return t.do(child, change{op: opAddChildAt, to: parent, place: clamp(place)})
}

// AddChildren is AddChild for each child in turn, with room made once. With an error it adds none.
func (t *tree) AddChildren(parent handle.Handle, children []handle.Handle) error {
	if len(children) == 0 {
		return nil
	}
	had := t.own(parent) != 0
	if err := t.expect(parent, len(children)); err != nil {
		return err
	}
	for i, child := range children {
		if err := t.AddChild(parent, child); err != nil {
			t.takeBack(parent, had, children[:i])
			return err
		}
	}
	return nil
}

// Move is Relation.Move, at once. gap says what becomes of the place that the child
// leaves, if it has a parent. It returns the errors of AddChild except ErrParent.
func (t *tree) Move(child, parent handle.Handle, gap Gap) error {
	return t.do(child, change{op: opMove, to: parent, gap: gap})
}

// MoveAt is Move to a place, as Relation.MoveAt. It returns the errors of AddChildAt except
// ErrParent.
func (t *tree) MoveAt(child, parent handle.Handle, place int, gap Gap) error {
	return t.do(child, change{op: opMoveAt, to: parent, place: clamp(place), gap: gap})
}

// MoveBefore is Move to the place of another child, as Relation.MoveBefore.
func (t *tree) MoveBefore(child, sibling handle.Handle, gap Gap) error {
	return t.do(child, change{op: opMoveBefore, to: sibling, gap: gap})
}

// Reorder exchanges a child of a parent with what is at another place, as a request of Sort does.
func (t *tree) Reorder(child, parent handle.Handle, place int) error {
	return t.do(child, change{op: opSort, from: parent, place: int32(place)})
}

// Swap exchanges the places of two children, as Relation.Swap.
func (t *tree) Swap(a, b handle.Handle) error { return t.do(a, change{op: opSwap, to: b}) }

// Put moves a child to a free place of a list, as Relation.Put: from the list of another
// parent, where gap says what becomes of the place; from the same list, where it
// leaves a hole; or from none. It can return a CycleError.
func (t *tree) Put(child, parent handle.Handle, place int, gap Gap) error {
	return t.do(child, change{op: opPut, to: parent, place: clamp(place), gap: gap})
}

// PutFrom is Put of a child that from must have, as
// Relation.PutFrom.
func (t *tree) PutFrom(child, from, to handle.Handle, place int, gap Gap) error {
	return t.do(child, change{op: opPutFrom, to: to, from: from, place: clamp(place), gap: gap})
}

// do makes a change, for a call of the user's.
func (t *tree) do(h handle.Handle, c change) error { return t.named(t.change(h, &c)) }

// Read returns the tree's own reader. Reading closes gaps that were put off, so it
// counts as using the tree.
func (t *tree) Read() *Reader { return &Reader{tree: t} }

// Written describes what logs and snapshots have of a request: the fields, and the numbers of the
// ops by their names.
func Written() (fields, ops []string) {
	t := reflect.TypeFor[change]()
	for i := range t.NumField() {
		fields = append(fields, t.Field(i).Name)
	}
	for o := range opAdopt {
		ops = append(ops, o.String())
	}
	return fields, ops
}

// Forge sends a request as a forged log may have it.
func (r *Relation) Forge(by world.Actor, child, parent handle.Handle, number uint8) error {
	return r.requests.Send(by, child, change{op: op(number), to: parent})
}
