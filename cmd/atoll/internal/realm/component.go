package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

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

// Kind is what an entity is.
type Kind uint8

// The kinds of entities. The zero Kind is nothing.
const (
	Nothing Kind = iota
	Creatures
	Items
	Avatars
	Dens  // one for each island: where rumours arrive
	kinds // how many there are, with the zero Kind
)

// AllKinds lists the kinds in order.
var AllKinds = []Kind{Creatures, Items, Avatars, Dens}

// String returns the kind in the plural.
func (k Kind) String() string {
	if k >= kinds {
		return "unknown"
	}
	return [...]string{"nothing", "creatures", "items", "avatars", "dens"}[k]
}

// One returns the kind in the singular.
func (k Kind) One() string {
	if k >= kinds {
		return "unknown"
	}
	return [...]string{"nothing", "creature", "item", "avatar", "den"}[k]
}

// The rules of the game. Periods are in ticks.
const (
	creatureSpeed  = 12  // units per second, at most, in each direction
	creatureHealth = 100 // points
	strengthMin    = 15  // points of damage
	strengthMax    = 35
	turnPeriod     = 32   // a creature changes its direction
	attackPeriod   = 16   // a creature attacks
	rumourPeople   = 1000 // for each so many on an island, or part of them, one rumour a tick

	carryOdds = 2  // one of so many creatures carries an item
	placesMax = 8  // items in an inventory, or on another
	itemLife  = 40 // ticks until an item on the ground goes by itself
	itemSorts = 4
	worthMax  = 99

	// AvatarSpeed is how fast an avatar steered by 1 is, in units per second.
	AvatarSpeed    = 40
	avatarHealth   = 400
	avatarStrength = 30
	fierceStrength = 60 // of an avatar with a fierce stance
)

// Verb is the kind of a client's command.
type Verb uint8

// The verbs.
const (
	Steer  Verb = iota // set the avatar's velocity
	Attack             // hit the target, or an entity nearby
	Take               // take the target, or an item that is near
	Stack              // put an item that the avatar carries onto another of its sort
	Trade              // exchange an item with the target, or with an entity nearby
	Look               // report the target, or the avatar and what is near it
	Where              // report where the avatar is
)

// Command is the message that brings a client's command to its avatar. Commands
// are numbered from 1 for each avatar, so that the avatar can detect one that is
// missing or came twice.
type Command struct {
	Verb   Verb
	Client uint32 // the number of the mailbox for the reply
	Seq    uint32 // the client's number for it
	Nth    uint32 // the avatar's number for it
	X, Y   float32
	Target handle.Handle // none: an entity nearby
}

// The messages between systems.
type (
	// blow is an attack on an entity anywhere.
	blow struct {
		From     handle.Handle
		Damage   int32
		ByAvatar bool
	}
	// rumour gives a den an entity on another island.
	rumour struct{ Who handle.Handle }
)

// Reply is a message from an island to a client: the outcome of a command, or the death of its
// avatar. Which fields are set depends on the verb.
type Reply struct {
	Death   bool          // not the outcome of a command: the avatar Who died
	Verb    Verb          // of the command
	Outcome world.Outcome // Applied; Gone: too late; Refused: an outbox was full
	Busy    bool          // Take, Stack, Trade: an earlier one was still under way
	Full    bool          // Take: no place is free
	Self    bool          // Look: the target is the avatar itself
	Kind    Kind          // Look: of the target
	Seq     uint32
	Who     handle.Handle // Attack: the target; Look: the target or a creature that is near, or none
	Item    handle.Handle // Take, Stack: what; Trade: what was got; Look: an item that is near; none if nothing
	Other   handle.Handle // Stack: onto what; Trade: what was given
	X, Y    float32       // Steer, Look, Where
	Points  int32         // Look
	Worth   int32         // Take, Trade: of the item
	Items   uint32        // Take, Stack, Trade, Look: how many places of the inventory are taken
}
