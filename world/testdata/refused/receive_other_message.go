package refused

import "github.com/atoll-sim/atoll/world"

type (
	Attack struct{ Damage int }
	Heal   struct{ Points int }
)

// Who receives attacks gets no heals.
func receive(attacks *world.Receiver[Attack]) (all []world.Envelope[Heal]) {
	return attacks.All() // refused
}
