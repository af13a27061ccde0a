package hierarchy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// adapter is a relation as the world sees it. It keeps its methods out of the
// exported ones of Relation.
type adapter struct{ *Relation }

// Begin closes the gaps that the idle world has left, so that systems only read.
func (a adapter) Begin() { a.tree.Settle() }

// Settle closes the gaps that the refresh has left, and goes on with a sweep.
func (a adapter) Settle() {
	a.forget()
	a.stale = true
	a.tree.Settle()
	a.tree.sweepSome(sweepWords)
}

// Follows reports whether children do not die with their parents.
func (a adapter) Follows() bool { return a.options.OnParentDeath != Destroy }

// Spare spares entities that have living children, if that is the policy. It also spares their
// ancestors among the dying, because these have a living child then.
func (a adapter) Spare(d *extend.DyingSet) bool {
	if a.options.OnParentDeath != SpareParent {
		return false
	}
	a.forget()
	before := d.Spared()
	news, first := d.News()
	for _, h := range news {
		a.spare(d, a.tree.parent(h))
	}
	if first {
		living := func(child handle.Handle) bool { return child != handle.None && !d.Has(child) }
		for _, h := range d.All() {
			if d.Has(h) && slices.ContainsFunc(a.tree.items(a.tree.own(h)), living) {
				a.spare(d, h)
			}
		}
	}
	return d.Spared() > before
}

// spare spares h and its ancestors among the dying.
func (a adapter) spare(d *extend.DyingSet, h handle.Handle) {
	for ; h != handle.None && d.Has(h); h = a.tree.parent(h) {
		d.Spare(h)
		a.note(Conflict{Change: "Destroy", Entity: h, Err: ErrChildren})
	}
}

// Spread removes dying entities from the relation and applies the policy to their
// children. Children that it marks are removed with their parent; those of
// them that are parents wait in k.dying.
func (a adapter) Spread(d *extend.DyingSet, from int) {
	if a.options.OnParentDeath == Grandparent {
		for _, h := range d.All()[from:] { // while all links still exist
			a.passOn(h, d.Has)
		}
		a.forgetHeirs()
		a.takeBequests()
	}
	a.tree.putOff = true
	to := len(d.All())
	for i := from; i < to; i++ {
		a.dying = append(a.dying, d.All()[i])
		for n := len(a.dying); n > 0; n = len(a.dying) {
			h := a.dying[n-1]
			a.dying = a.dying[:n-1]
			a.remove(d, h)
		}
	}
	a.tree.closeGaps()
	a.adoptBequests()
}

// remove takes a dying entity out of the relation, and its children from it.
func (a adapter) remove(d *extend.DyingSet, h handle.Handle) {
	t := a.tree
	if t.look(h) == 0 {
		return
	}
	t.detach(h, a.options.OnChildDeath)
	number := t.own(h)
	if number == 0 {
		return
	}
	if a.options.OnParentDeath == Destroy {
		d.Mark(t.items(number))
		t.unlinkChildren(number, &a.dying)
	} else {
		t.unlinkChildren(number, nil)
	}
	t.dropList(number)
}

// LinkSize returns the size of a request of the relation.
func (a adapter) LinkSize() uint32 { return a.requests.Size() }

// Children returns the children of an entity.
func (a adapter) Children(h handle.Handle) ([]handle.Handle, bool) {
	return a.tree.children(h), a.tree.list(a.tree.own(h)).is(fixed)
}

// Parent returns the parent of an entity.
func (a adapter) Parent(h handle.Handle) handle.Handle { return a.tree.parent(h) }

// Fix is SetPlaces without the limit.
func (a adapter) Fix(by engine.Actor, parent handle.Handle, places int) error {
	c := change{op: opSetPlaces, place: clamp(places)}
	if _, ok := engine.Is(by).(*engine.World); ok {
		return a.early(parent, &c)
	}
	return a.do(by, parent, c)
}

// Place is Put without the limit.
func (a adapter) Place(by engine.Actor, child, parent handle.Handle, place int) error {
	return a.do(by, child, change{op: opPut, to: parent, place: clamp(place)})
}

