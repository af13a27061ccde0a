package durable

import "github.com/atoll-sim/atoll/internal/engine"

// Crash ends a Store as the death of its process would: nothing is written any more.
func (d *Store) Crash() {
	d.closed.Store(true)
	d.stop()
	d.stopped.Wait()
	d.saving <- struct{}{} // nobody saves any more
	d.log.stop(ErrClosed)
	d.log.done.Wait()
	engine.Of(d.w).KeepIncarnation(nil)
	_ = d.lock.Close()
}
