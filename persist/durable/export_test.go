package durable

import "github.com/atoll-sim/atoll/internal/engine"

// Crash ends a Store as the death of its process would: nothing is written any more.
func (s *Store) Crash() {
	s.closed.Store(true)
	s.stop()
	s.stopped.Wait()
	s.saving <- struct{}{} // nobody saves any more
	s.log.stop(ErrClosed)
	s.log.done.Wait()
	engine.Of(s.w).KeepIncarnation(nil)
	_ = s.lock.Close()
}
