package world_test

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// A trade: both have had it, or nothing has happened. Nothing comes in between.
func ExampleRegisterTransaction() {
	type Purse struct{ Gold int }
	type Player struct{ Purse }
	type Deal struct {
		Buyer, Seller handle.Handle
		Price         int
	}
	errPoor := errors.New("not enough gold")
	w := world.MustNew(world.Options{})
	purse := world.Register[Purse](w, "purse")
	trade := world.RegisterTransaction(w, "trade", func(tx *world.Tx, d Deal) (left int, err error) {
		buyer, seller := purse.Edit(tx, d.Buyer), purse.Edit(tx, d.Seller)
		if buyer == nil || seller == nil {
			return 0, world.ErrStale
		}
		buyer.Gold -= d.Price
		seller.Gold += d.Price
		if buyer.Gold < 0 {
			return 0, errPoor // and all is as before
		}
		return buyer.Gold, nil
	})
	players := world.NewBundle[Player](w)
	ada, _ := players.Create(w, Player{Purse{10}})
	bob, _ := players.Create(w, Player{Purse{0}})

	port, _ := w.OpenPort()
	var first, second world.Answer[int]
	_ = trade.Send(port, Deal{ada, bob, 7}, &first)
	_ = trade.Send(port, Deal{ada, bob, 7}, &second)
	w.Refresh()
	fmt.Println(first.Value())
	fmt.Println(second.Outcome())
	fmt.Println(*world.Read[Purse](w).Get(ada), *world.Read[Purse](w).Get(bob))
	// Output:
	// 3 true
	// refused
	// {3} {7}
}

// A goroutine outside of the ticks asks, and waits for what the transaction returns.
func ExampleTransaction() {
	w := world.MustNew(world.Options{})
	sleepers := world.RegisterResource(w, "sleepers", 0)
	sleep := world.RegisterTransaction(w, "sleep", func(tx *world.Tx, who string) (string, error) {
		*sleepers.Edit(tx)++
		return fmt.Sprintf("%s is number %d", who, *sleepers.Edit(tx)), nil
	})
	wake := world.RegisterTransaction(w, "wake", func(tx *world.Tx, who string) (struct{}, error) {
		_, err := sleep.Run(tx, who) // a part of this one
		return struct{}{}, errors.Join(err, errors.New("nobody wakes"))
	})
	fmt.Println(sleep.Run(w, "Ada")) // on an idle world at once
	fmt.Println(wake.Call(w, "Bob"))
	fmt.Println(sleepers.Get())
	// Output:
	// Ada is number 1 <nil>
	// nobody wakes
	// 1
}

// What a transaction can do: everything that an idle world can, on any entity. Its reads see it.
func ExampleTx() {
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	old, _ := units.Create(w, Unit{Health{10}})
	replace := world.RegisterTransaction(w, "replace", func(tx *world.Tx, h handle.Handle) (handle.Handle, error) {
		had, ok := health.Get(tx, h)
		if !ok {
			return handle.None, world.ErrStale
		}
		made, err := units.Create(tx, Unit{Health{had.Points * 2}})
		fmt.Println(tx.Alive(made), w.Alive(made)) // it is there for the transaction alone
		return made, errors.Join(err, tx.Destroy(h))
	})
	port, _ := w.OpenPort()
	var answer world.Answer[handle.Handle]
	_ = replace.Send(port, old, &answer)
	w.Refresh()
	made, _ := answer.Value()
	fmt.Println(w.Alive(old), *world.Read[Health](w).Get(made))
	// Output:
	// true false
	// false {20}
}
