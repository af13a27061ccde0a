package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What leaves the world goes through an output, and comes out when the tick is done.
func ExampleRegisterOutput() {
	type Said struct {
		Who  handle.Handle
		Text string
	}
	w := world.MustNew(world.Options{})
	said := world.RegisterOutput[Said](w, "said")
	said.Handle(func(at world.Moment, v Said) { fmt.Println(at, v.Text) }) // to a socket, say
	say := world.RegisterFunc(w, "say", func(self *world.EntityContext, text string) {
		_ = said.Put(self, Said{self.Handle(), text})
	})
	world.Register[Health](w, "health")
	ada, _ := world.NewBundle[Unit](w).Create(w, Unit{})
	port, _ := w.OpenPort()
	_ = say.Call(port, ada, "Hello.")
	_ = say.Call(port, ada, "Is anybody there?")
	fmt.Println("not yet")
	w.Refresh()
	// Output:
	// not yet
	// {1 0 0} Hello.
	// {1 0 1} Is anybody there?
}

// A transaction that fails says nothing.
func ExampleOutput_Put() {
	w := world.MustNew(world.Options{})
	sold := world.RegisterOutput[string](w, "sold")
	sold.Handle(func(_ world.Moment, what string) { fmt.Println("sold:", what) })
	stock := world.RegisterResource(w, "stock", 1)
	sell := world.RegisterTransaction(w, "sell", func(tx *world.Tx, what string) (int, error) {
		left := stock.Edit(tx)
		err := sold.Put(tx, what)
		if *left--; *left < 0 {
			err = world.ErrMissing
		}
		return *left, err
	})
	port, _ := w.OpenPort()
	_ = sell.Call(port, "a lamp")
	_ = sell.Call(port, "another lamp")
	w.Refresh()
	// Output:
	// sold: a lamp
}

// A service outside keeps the newest moment with what it has, and so knows what it has seen.
func ExampleMoment() {
	w := world.MustNew(world.Options{})
	paid := world.RegisterOutput[int](w, "paid")
	ledger := map[world.Moment]int{}
	paid.Handle(func(at world.Moment, sum int) { ledger[at] = sum })
	_ = paid.Put(w, 10)
	_ = paid.Put(w, 20)
	w.Refresh()
	_ = paid.Put(w, 30)
	w.Refresh()
	fmt.Println(ledger)
	// Output:
	// map[{1 0 0}:10 {1 0 1}:20 {1 1 0}:30]
}

// The values of all outputs are handled in one order.
func ExampleOutput() {
	w := world.MustNew(world.Options{})
	joined, left := world.RegisterOutput[string](w, "joined"), world.RegisterOutput[string](w, "left")
	joined.Handle(func(_ world.Moment, who string) { fmt.Println(who, "joined") })
	left.Handle(func(_ world.Moment, who string) { fmt.Println(who, "left") })
	_ = joined.Put(w, "Ada")
	_ = left.Put(w, "Ada")
	_ = joined.Put(w, "Bob")
	w.Refresh()
	// Output:
	// Ada joined
	// Ada left
	// Bob joined
}
