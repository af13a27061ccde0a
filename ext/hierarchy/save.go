package hierarchy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

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

// placesPolicy is the index of Places in them.
const placesPolicy = 2

// SavedOptions describes the policies. None must be the same: LoadSaved handles Places, and the
// others say what happens from then on.
func (a adapter) SavedOptions() (all, same string) {
	o := a.options
	same = "children"
	return fmt.Sprintf("%s, OnParentDeath %v, OnChildDeath %v, Places %d, PlacesMax %d, ConflictsMax %d, StepsMax %d",
		same, o.OnParentDeath, o.OnChildDeath, o.Places, o.PlacesMax, o.ConflictsMax, o.StepsMax), same
}

// SavedCount returns how many children there are.
func (a adapter) SavedCount() int { return a.tree.Links() }

// LoadSaved makes the relation what AppendSaved wrote.
func (a adapter) LoadSaved(src []byte) error {
	c := extend.Cursor{Rest: src}
	places, conflicts, room := readSaved(&c)
	conflicts = conflicts[:min(len(conflicts), a.options.ConflictsMax)]
	a.paths = a.paths[:0]
	here := 0
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
	if err := a.refit(a.tree, places); err != nil {
		return err
	}
	a.conflicts, a.stale, a.retold = conflicts, true, true
	return nil
}

// readSaved reads what AppendSaved wrote before the tree. An error is in the cursor.
func readSaved(c *extend.Cursor) (places int, conflicts []Conflict, room []int) {
	if policies := c.Numbers(); len(policies) > placesPolicy {
		places = policies[placesPolicy]
	}
	for range c.Count(5) {
		f := Conflict{Change: c.Text(), Err: errorOf(c.Text()), Entity: c.Handle(), Other: c.Handle(), Path: extend.WordsOf[handle.Handle](c)}
		if n := len(f.Path) - 1; n >= 0 && f.Path[n].Version() == 0 {
			f.Path, f.Omitted = f.Path[:n], int(f.Path[n]>>handle.VersionBits)
		}
		conflicts = append(conflicts, f)
	}
	return places, conflicts, c.Numbers()
}

// Refuses returns why LoadSaved would refuse a state that another program saved, for a plan: nil if
// it would not. It changes nothing.
func (a adapter) Refuses(src []byte) error {
	c := extend.Cursor{Rest: src}
	places, _, _ := readSaved(&c)
	if c.Err != nil {
		return c.Err
	}
	t, err := load(c.Rest)
	if err == nil {
		err = a.mustFit(t, places)
	}
	return err
}

// fitted yields the parents whose lists have as many places as Options.Places was, if it has
// changed: they were made by that option.
func (a adapter) fitted(t *tree, was int) []handle.Handle {
	if was == a.options.Places || was == 0 || a.options.Places == 0 {
		return nil
	}
	var all []handle.Handle
	for h := range t.entities {
		if number := t.listed(h); number != 0 && t.list(number)[listState]&fixed != 0 && t.list(number).places() == was {
			all = append(all, h)
		}
	}
	return all
}

// mustFit returns an error if children are at places that lists will not have. It changes nothing.
func (a adapter) mustFit(t *tree, was int) error {
	children, parents := 0, 0
	for _, h := range a.fitted(t, was) {
		items := t.items(t.listed(h))
		n := 0
		for _, child := range items[min(len(items), a.options.Places):] {
			n += extend.FlagsOf(child != handle.None)
		}
		children, parents = children+n, parents+extend.FlagsOf(n > 0)
	}
	if children > 0 {
		return fmt.Errorf("hierarchy: relation %q had Places %d, and has %d: at the places from %[3]d on are children: %[4]d, of parents: %[5]d. Move these before the save, or keep Places %[2]d", a.name, was, a.options.Places, children, parents)
	}
	return nil
}

// refit gives the lists that were made by Options.Places as many places as it says now, even with
// ManualGrowth. After an error nothing has changed.
func (a adapter) refit(t *tree, was int) error {
	if err := a.mustFit(t, was); err != nil {
		return err
	}
	manual := t.manual
	t.manual = false
	defer func() { t.manual = manual }()
	for _, h := range a.fitted(t, was) {
		if err := t.SetPlaces(h, a.options.Places); err != nil {
			return fmt.Errorf("hierarchy: relation %q: %v cannot have %d places: %w", a.name, h, a.options.Places, err)
		}
	}
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

// policies are the options that decide what the relation does.
func (r *Relation) policies() []int {
	o := r.options
	return []int{int(o.OnParentDeath), int(o.OnChildDeath), o.Places, o.PlacesMax, o.ConflictsMax, o.StepsMax}
}

// excerpt is a part of a relation, to be inserted into one of another world.
type excerpt struct {
	policies []int
	lists    []listExcerpt
}

// listExcerpt is the list of an entity.
type listExcerpt struct {
	owner  handle.Handle
	kept   word            // added, fixed
	places []handle.Handle // including holes
}

// insertLists adds lists of entities that the tree does not have.
func (t *tree) insertLists(lists []listExcerpt) {
	manual := t.manual
	t.manual, t.still = false, true
	defer func() { t.manual, t.still = manual, false }()
	for i := range lists {
		if err := t.insertList(&lists[i]); err != nil {
			panic(fmt.Sprintf("hierarchy: the list of %v was looked at, and cannot be added: %v", lists[i].owner, err))
		}
	}
}

// insertList gives an entity the list of an excerpt: its children, its holes and its fixed places.
// On an error the list may be there in part.
func (t *tree) insertList(x *listExcerpt) error {
	number, err := t.listOf(x.owner)
	if err != nil {
		return err
	}
	if len(x.places) > 0 {
		if err := t.makeRoom(number, len(x.places)); err != nil {
			return err
		}
	}
	for place, child := range x.places {
		if child == handle.None {
			continue
		}
		if _, err := t.node(child); err != nil {
			return err
		}
		t.enter(number, child, into, place)
	}
	l := t.list(number)
	if n := l.places(); n < len(x.places) { // a fixed list ends in free places
		l.setPlaces(len(x.places))
		clear(t.items(number)[n:])
		t.touchPlaces(number, n, len(x.places))
	}
	t.touchList(number)
	l.set(x.kept)
	return nil
}

// room returns the capacity of each part of the tree. With ManualGrowth it decides what is refused.
func (t *tree) room() []int {
	return []int{cap(t.sectors[t.current].words), cap(t.records), cap(t.owners), len(t.block)}
}

// restoreRoom gives the tree room that another had.
func (t *tree) restoreRoom(room []int) {
	fit := func(part []word, n int) []word { return append(make([]word, 0, max(n, len(part))), part...) }
	t.restoreArena(room[0])
	t.records, t.block = fit(t.records, room[1]), make([]word, room[3])
	t.owners = append(make([]handle.Handle, 0, max(room[2], len(t.owners))), t.owners...)
}

// restoreArena gives the current arena so much memory, as far as its sectors are free.
func (t *tree) restoreArena(n int) {
	first, was := t.current, t.sectors[t.current]
	if first == 0 || n <= len(was.words) {
		return
	}
	t.growTo(min(first+sectorsOf(n), sectorsMax))
	free := first + sectorsOf(len(was.words))
	for free < len(t.sectors) && t.sectors[free].head == 0 {
		free++
	}
	if was.head != 0 {
		t.dropArena(first)
	}
	n = max(len(was.words), min(n, (free-first)<<sectorBits))
	t.setArena(first, append(make([]word, 0, n), was.words...))
	t.sectors[first].live, t.current = was.live, first
}
