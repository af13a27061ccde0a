package realm

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Possessions is what a scan of all items and inventories found: where each item
// is.
type Possessions struct {
	Lying   int // on the ground
	Held    [kinds]int
	Wrong   []string // what cannot be, as far as it is kept
	Further int      // what else cannot be
}

// Total returns the number of items that are anywhere.
func (p *Possessions) Total() int {
	n := p.Lying
	for _, held := range p.Held {
		n += held
	}
	return n
}

// wrongKept is how much of what cannot be is told.
const wrongKept = 16

func (p *Possessions) wrong(format string, args ...any) {
	if len(p.Wrong) == wrongKept {
		p.Further++
		return
	}
	p.Wrong = append(p.Wrong, fmt.Sprintf(format, args...))
}

// Possessions goes through the inventory of everybody who may have one, item by
// item, and then through all items, and holds both against each other: each item
// lies on the ground, where it is in no inventory, or is in one place of one, that
// of whom it says. Creatures must carry what they were given, and what is stacked must
// be of one sort. view, unless it is
// nil, is asked what is in an inventory, for tests. No tick may be running.
func (r *Realm) Possessions(view func(who handle.Handle, carries []handle.Handle) []handle.Handle) Possessions {
	w, bags := r.World, r.Inventory.Read(r.World)
	if view == nil {
		view = func(_ handle.Handle, carries []handle.Handle) []handle.Handle { return carries }
	}
	var p Possessions
	items, beasts := world.Read[Item](w), world.Read[Creature](w)
	places, links := map[handle.Handle]int{}, 0
	open := func(k Kind, who handle.Handle, given int) {
		n := 0
		for _, it := range view(who, bags.Children(who)) {
			if it == handle.None {
				continue
			}
			n++
			places[it]++
			switch {
			case !w.Alive(it) || items.Get(it) == nil:
				p.wrong("%s %v carries %v, which is no item", k.One(), who, it)
			case bags.Parent(it) != who:
				p.wrong("%s %v carries %v, which is in the inventory of %v", k.One(), who, it, bags.Parent(it))
			case k == Items && items.Get(it).Sort != items.Get(who).Sort:
				p.wrong("item %v of sort %d is stacked on %v of sort %d", it, items.Get(it).Sort, who, items.Get(who).Sort)
			}
		}
		if given >= 0 && n != given {
			p.wrong("%s %v was given %d items and carries %d", k.One(), who, given, n)
		}
		p.Held[k] += n
		links += n
	}
	all := w.Query(world.Optional(items), world.Optional(beasts), world.Without[Den](w))
	for ch := range all.Chunks() {
		for i, h := range ch.Handles() {
			switch {
			case items.Slice(ch) != nil:
				open(Items, h, -1)
			case beasts.Slice(ch) != nil:
				open(Creatures, h, int(beasts.Slice(ch)[i].Items))
			default:
				open(Avatars, h, -1)
			}
		}
	}
	for ch := range w.Query(items).Chunks() {
		for _, it := range ch.Handles() {
			r.locate(&p, it, bags.Parent(it), places[it])
		}
	}
	if n := r.Inventory.Links(); n != links {
		p.wrong("the inventories have %d items, the relation says %d", links, n)
	}
	return p
}

// locate checks that an item is in one place: on the ground, or in an inventory.
func (r *Realm) locate(p *Possessions, it, parent handle.Handle, places int) {
	want := 1
	if parent == handle.None {
		p.Lying++
		want = 0
	}
	if places != want {
		p.wrong("item %v, of %v, is in %d inventories, want %d", it, parent, places, want)
	}
}
