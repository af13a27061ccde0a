package guide_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/world"
)

// Ticket is what a ship says when it arrives.
type Ticket struct{ Quay string }

func Example_travel() {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Vault](w, "vault")
	type vessel struct{ Vault }
	ship, _ := world.NewBundle[vessel](w).Create(w, vessel{Vault{30}})

	roads := transit.New(w, "roads", transit.Options{World: 1})
	gate := transit.RegisterGate[Ticket](roads, "harbour")
	fmt.Println(gate.Send(w, ship, 2, Ticket{"North"}))
	to, item, ok := roads.Away(w, ship)
	fmt.Println(to, item, ok)
	// Output:
	// <nil>
	// 2 1 true
}
