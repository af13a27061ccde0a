package snapshot_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// A ship is in dock: it keeps its handle, and nothing else of it is in the world until it is back.
func ExamplePutBack() {
	type Hull struct{ Planks int }
	type ship struct{ Hull }

	w := world.MustNew(world.Options{})
	hulls, ships := world.Register[Hull](w, "hull"), world.NewBundle[ship](w)
	h, _ := ships.Create(w, ship{Hull{40}})

	dock := world.RegisterTransaction(w, "dock", func(tx *world.Tx, h handle.Handle) (*snapshot.Piece, error) {
		return snapshot.Extract(tx, snapshot.ExtractOptions{Take: true}, h)
	})
	sail := world.RegisterTransaction(w, "sail", func(tx *world.Tx, p *snapshot.Piece) (int, error) {
		return p.Len(), snapshot.PutBack(tx, p, snapshot.InsertOptions{})
	})

	piece, err := dock.Run(w, h)
	fmt.Println(err, w.Alive(h), w.Has(h, hulls))
	_, err = sail.Run(w, piece)
	fmt.Println(err, *world.Read[Hull](w).Get(h))
	// Output:
	// <nil> true false
	// <nil> {40}
}
