package snapshot

import (
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// spread calls f(0) … f(n-1) on some goroutines. It returns the error with the lowest number.
func spread(workers, n int, f func(i int) error) error {
	var next atomic.Int64
	var wrong wrong
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for !wrong.any.Load() {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				wrong.watch(i, func() error { return f(int(i)) })
			}
		})
	}
	all.Wait()
	return wrong.first()
}

// wrong is the first failure, by number, of work on several goroutines.
type wrong struct {
	any      atomic.Bool
	mu       sync.Mutex
	at       int64
	err      error
	panicked any
}

// watch calls a function that may fail or panic.
func (w *wrong) watch(at int64, f func() error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			w.note(at, nil, v)
		} else if !returned {
			w.note(at, format.ErrGoexit, nil)
		}
	}()
	err := f()
	if returned = true; err != nil {
		w.note(at, err, nil)
	}
}

func (w *wrong) note(at int64, err error, v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.any.Swap(true) || at < w.at {
		w.at, w.err, w.panicked = at, err, v
	}
}

// first returns the error, or repeats the panic, when all goroutines are done.
func (w *wrong) first() error {
	if w.panicked != nil {
		panic(w.panicked)
	}
	return w.err
}
