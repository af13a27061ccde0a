package guide_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Paid is what a Pay led to.
	Paid struct {
		Left    uint64
		Refused bool
	}
	// Account keeps the last Pay, also one that was refused.
	Account struct {
		Coins, Last uint64
		Paid
	}
)

// A refusal that is kept: the second time it is not tried again, although there are coins by then.
func Example_refusalKept() {
	w := world.MustNew(world.Options{Shards: 1})
	accounts := world.Register[Account](w, "account")
	h := handle.None
	pay := world.RegisterTransaction(w, "pay", func(tx *world.Tx, p Pay) (Paid, error) {
		own := accounts.Edit(tx, p.Player)
		if own == nil {
			return Paid{}, world.ErrStale
		}
		if p.Number <= own.Last {
			return Paid{own.Left, own.Refused}, nil // it was decided
		}
		own.Last, own.Refused = p.Number, own.Coins < p.Coins
		if !own.Refused {
			own.Coins -= p.Coins
		}
		own.Left = own.Coins
		return own.Paid, nil
	})
	h, _ = world.NewBundle[struct{ Account }](w).Create(w, struct{ Account }{Account{Coins: 10}})
	fmt.Println(pay.Run(w, Pay{h, 1, 50}))
	world.Write[Account](w).Get(h).Coins = 100
	fmt.Println(pay.Run(w, Pay{h, 1, 50}))
	fmt.Println(pay.Run(w, Pay{h, 2, 50}))
	// Output:
	// {10 true} <nil>
	// {10 true} <nil>
	// {50 false} <nil>
}
