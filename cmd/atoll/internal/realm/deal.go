package realm

import (
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// newInventory makes the relation of items to their carriers, and to the items
// that they are stacked on. An item without a parent lies on the ground. There is no other
// record of that, and an item has at most one parent, so it cannot be in two places.
func newInventory(w *world.World, creatures int) *hierarchy.Relation {
	return hierarchy.New(w, "inventory", hierarchy.Options{
		OnParentDeath: hierarchy.Orphan, // it falls to the ground
		OnChildDeath:  hierarchy.Hole,
		Places:        placesMax,
		Memory: hierarchy.Memory{
			Buckets: []int{placesMax},
			Reserve: hierarchy.Room{Entities: 2 * creatures, Parents: creatures, Buckets: []int{creatures / carryOdds}},
		},
	})
}

// equip gives a new creature an item, if it is one of those that carry
// one. Both are in the relation from the refresh on.
func (r *Realm) equip(c *world.Context, isle *island, who handle.Handle, beast *Creature, at Position) {
	if isle.dice.IntN(carryOdds) > 0 {
		return
	}
	it, err := r.items.Create(c, item{
		at, Item{Worth: 1 + isle.dice.Int32N(worthMax), Sort: uint8(isle.dice.IntN(itemSorts))}, Litter{},
	})
	if !isle.sent(err) {
		return
	}
	isle.created(Items)
	if isle.sent(r.Inventory.AddChild(c, who, it)) {
		beast.Items++
		return
	}
	must(c.Destroy(it)) // too many requests of the island in this tick
	isle.destroyed(Items, it)
}

// drop places the items of an entity that dies at this refresh where the entity stood. The
// relation's policy removes them from the inventory. An item that comes into the inventory in the
// same refresh, by a trade or a take, lies where it last did.
func (s *striker) drop(c *world.Context, who handle.Handle, at Position) {
	for it := range s.bags.Each(who) {
		s.isle.sent(s.position.Set(c, it, at))
		s.isle.sent(s.litter.Set(c, it, Litter{Expires: c.Tick() + itemLife}))
		if !c.Owns(it) {
			s.isle.sent(world.Move(c, it, c.Shard()))
		}
	}
}

// dealer is the deal system of one island.
type dealer struct {
	*Realm
	isle    *island
	avatars *world.Writer[Avatar]
	items   *world.ForeignReader[Item]
	health  *world.ForeignReader[Health]
	bags    *hierarchy.Reader
}

// deal does what avatars want with their inventories: take an item, stack two,
// trade with another avatar or a creature. It only requests one change of the relation, which
// is done or refused as a whole. The result is in the relation a tick later:
//
//	tick t     obey   the command opens a deal
//	           deal   chooses the items, and requests the change
//	tick t+1   deal   reads the owners; the reply to the client
//
// If several avatars want the same item, the first in order gets it. An item that
// expires at that refresh is not taken.
//
// A trade exchanges two items wherever they are by then. If one of them was stacked in the same
// refresh, the trade would put an item of another sort onto that stack. So stacking is requested
// for the refreshes of even ticks, and trading for those of odd ones. A deal may therefore begin a
// tick later than shown above.
func (r *Realm) deal(b *world.Build) func(*world.Context) {
	d := &dealer{
		Realm: r, isle: r.island(b), avatars: world.Write[Avatar](b),
		items: world.ReadForeign[Item](b), health: world.ReadForeign[Health](b), bags: r.Inventory.Read(b),
	}
	all := b.Query(d.avatars)
	return func(c *world.Context) {
		for ch := range all.Chunks() {
			avatars := d.avatars.Slice(ch)
			for i := range avatars {
				switch deal := &avatars[i].Deal; {
				case !deal.Open:
				case deal.Due == 0 && !turnOf(deal.Verb, c.Tick()):
				case deal.Due == 0:
					d.begin(c, ch.Handle(i), &avatars[i])
				case deal.Due <= c.Tick():
					d.end(ch.Handle(i), &avatars[i])
				}
			}
		}
	}
}

// turnOf reports whether deals of a kind are requested in a tick.
func turnOf(v Verb, tick uint64) bool {
	switch v {
	case Stack:
		return tick%2 == 0
	case Trade:
		return tick%2 == 1
	}
	return true
}

// begin requests what an avatar wants, or ends the deal if it is impossible.
func (d *dealer) begin(c *world.Context, self handle.Handle, a *Avatar) {
	deal := &a.Deal
	var err error
	switch deal.Verb {
	case Take:
		if d.bags.Count(self) == placesMax {
			d.close(self, a, Reply{Full: true})
			return
		}
		if d.lies(deal.Target) {
			deal.Item = deal.Target
			err = d.Inventory.PutFrom(c, deal.Item, handle.None, self, hierarchy.Free)
		}
	case Stack:
		if deal.Item, deal.Other = d.pair(self); deal.Item != handle.None {
			err = d.Inventory.PutFrom(c, deal.Item, self, deal.Other, hierarchy.Free)
		}
	case Trade:
		if deal.Item, deal.Other = d.bargain(self, deal.Target); deal.Item != handle.None {
			err = d.Inventory.Swap(c, deal.Item, deal.Other)
		}
	}
	switch {
	case err != nil && err != world.ErrStale:
		d.close(self, a, Reply{Outcome: world.Refused})
	case err != nil || deal.Item == handle.None:
		d.close(self, a, Reply{})
	default:
		deal.Due = c.Tick() + 1
	}
}

// lies reports whether there is an item on the ground.
func (d *dealer) lies(h handle.Handle) bool {
	_, ok := d.items.Get(h)
	return ok && d.bags.Parent(h) == handle.None
}

// pair returns two items of one sort in an inventory, if the first can be put
// onto the second, or none.
func (d *dealer) pair(self handle.Handle) (top, base handle.Handle) {
	for top := range d.bags.Each(self) {
		if d.bags.Count(top) > 0 {
			continue
		}
		sort, _ := d.items.Get(top)
		for base := range d.bags.Each(self) {
			if it, _ := d.items.Get(base); base != top && it.Sort == sort.Sort && d.bags.Count(base) < placesMax {
				return top, base
			}
		}
	}
	return handle.None, handle.None
}

// bargain returns two items, with none stacked on them, that both sides accept:
// the other side gets at least as much as it gives, and as little more as possible.
func (d *dealer) bargain(self, other handle.Handle) (mine, theirs handle.Handle) {
	if _, ok := d.health.Get(other); !ok || other == self {
		return handle.None, handle.None
	}
	best := int32(worthMax)
	for my := range d.bags.Each(self) {
		for their := range d.bags.Each(other) {
			give, _ := d.items.Get(my)
			get, _ := d.items.Get(their)
			if loss := give.Worth - get.Worth; loss >= 0 && loss < best && d.bags.Count(my)+d.bags.Count(their) == 0 {
				mine, theirs, best = my, their, loss
			}
		}
	}
	return mine, theirs
}

// end finds the result of a deal.
func (d *dealer) end(self handle.Handle, a *Avatar) {
	deal, reply := a.Deal, Reply{}
	switch {
	case deal.Verb == Take && d.bags.Parent(deal.Item) == self:
		reply.Item = deal.Item
	case deal.Verb == Stack && d.bags.Parent(deal.Item) == deal.Other:
		reply.Item, reply.Other = deal.Item, deal.Other
	case deal.Verb == Trade && d.bags.Parent(deal.Other) == self:
		reply.Item, reply.Other = deal.Other, deal.Item
	}
	if it, ok := d.items.Get(reply.Item); ok && deal.Verb != Stack {
		reply.Worth = it.Worth
	}
	d.close(self, a, reply)
}

// close ends a deal and sends the client the reply.
func (d *dealer) close(self handle.Handle, a *Avatar, reply Reply) {
	reply.Seq, reply.Verb, reply.Items = a.Deal.Seq, a.Deal.Verb, uint32(d.bags.Count(self))
	if reply.Outcome == world.Undecided {
		reply.Outcome = world.Applied
	}
	a.Deal = Deal{}
	d.applied(d.isle, a, reply)
}