// Link is Put without the limit, or with a negative place AddChild, of an entity that the idle world
// is about to create.
func (a adapter) Link(child, parent handle.Handle, place int) error {
	c := change{op: opAddChild, to: parent}
	if place >= 0 {
		c = change{op: opPut, to: parent, place: clamp(place)}
	}
	return a.early(child, &c)
}

// early makes a change of an entity that the idle world is about to create.
func (a adapter) early(h handle.Handle, c *change) error {
	a.mustNotCompare(c.op.String())
	return a.tree.named(a.change(h, c))
}

// Unlink removes an entity, which is not created, and all below it.
func (a adapter) Unlink(h handle.Handle) { _ = a.tree.RemoveBranch(h, Hole) }

// AppendState appends all that decides what the relation does next, for a hash of
// the world's state: the options, the conflicts, and the children of each parent with
// their places. How the memory is laid out is not a part of it, other than in an image.
// (So with ManualGrowth it does not say when the relation runs out of room.)
func (a adapter) AppendState(dst []byte) []byte {
	o := a.options
	for _, v := range []int{int(o.OnParentDeath), int(o.OnChildDeath), o.Places, o.PlacesMax, o.ConflictsMax, o.StepsMax, len(a.conflicts)} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	for _, f := range a.conflicts {
		dst = append(dst, f.Change+"\n"+f.Err.Error()+"\n"...)
		dst = appendWords(dst, []word{f.Entity, f.Other, word(len(f.Path)) | word(f.Omitted)<<32})
		dst = appendWords(dst, f.Path)
	}
	return a.tree.appendState(dst)
}

