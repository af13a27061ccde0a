package realm

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Census is what a scan of the whole world found.
type Census struct {
	Alive [kinds]int // by kind
	Other int        // entities of no kind, or of more than one
	Dead  int        // rows whose handle is not alive
}

// Total returns the number of entities.
func (c *Census) Total() int {
	n := c.Other
	for _, k := range AllKinds {
		n += c.Alive[k]
	}
	return n
}

// Census visits every entity. It counts what it sees and asks no counter. No
// tick may be running.
func (r *Realm) Census() Census {
	w := r.World
	beast, item := world.Read[Creature](w), world.Read[Item](w)
	avatar, den := world.Read[Avatar](w), world.Read[Den](w)
	var c Census
	all := w.Query(world.Optional(beast), world.Optional(item), world.Optional(avatar), world.Optional(den))
	for ch := range all.Chunks() {
		has := [kinds]bool{
			Creatures: beast.Slice(ch) != nil, Items: item.Slice(ch) != nil, Avatars: avatar.Slice(ch) != nil, Dens: den.Slice(ch) != nil,
		}
		for _, h := range ch.Handles() {
			if !w.Alive(h) {
				c.Dead++
			}
			c.count(has)
		}
	}
	return c
}

// count counts an entity by the kinds that it has.
func (c *Census) count(has [kinds]bool) {
	var found Kind
	n := 0
	for k, ok := range has {
		if ok {
			found = Kind(k)
			n++
		}
	}
	if n == 1 {
		c.Alive[found]++
	} else {
		c.Other++
	}
}

// AvatarOf returns what the world holds of a client's avatar and how many items it
// has, or false if it is not alive. No tick may be running.
func (r *Realm) AvatarOf(h handle.Handle) (_ Avatar, _ Stance, items int, alive bool) {
	a, s := world.Read[Avatar](r.World).Get(h), world.Read[Stance](r.World).Get(h)
	if a == nil || s == nil {
		return Avatar{}, Stance{}, 0, false
	}
	return *a, *s, r.Inventory.Read(r.World).Count(h), true
}

// Possessions is the result of a scan of all items and inventories: where each item
// is.
type Possessions struct {
	Lying   int // on the ground
	Held    [kinds]int
	Wrong   []string // the first violations
	Further int      // how many more violations there are
}

// Total returns the number of items that are anywhere.
func (p *Possessions) Total() int {
	n := p.Lying
	for _, held := range p.Held {
		n += held
	}
	return n
}

// wrongKept is how many violations are listed.
const wrongKept = 16

func (p *Possessions) wrong(format string, args ...any) {
	if len(p.Wrong) == wrongKept {
		p.Further++
		return
	}
	p.Wrong = append(p.Wrong, fmt.Sprintf(format, args...))
}

// Possessions scans all inventories and then all items, and compares the two.
// An item must either lie on the ground and be in no inventory,
// or be in one place of its parent's inventory.
// Creatures must carry what they were given, and stacked items must
// be of one sort. If view is not
// nil, a test can change the contents of an inventory by it. No tick may be running.
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
