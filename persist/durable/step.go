package durable

import (
	"context"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/internal/aside"
)

// step makes a tick that was recorded. It is over, and counts, if the world is whole and has the
// next number, whatever the user's code did in it: systems, OnTick or a Logger may panic, or end
// their goroutine, as when the tick was recorded.
func (d *Store) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tick := d.w.Tick()
	err := aside.Do("what a tick calls", func() error { return d.s.Step(context.WithoutCancel(ctx)) })
	if err != nil && (d.w.Err() != nil || d.w.Tick() == tick) {
		return fmt.Errorf("durable: tick %d of the log: %w", tick, err)
	}
	if x := (*aside.Error)(nil); errors.As(err, &x) { // not in Step's error, so no one else has told
		d.warn("a tick of the log is over, and what it calls has panicked", append(aside.Stack(err), "number", tick, "panic", x.Value)...)
	}
	return nil
}
