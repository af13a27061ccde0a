package clock

// counted says whether the time stamp counter runs at a constant rate, whatever the processor does.
// The processor reports that itself.
var counted = invariant()

// counter reads the time stamp counter.
//
//go:noescape
func counter() int64

// invariant asks the processor whether its time stamp counter is invariant.
//
//go:noescape
func invariant() bool
