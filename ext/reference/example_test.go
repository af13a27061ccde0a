package reference_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/world"
)

// A session holds its player by a share, a cache by a weak reference.
func Example() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	h, _ := units.Create(w, Unit{Health{100}})

	session := reference.Own(w, h, nil)
	cached := session.Weak()
	fmt.Println("while owned:", cached.Alive())

	session.Release()
	w.Refresh()
	fmt.Println("after the last release:", cached.Alive())
	// Output:
	// while owned: true
	// after the last release: false
}
