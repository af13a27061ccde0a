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

// placesPolicy is the index of Options.Places in what policies returns.
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

// AppendExcerpt appends the lists of the entities of a piece. Children that are not in it leave a free
// place in a list whose places stay where they are; another list closes up.
func (a adapter) AppendExcerpt(tx *engine.Tx, dst []byte, of *extend.Excerpt) (excerpt []byte, children int) {
	t, begun, lists := a.tree, len(dst), 0
	var places []uint64 // 1 more than the place of a child in the piece, or 0
	for owner, h := range of.Handles {
		number := t.listed(h)
		if number == 0 {
			continue
		}
		l := t.settled(number)
		if tx != nil && tx.Work(placeSteps*l.places()) != nil {
			break
		}
		stays := l.is(fixed) || l.hasHoles()
		places = places[:0]
		for _, child := range t.items(number) {
			if at, ok := of.Place(child); ok {
				places = append(places, uint64(at)+1)
				children++
			} else if stays {
				places = append(places, 0)
			}
		}
		for !l.is(fixed) && len(places) > 0 && places[len(places)-1] == 0 {
			places = places[:len(places)-1]
		}
		if len(places) == 0 && !l.is(added|fixed) {
			continue
		}
		if lists++; lists == 1 {
			dst = extend.AppendNumber(dst, a.options.Places)
		}
		dst = extend.AppendNumber(extend.AppendNumber(dst, owner), extend.FlagsOf(l.is(added), l.is(fixed)))
		dst = extend.AppendNumber(dst, len(places))
		for _, n := range places {
			dst = extend.AppendNumber(dst, n)
		}
	}
	if lists == 0 {
		return dst[:begun], 0
	}
	return dst, children
}

// placeSteps is for each place of a list that comes to a piece, or from one.
const placeSteps = 32

// PlanInsert returns a function that adds an excerpt. The tree must not have its entities. It makes
// the room for that, even with ManualGrowth.
func (a adapter) PlanInsert(tx *engine.Tx, src []byte, now []handle.Handle) (insert func(), err error) {
	if tx != nil {
		if err := tx.Work(placeSteps * len(src)); err != nil { // a place takes a byte or more
			return nil, err
		}
	}
	lists, err := a.readExcerpt(src, now)
	if err != nil {
		return nil, err
	}
	sizes := func(yield func(int) bool) {
		for i := range lists {
			if n := len(lists[i].places); n > 0 && !yield(a.tree.classes.size(a.tree.classes.fit(n))) {
				return
			}
		}
	}
	if !a.tree.mayGrow(sizes) || len(a.tree.owners)+len(lists) > ParentsMax {
		return nil, fmt.Errorf("%w: relation %q", ErrLimit, a.name)
	}
	if tx != nil {
		return func() { a.insertIn(tx, lists) }, nil
	}
	return func() { a.tree.insertLists(lists) }, nil
}

// readExcerpt reads the lists of an excerpt, and checks that a tree can have them. Lists that were made
// by Options.Places get as many places as it says now. It changes nothing.
func (a adapter) readExcerpt(src []byte, now []handle.Handle) (lists []listExcerpt, err error) {
	c := extend.Cursor{Rest: src}
	was, up := c.Int(), make([]int, len(now)) // up: 1 more than the place of the parent in the piece
	owns := make([]bool, len(now))
	wrong := func(text string) ([]listExcerpt, error) {
		return nil, fmt.Errorf("hierarchy: relation %q: %s (%w)", a.name, text, extend.ErrImage)
	}
	for len(c.Rest) > 0 {
		owner, flags, n := int(c.Below(uint64(len(now)))), c.Flags(2), c.Count(1)
		switch {
		case c.Err != nil:
			return nil, c.Err
		case owns[owner] || n > placeMax || n == 0 && flags == 0:
			return wrong("an entity has two lists, or one that no entity can have")
		}
		owns[owner] = true
		x := listExcerpt{owner: now[owner], places: make([]handle.Handle, n)}
		x.kept = added*word(flags&1) | fixed*word(flags>>1)
		for i := range x.places {
			at := int(c.Below(uint64(len(now)) + 1))
			switch {
			case c.Err != nil:
				return nil, c.Err
			case at == 0:
				continue
			case up[at-1] != 0:
				return wrong("an entity has two parents")
			}
			up[at-1], x.places[i] = owner+1, now[at-1]
		}
		if x.kept&fixed == 0 && n > 0 && x.places[n-1] == handle.None {
			return wrong("a list ends with a free place")
		}
		if x.kept&fixed != 0 && n == was && was > 0 && a.options.Places > 0 {
			fits := min(n, a.options.Places)
			if slices.ContainsFunc(x.places[fits:], func(h handle.Handle) bool { return h != handle.None }) {
				return nil, fmt.Errorf("hierarchy: relation %q has Places %d where the piece comes from, and %d here: a child is at a place from %[3]d on. Move it before, or set Places %[2]d here", a.name, was, a.options.Places)
			}
			x.places = append(x.places[:fits], make([]handle.Handle, a.options.Places-fits)...)
		}
		lists = append(lists, x)
	}
	if cyclic(up) {
		return wrong("an entity is its own ancestor")
	}
	return lists, c.End()
}

// cyclic reports whether a way up does not end. up has 1 more than the place of each one's parent, or
// 0; it is overwritten.
func cyclic(up []int) bool {
	for from := range up {
		at := from
		for up[at] > 0 {
			at, up[at] = up[at]-1, -1-from // the mark of this way
		}
		if up[at] == -1-from {
			return true
		}
	}
	return false
}

// policies are the options that decide what the relation does.
func (r *Relation) policies() []int {
	o := r.options
	return []int{int(o.OnParentDeath), int(o.OnChildDeath), o.Places, o.PlacesMax, o.ConflictsMax, o.StepsMax}
}

// listExcerpt is the list of an entity.
type listExcerpt struct {
	owner  handle.Handle
	kept   word            // added, fixed
	places []handle.Handle // including holes
}

// insertIn is insertLists by a transaction, which fails if there are too many.
func (r *Relation) insertIn(t *engine.Tx, lists []listExcerpt) {
	if r.begin(t, "AddChild") != nil {
		return
	}
	for i := range lists {
		if r.undo.add(t, lists[i].owner) != nil || t.Charge(uintptr(len(lists[i].places))*wordBytes) != nil {
			return
		}
	}
	r.tree.insertLists(lists)
	_ = r.undo.work(t)
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
