package extend

// Derived is what a package computes from rows, for systems and frames to read. It is not part of
// the state: it can be computed again at any time.
//
// Ownership: the coordinator, in a refresh or when a tick begins, or the idle world. What systems
// read changes only there.
type Derived interface {
	Base
	Framed
	// Update computes it again as far as rows have changed. tick is the one that begins, or runs
	// next. Update is called three times: at the end of each refresh, when rows no longer move;
	// when the tick begins, because the idle world may have changed rows; and for the same reason
	// before the idle world makes a frame. If it panics within a refresh or when a tick begins, the
	// world is broken.
	Update(tick uint64, step Step)
}

// Step runs f(0) … f(n-1), in parallel if work is enough to be worth it. If f panics, Step does.
type Step = func(n, work int, f func(int))

// Alone is the Step of one goroutine, the caller's.
func Alone(n, _ int, f func(int)) {
	for i := range n {
		f(i)
	}
}
