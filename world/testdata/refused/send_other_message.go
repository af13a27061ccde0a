package refused

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type (
	Attack struct{ Damage int }
	Heal   struct{ Points int }
)

// An attack is not a heal.
func send(p *world.Port, to handle.Handle, attack *world.Message[Attack]) error {
	return attack.Send(p, to, Heal{3}) // refused
}
