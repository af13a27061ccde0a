// Package goroutines counts goroutines in tests.
package goroutines

import (
	"runtime"
	"testing"
	"time"
)

// patience is how long Settle waits; it is used up only by a test that fails.
const patience = 10 * time.Second

// Settle waits until there are no more goroutines than before, a number that
// runtime.NumGoroutine gave, and fails the test if that takes too long. A goroutine
// that has told that it is done may still be there for a moment.
func Settle(t testing.TB, before int) {
	t.Helper()
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines stay behind", runtime.NumGoroutine()-before)
		}
	}
}
