package hierarchy

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

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

// AppendFollowers appends the children of an entity.
func (k adapter) AppendFollowers(dst []handle.Handle, h handle.Handle) []handle.Handle {
	for _, child := range k.tree.items(k.tree.own(h)) {
		if child != handle.None {
			dst = append(dst, child)
		}
	}
	return dst
}

// Unique reports false: several entities may have lists with the same children.
func (k adapter) Unique() bool { return false }

// Excerpt returns the lists of the entities in to, with the handles that it maps to. They are in
// the order of the old handles.
func (k adapter) Excerpt(to map[handle.Handle]handle.Handle) any {
	t := k.tree
	t.Settle()
	x := &excerpt{policies: k.policies()}
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
func (k adapter) PlanInsert(from any) (insert func(), err error) {
	x, ok := from.(*excerpt)
	if !ok {
		return nil, fmt.Errorf("hierarchy: %q is a relation in one of both worlds alone", k.name)
	}
	own := k.policies()
	for i, name := range policyNames {
		if name != "Refusals" && own[i] != x.policies[i] {
			return nil, fmt.Errorf("hierarchy: relation %q has %s %d, and that of the other world %d", k.name, name, own[i], x.policies[i])
		}
	}
	sizes := func(yield func(int) bool) {
		for i := range x.lists {
			if n := len(x.lists[i].places); n > 0 && !yield(k.tree.classes.size(k.tree.classes.fit(n))) {
				return
			}
		}
	}
	if !k.tree.mayGrow(sizes) || len(k.tree.owners)+len(x.lists) > ParentsMax {
		return nil, fmt.Errorf("%w: relation %q", ErrLimit, k.name)
	}
	return func() { k.tree.insertLists(x.lists) }, nil
}

// insertLists adds lists of entities that the tree does not have.
func (t *Tree) insertLists(lists []listExcerpt) {
	manual := t.manual
	t.manual, t.still = false, true
	defer func() { t.manual, t.still = manual, false }()
	for i := range lists {
		if err := t.insertList(&lists[i]); err != nil {
			panic(fmt.Sprintf("hierarchy: the list of %v was looked at, and cannot be added: %v", lists[i].owner, err))
		}
	}
}

func (t *Tree) insertList(x *listExcerpt) error {
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