// Measure reports how many children there are.
func (a adapter) Measure(add func(extend.Measured)) {
	add(extend.Measured{Name: "atoll_relation_children", Help: "Children in a relation.", Of: a.name, Value: float64(a.tree.Links())})
	add(extend.Measured{Name: "atoll_relation_bytes", Help: "Memory of a relation.", Of: a.name, Value: float64(a.tree.Bytes())})
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
	x.copyWords(&to.records, t.records, c.lists, c.runs, listWords<<runBits)
	x.copyWords(&to.owners, t.owners, c.lists, c.runs, 1<<runBits)
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

// AppendSaved appends the conflicts and an image of the tree, for LoadSaved.
func (a adapter) AppendSaved(dst []byte) []byte {
	dst = extend.AppendNumbers(dst, a.policies())
	dst = extend.AppendNumber(dst, len(a.conflicts))
	for _, f := range a.conflicts {
		dst = extend.AppendText(extend.AppendText(dst, f.Change), f.Err.Error())
		dst = extend.AppendNumber(extend.AppendNumber(dst, uint64(f.Entity)), uint64(f.Other))
		path := f.Path
		if f.Omitted > 0 { // as a value that is no handle
			path = append(slices.Clone(path), word(f.Omitted)<<handle.VersionBits)
		}
		dst = extend.AppendWords(dst, path)
	}
	a.tree.finish() // which may change the room
	return a.tree.Save(extend.AppendNumbers(dst, a.tree.room()))
}

// told are the errors that a Conflict can have. They are saved by their texts.
var told = []error{
	ErrCycle, ErrParent, ErrChildren, ErrAbsent, ErrPlace, ErrTaken, ErrNoPlace, ErrFixed, ErrElsewhere, ErrRoom, ErrLimit,
	errVersion, ErrPort, ErrSteps, world.ErrStale,
}

// roomMost bounds the unused room that is restored with a saved tree, beyond the room of the new
// one and four times the contents.
const roomMost = 64 << 20

// policyNames are their names.
var policyNames = []string{"OnParentDeath", "OnChildDeath", "Places", "PlacesMax", "ConflictsMax", "StepsMax"}

// kept is how many of the policies must be the same in the world that loads the relation.
const kept = 3

// SavedOptions describes the policies.
func (a adapter) SavedOptions() (all, same string) {
	values := a.policies()
	for i, name := range policyNames {
		value := any(values[i])
		switch name {
		case "OnParentDeath":
			value = a.options.OnParentDeath
		case "OnChildDeath":
			value = a.options.OnChildDeath
		}
		all += fmt.Sprintf(", %s %v", name, value)
		if i < kept {
			same = all
		}
	}
	return all[2:], same[2:]
}

// LoadSaved makes the relation what AppendSaved wrote.
func (a adapter) LoadSaved(src []byte) error {
	c := extend.Cursor{Rest: src}
	own := a.policies()
	for i, n := range c.Numbers() {
		if i < kept && n != own[i] {
			return fmt.Errorf("hierarchy: relation %q has %s %d, and was saved with %d", a.name, policyNames[i], own[i], n)
		}
	}
	var conflicts []Conflict
	a.paths = a.paths[:0]
	for range c.Count(5) {
		f := Conflict{Change: c.Text(), Err: errorOf(c.Text()), Entity: c.Handle(), Other: c.Handle(), Path: extend.WordsOf[handle.Handle](&c)}
		if n := len(f.Path) - 1; n >= 0 && f.Path[n].Version() == 0 {
			f.Path, f.Omitted = f.Path[:n], int(f.Path[n]>>handle.VersionBits)
		}
		if len(conflicts) < a.options.ConflictsMax {
			conflicts = append(conflicts, f)
		}
	}
	room, here := c.Numbers(), 0
	if c.Err != nil {
		return c.Err
	}
	for _, n := range a.tree.room() {
		here += n
	}
	for _, n := range room {
		if len(room) != len(a.tree.room()) || room[len(room)-1]%pageSize != 0 || n > here+4*len(c.Rest)/wordBytes+roomMost/wordBytes {
			return fmt.Errorf("hierarchy: relation %q has room for %v (%w)", a.name, room, extend.ErrBody)
		}
	}
	if err := a.Load(c.Rest); err != nil {
		return err
	}
	if len(room) > 0 {
		a.tree.restoreRoom(room)
	}
	a.conflicts, a.stale, a.retold = conflicts, true, true
	return nil
}

// errorOf returns the error with a text.
func errorOf(text string) error {
	for _, err := range told {
		if err.Error() == text {
			return err
		}
	}
	return errors.New(text)
}

// AppendFollowers appends the children of an entity.
func (a adapter) AppendFollowers(dst []handle.Handle, h handle.Handle) []handle.Handle {
	for _, child := range a.tree.items(a.tree.own(h)) {
		if child != handle.None {
			dst = append(dst, child)
		}
	}
	return dst
}

// Unique reports false: several entities may have lists with the same children.
func (a adapter) Unique() bool { return false }

// Excerpt returns the lists of the entities in to, with the handles that it maps to. They are in
// the order of the old handles.
func (a adapter) Excerpt(to map[handle.Handle]handle.Handle) any {
	t := a.tree
	t.Settle()
	x := &excerpt{policies: a.policies()}
	for h := range t.entities {
		owner, number := to[h], t.listed(h)
		if owner == handle.None || number == 0 {
			continue
		}
		places := slices.Clone(t.items(number))
		for i, child := range places {
			places[i] = to[child]
		}
		x.lists = append(x.lists, listExcerpt{owner, t.list(number)[listState] & (added | fixed), places})
	}
	if x.lists == nil {
		return nil
	}
	return x
}

// PlanInsert returns a function that adds an excerpt. The tree must not have its entities. It makes
// the room for that, even with ManualGrowth.
func (a adapter) PlanInsert(from any) (insert func(), err error) {
	x, ok := from.(*excerpt)
	if !ok {
		return nil, fmt.Errorf("hierarchy: %q is a relation in one of both worlds alone", a.name)
	}
	own := a.policies()
	for i, name := range policyNames {
		if name != "ConflictsMax" && own[i] != x.policies[i] {
			return nil, fmt.Errorf("hierarchy: relation %q has %s %d, and that of the other world %d", a.name, name, own[i], x.policies[i])
		}
	}
	sizes := func(yield func(int) bool) {
		for i := range x.lists {
			if n := len(x.lists[i].places); n > 0 && !yield(a.tree.classes.size(a.tree.classes.fit(n))) {
				return
			}
		}
	}
	if !a.tree.mayGrow(sizes) || len(a.tree.owners)+len(x.lists) > ParentsMax {
		return nil, fmt.Errorf("%w: relation %q", ErrLimit, a.name)
	}
	return func() { a.tree.insertLists(x.lists) }, nil
}
