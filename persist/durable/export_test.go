package durable

import (
	"os"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
)

// Sealed says that each Open has Options.Sync, so that each test runs in that way too:
// ATOLL_SEALED=1 go test -count=1 ./persist/durable. The cache of the go command does not know the
// variable.
var Sealed = os.Getenv("ATOLL_SEALED") != ""

func init() { syncAlways = Sealed }

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

// Measured calls add with each figure of a Store.
func (s *Store) Measured(add func(name string, value float64)) {
	measured{s}.Measure(func(x extend.Measured) { add(x.Name, x.Value) })
}

// Fail ends the log as an error of the disk does.
func (s *Store) Fail(err error) { s.log.stop(err) }
