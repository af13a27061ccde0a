// Package seed draws the seeds of tests with random input.
package seed

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// Variable is the environment variable that decides the seeds. Tests that run with the same value
// draw the same.
const Variable = "ATOLL_SEED"

var (
	mu     sync.Mutex
	drawn  = map[string]*rand.Rand{} // by test that runs: what its seeds are drawn from
	number = sync.OnceValues(func() (n uint64, set bool) {
		text, set := os.LookupEnv(Variable)
		n, err := strconv.ParseUint(text, 10, 64)
		if set && err != nil {
			panic(fmt.Sprintf("%s is %q; want a number from 0 to 2⁶⁴-1", Variable, text))
		}
		return n, set
	})
)

// Of returns a seed, another one at each call of a test. The test logs how to get the same seeds
// again. Of is safe for concurrent use. It panics if the variable is no number.
func Of(t testing.TB) uint64 {
	mu.Lock()
	defer mu.Unlock()
	name := t.Name()
	from := drawn[name]
	if from == nil {
		n, set := number()
		if !set {
			n = rand.Uint64()
		}
		t.Logf("random input: %s=%d draws it again", Variable, n)
		from = rand.New(rand.NewPCG(n, 0))
		drawn[name] = from
		t.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			delete(drawn, name)
		})
	}
	return from.Uint64()
}
