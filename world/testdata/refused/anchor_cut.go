package refused

import "github.com/atoll-sim/atoll/world"

// Who holds a reference cannot make all references of the world dead.
func cut(w *world.World) {
	world.AnchorOf(w).Cut() // refused
}
