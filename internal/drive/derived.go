package drive

// Derived is what a package computes from rows, for systems and frames to read. It is no state: it
// can be computed again at any time.
//
// Ownership: the coordinator, in a refresh or when a tick begins, or the idle world. What systems
// read changes only there.
type Derived interface {
	Framed
	// Update computes it again as far as rows have changed. tick is the one that begins, or runs next.
	// It is called at the end of each refresh, when rows stay where they are, and again when the tick
	// begins, and before the idle world makes a frame, because the idle world may have changed. If it
	// panics within a refresh or at the begin of a tick, the world is broken.
	Update(tick uint64, step Step)
}

// Step runs f(0) … f(n-1), in parallel if that is worth while for so much work. If f panics, Step does.
type Step = func(n, work int, f func(int))

// Alone is the Step of one goroutine.
func Alone(n, _ int, f func(int)) {
	for i := range n {
		f(i)
	}
}
