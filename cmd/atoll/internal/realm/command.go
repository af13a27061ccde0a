package realm

import "github.com/atoll-sim/atoll/handle"

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
