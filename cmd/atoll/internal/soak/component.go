package soak

import "github.com/atoll-sim/atoll/handle"

// The components. Each repeats the serial number in the entity's tag, so
// that mixed-up columns are detected.
type (
	// tag names the book that has the entity, and the place in it.
	tag      struct{ Maker, Place, Serial uint32 }
	twin     struct{ Serial uint32 }
	position struct{ X, Y float32 }
	velocity struct{ X, Y float32 }
	value    struct{ N uint32 }     // how often its client set it
	ear      struct{ Heard uint32 } // how many messages it heard
	badge    struct{ Serial uint32 }
	label    struct{ Text string } // has a pointer
)

// The bundles.
type (
	animal struct {
		tag
		twin
		position
		velocity
	}
	guest struct {
		tag
		twin
		value
		ear
	}
	veteran struct {
		tag
		twin
		ear
	}
	labelled struct{ label }
)

// The messages. N counts those of one sender to one receiver, from 1.
type (
	word  struct{ N uint32 }         // of a client to its guest
	order struct{ Client, N uint32 } // of a client to a veteran
	shout struct{ Shard, N uint32 }  // of a system to a veteran
)

// Makers: the herds have the numbers of their shards, clients theirs from
// guestMaker on.
const (
	guestMaker   = 1 << 16
	veteranMaker = 1 << 17
)

// labels are the texts of labels, by serial number.
var labels = [...]string{"amber", "beryl", "coral", "diamond", "emerald", "flint", "garnet", "hyacinth"}

func labelOf(serial uint32) label { return label{labels[serial%uint32(len(labels))]} }

// grave is the handle of an entity whose destruction was requested.
type grave struct {
	h   handle.Handle
	due uint64 // the tick from which on it must be stale
}

// graveyard keeps the newest dead handles.
type graveyard struct {
	graves []grave // a ring
	next   int
}

func newGraveyard(n int) graveyard { return graveyard{graves: make([]grave, 0, n)} }

func (g *graveyard) add(h handle.Handle, due uint64) {
	if len(g.graves) < cap(g.graves) {
		g.graves = append(g.graves, grave{h, due})
		return
	}
	g.graves[g.next] = grave{h, due}
	g.next = (g.next + 1) % len(g.graves)
}
