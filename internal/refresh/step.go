package refresh

import (
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
)

// smallStep is the amount of work in a step of the refresh below which the coordinator does it
// alone: waking a worker costs more.
const smallStep = 512

// Serial is the extend.Parallel of one goroutine, the caller's.
func Serial(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

// sum adds up what of returns for the shards.
func (e *Engine) sum(of func(*store.Shard) int) int {
	n := 0
	for _, s := range e.Shards {
		n += of(s)
	}
	return n
}

// step runs f in parallel if there is enough work, on one goroutine if there is little, and not at
// all if there is none. The coordinator calls it, and waits. It is small enough to be inlined: most
// steps of most refreshes have none.
func (e *Engine) step(step extend.RefreshStep, parallel extend.Parallel, n, work int, f func(int)) {
	if work != 0 {
		e.run(step, parallel, n, work, f)
	}
}

// run is step if there is work. A panic of f goes on here, when all parts have ended.
func (e *Engine) run(step extend.RefreshStep, parallel extend.Parallel, n, work int, f func(int)) {
	e.Times.begin(step)
	switch {
	case work < smallStep || n == 1:
		Serial(n, f)
	default:
		e.part = f
		parallel(n, e.guarded)
		if p := e.recovered.Load(); p != nil {
			panic(p)
		}
	}
}

// guard runs part i of a step that runs in parallel, on a worker. It keeps the first panic for the
// coordinator, which goes on with it.
func (e *Engine) guard(i int) {
	done := false
	defer func() {
		if !done {
			e.recovered.CompareAndSwap(nil, e.asPanic(recover()))
		}
	}()
	e.part(i)
	done = true
}
