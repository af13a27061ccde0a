package realm

import "github.com/atoll-sim/atoll/handle"

// Position is where an entity is: from 0 to Side on the first island, and further
// on those beside it.
type Position struct{ X, Y float32 }

// Velocity is in units of length per second.
type Velocity struct{ X, Y float32 }

// Health is what an entity can take. At 0 or below it is dead: its atom goes at
// the refresh.
type Health struct{ Points int32 }

// Creature is what makes an entity a creature.
type Creature struct {
	Strength int32 // of its attacks
	Items    int32 // given to it: what it carries should be as many
}

// Item is what makes an entity an item.
type Item struct {
	Worth int32
	Sort  uint8 // items of one sort can be stacked
}

// Litter is how long an item that lies on the ground stays. It means nothing for an item that is
// carried, and neither does its Position.
type Litter struct {
	Expires uint64 // the tick in which it goes by itself; 0: it is carried since it was made
}

// Avatar is what makes an entity a client's avatar, with the realm's record of
// the client's commands. Only the island's systems write it.
type Avatar struct {
	Client uint32 // the number of the mailbox for replies
	Nth    uint32 // number of the last command that arrived
	Obeyed uint32 // commands applied
	Sum    uint64 // of the sequence numbers of those
	Deal   Deal   // under way
}

// Deal is what an avatar wants to do with its inventory: to Take, Stack or Trade.
type Deal struct {
	Open   bool // under way
	Verb   Verb
	Seq    uint32
	Target handle.Handle // as commanded
	Item   handle.Handle // what is to be moved
	Other  handle.Handle // Stack: onto what; Trade: in exchange for what
	Due    uint64        // the tick in which the relation has the result; 0: no request was sent yet
}

// Stance is an avatar's way to fight. Clients set it directly.
type Stance struct{ Fierce bool }

// Den is the one entity of each island that every other island knows.
type Den struct{ Island uint32 }

// The bundles of the kinds.
type (
	creature struct {
		Position
		Velocity
		Health
		Creature
	}
	item struct {
		Position
		Item
		Litter
	}
	avatar struct {
		Position
		Velocity
		Health
		Stance
		Avatar
	}
	den struct{ Den }
)
