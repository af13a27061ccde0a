package durable

import (
	"context"
	"errors"
	"fmt"
)

// step makes a tick that was recorded.
func (d *Store) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tick := d.w.Tick()
	err := d.stepAside(context.WithoutCancel(ctx))
	if err != nil && (d.w.Err() != nil || d.w.Tick() == tick) {
		return fmt.Errorf("durable: tick %d of the log: %w", tick, err)
	}
	return nil // a system panicked, as it did when it was recorded
}

var errGoexit = errors.New("a system called runtime.Goexit")

// stepAside is Step on another goroutine: a system that calls runtime.Goexit may end it, as it did
// when the tick was recorded. It panics as Step does.
func (d *Store) stepAside(ctx context.Context) error {
	err, panicked := errGoexit, any(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		err = d.s.Step(ctx)
	}()
	<-done
	if panicked != nil {
		panic(panicked)
	}
	return err
}
