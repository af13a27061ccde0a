package soak

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// hearing is the last message of each sender to one veteran. It belongs to the shard
// that the veteran is in.
type hearing struct {
	orders []uint32 // by client
	shouts []uint32 // by shard
}

// obey receives the messages. From each sender all accepted ones must come, once and in the order
// sent.
func (s *stage) obey(b *world.Build) func(*world.Context) {
	tags, ears := world.Read[tag](b), world.Write[ear](b)
	words, orders, shouts := world.Receive[word](b), world.Receive[order](b), world.Receive[shout](b)
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		for _, e := range words.All() {
			if g := ears.Get(e.To); g != nil { // nil if it died
				s.hear(e.To, &g.Heard, e.Body.N)
			}
		}
		for _, e := range orders.All() {
			if v := s.veteran(c, tags, ears, e.To); v != nil {
				s.hear(e.To, &v.orders[e.Body.Client], e.Body.N)
			}
		}
		for _, e := range shouts.All() {
			if v := s.veteran(c, tags, ears, e.To); v != nil {
				s.hear(e.To, &v.shouts[e.Body.Shard], e.Body.N)
			}
		}
		herd.stumble()
	}
}

// hear checks that message n of a sender is the one after the last.
func (s *stage) hear(who handle.Handle, last *uint32, n uint32) {
	if n != *last+1 {
		s.violate("%v hears message %d of a sender after %d", who, n, *last)
	}
	*last = n
}

// veteran returns what a veteran received, and counts one message more.
func (s *stage) veteran(c *world.Context, tags *world.Reader[tag], ears *world.Writer[ear], h handle.Handle) *hearing {
	l := c.Locate(h)
	t, e := tags.At(l), ears.At(l)
	if t == nil || e == nil || t.Maker != veteranMaker {
		s.violate("%v, which is sent messages as a veteran, is %v", h, c.Status(h))
		return nil
	}
	e.Heard++
	return &s.hearing[t.Place]
}
