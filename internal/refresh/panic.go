package refresh

import "runtime/debug"

// Panic is what a refresh panics with after a panic that it cannot go on from.
type Panic struct {
	During string // what panicked
	Value  any    // what it panicked with; nil if it ended its goroutine
	Stack  []byte // where it panicked
}

// asPanic returns a recovered value as a *Panic. It is called on the goroutine where the value was
// recovered, whose stack it keeps.
func (e *Engine) asPanic(v any) *Panic {
	if p, ok := v.(*Panic); ok { // made on another goroutine
		return p
	}
	return &Panic{During: e.Extensions.During(), Value: v, Stack: debug.Stack()}
}
