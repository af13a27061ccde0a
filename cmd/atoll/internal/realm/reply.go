package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
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
