package goroutines_test

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atoll-sim/atoll/internal/goroutines"
)

func TestSettle(t *testing.T) {
	before := runtime.NumGoroutine()
	goroutines.Settle(t, before)
	go time.Sleep(20 * time.Millisecond)
	goroutines.Settle(t, before)
}

// failed is a test that fails; it takes the place of the one that runs.
type failed struct {
	testing.TB
	text string
}

func (f *failed) Fatalf(format string, _ ...any) {
	f.text = format
	runtime.Goexit()
}

// TestSettleFails has a goroutine that stays, by a clock that does not wait.
func TestSettleFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failed{TB: t}
		var done sync.WaitGroup
		done.Go(func() { goroutines.Settle(f, 0) })
		done.Wait()
		if f.text == "" {
			t.Fatal("not told of a goroutine that stays")
		}
	})
}

// TestCheck has a goroutine that ends while the test cleans up.
func TestCheck(t *testing.T) {
	t.Run("", func(t *testing.T) {
		goroutines.Check(t)
		go time.Sleep(20 * time.Millisecond)
	})
}
