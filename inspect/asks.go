package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/world"
)

// asks are functions that must read the idle world. One function of Scheduler.Between calls all
// that wait.
//
// Ownership: mu guards the fields after it.
type asks struct {
	x       *Inspector
	mu      sync.Mutex
	waiting []*ask
	sent    bool // a function of Between will call those that wait
}

// ask is a function that waits.
type ask struct {
	f    func(*world.World)
	done chan error // holds one
}

func (a *asks) init(x *Inspector) { a.x = x }

var errStands = busy(http.StatusServiceUnavailable, "no tick has ended for 2 seconds: the world is stuck, or nobody runs it; ask again later")

var errClosed = refuse(http.StatusServiceUnavailable, "the inspector or its world is closed")

// do has f called between two ticks and waits for it. If the context ends first, f was not called
// and will not be, or it has returned.
func (a *asks) do(ctx context.Context, f func(*world.World)) error {
	ctx, cancel := context.WithTimeout(ctx, waitMax)
	defer cancel()
	x := &ask{f, make(chan error, 1)}
	if err := a.enter(x); err != nil {
		return err
	}
	select {
	case err := <-x.done:
		return err
	case <-ctx.Done():
	}
	a.mu.Lock()
	i := slices.Index(a.waiting, x)
	if i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	a.mu.Unlock()
	if i < 0 { // it is running
		return <-x.done
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errStands
	}
	return ctx.Err()
}

// enter adds a function to those that wait.
func (a *asks) enter(x *ask) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.x.ctx.Err() != nil {
		return errClosed
	}
	if !a.sent {
		if !a.x.work.start(a.send) {
			return errClosed
		}
		a.sent = true
	}
	a.waiting = append(a.waiting, x)
	return nil
}

// send has the waiting functions called.
func (a *asks) send() {
	select {
	case err := <-a.x.s.Between(a.serve):
		if err != nil {
			a.fail(err)
		}
	case <-a.x.ctx.Done():
		a.fail(errClosed)
	}
}

// take removes and returns the waiting functions.
func (a *asks) take() []*ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.waiting
	a.waiting, a.sent = nil, false
	return all
}

// serve calls the waiting functions.
func (a *asks) serve(w *world.World) {
	for _, x := range a.take() {
		x.done <- x.call(w)
	}
}

// call recovers a panic of f, so that the other functions are still called.
func (x *ask) call(w *world.World) (err error) {
	returned := false
	defer func() {
		if !returned {
			err = fmt.Errorf("inspect: looking at the world panicked: %v", recover())
		}
	}()
	x.f(w)
	returned = true
	return nil
}

// fail answers the waiting functions with the error of Between.
func (a *asks) fail(err error) {
	switch {
	case errors.Is(err, world.ErrFull):
		err = busy(http.StatusServiceUnavailable, err.Error())
	case a.x.w.Err() != nil:
		err = errClosed
		a.x.end()
	}
	for _, x := range a.take() {
		x.done <- err
	}
}
