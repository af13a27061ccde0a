// Package leak finds goroutines that a test leaves behind.
package leak

import (
	"runtime"
	"testing"
	"time"
)

// waitMax is how long goroutines that are ending are waited for.
const waitMax = 5 * time.Second

// Check fails the test if, when it has cleaned up what it registered after this
// call, more goroutines run than now. It must not be used in parallel tests.
func Check(t testing.TB) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.Now().Add(waitMax)
		for runtime.NumGoroutine() > before {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<20)
				t.Errorf("%d goroutines are left, %d were there before:\n%s",
					runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}
