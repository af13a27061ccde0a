package realm

import (
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
