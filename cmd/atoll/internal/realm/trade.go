package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// trade gives items to the avatars that asked for them. The item is destroyed on
// its own island, by its own systems, and what it was goes to the avatar as a
// message:
//
//	tick t     the avatar's island    obey     ask  ──▶ item
//	tick t+1   the item's island      trade    give ──▶ avatar
//	tick t+2   the avatar's island    trade    reply to the client
//
// An item that dies meanwhile never gets the ask; so in tick t+2 no answer means
// that there is none.
func (r *Realm) trade(b *world.Build) func(*world.Context) {
	items, avatars := world.Write[Item](b), world.Write[Avatar](b)
	asked, given := world.Receive[ask](b), world.Receive[give](b)
	all, isle := b.Query(avatars), r.island(b)
	return func(c *world.Context) {
		for _, e := range asked.All() {
			r.offer(c, isle, e.To, items.Get(e.To), e.Body)
		}
		for _, e := range given.All() {
			if a := avatars.Get(e.To); a != nil && a.Pick.Seq == e.Body.Seq {
				r.close(isle, a, e.Body)
			}
		}
		for ch := range all.Chunks() {
			for i := range avatars.Slice(ch) {
				if a := &avatars.Slice(ch)[i]; a.Pick.Item != handle.None && a.Pick.Due <= c.Tick() {
					r.close(isle, a, give{})
				}
			}
		}
	}
}

// offer gives an item to who asks first. Should the answer not go out, the item
// stays.
func (r *Realm) offer(c *world.Context, isle *island, h handle.Handle, it *Item, by ask) {
	answer := give{Item: h, Seq: by.Seq}
	if it != nil && !it.Leaving {
		answer.Worth, answer.Given = it.Worth, true
	}
	if isle.sent(r.gives.Send(c, by.By, answer)) && answer.Given {
		isle.remove(c, h, it)
	}
}

// close ends an avatar's pick and tells its client.
func (r *Realm) close(isle *island, a *Avatar, got give) {
	reply := Reply{Seq: a.Pick.Seq, Verb: Take, Outcome: world.Applied}
	if got.Given {
		a.Items++
		reply.Item, reply.Worth = got.Item, got.Worth
	}
	reply.Items = a.Items
	a.Pick = Pick{}
	r.applied(isle, a, reply)
}

// remove marks an item, once.
func (i *island) remove(c *world.Context, h handle.Handle, it *Item) {
	it.Leaving = true
	must(c.Destroy(h))
	i.destroyed(Items, h)
}
