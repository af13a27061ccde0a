package realm

import "github.com/atoll-sim/atoll/handle"

// Verb is what a client commands.
type Verb uint8

// The verbs.
const (
	Steer  Verb = iota // set the avatar's velocity
	Attack             // hit the target, or whoever is near
	Take               // take the target, or an item that is near
	Stack              // put an item that the avatar carries onto another of its sort
	Trade              // exchange an item with the target, or whoever is near
	Look               // tell of the target, or of the avatar and what is near
	Where              // tell where the avatar is
)

// Command is the message that brings a client's command to its avatar. Commands
// are numbered from 1 for each avatar, so that the avatar can tell one that is
// missing or came twice.
type Command struct {
	Verb   Verb
	Client uint32 // whose mailbox wants the reply
	Seq    uint32 // the client's number for it
	Nth    uint32 // the avatar's number for it
	X, Y   float32
	Target handle.Handle // none: whatever is near
}

// The messages between systems.
type (
	// blow is an attack on an entity anywhere.
	blow struct {
		From     handle.Handle
		Damage   int32
		ByAvatar bool
	}
	// rumour tells a den of an entity on another island.
	rumour struct{ Who handle.Handle }
)
