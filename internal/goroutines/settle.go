// Package goroutines counts goroutines in tests.
package goroutines

import (
	"runtime"
	"testing"
	"time"
)

// patience is how long Settle waits; it is used up only by a test that fails.
const patience = time.Minute

// Settle waits until there are no more goroutines than before, a number that
// runtime.NumGoroutine gave, and fails the test if that takes too long. A goroutine
// that has told that it is done may still be there for a moment.
func Settle(t testing.TB, before int) {
	t.Helper()
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines stay behind:\n%s", runtime.NumGoroutine()-before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// Check settles with the number of goroutines there are now, when the test has cleaned
// up what it registers after this call. It must not be used in parallel tests.
func Check(t testing.TB) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() { Settle(t, before) })
}
