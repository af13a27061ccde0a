package scheduler

import (
	"math/rand/v2"
	"runtime"
	"time"
)

// seed seeds the random numbers of the workers and of the refresh.
func (t *tick) seed(seed uint64) {
	for _, w := range t.workers {
		w.chance.Seed(seed, uint64(w.number))
	}
	t.chance.Seed(seed, uint64(len(t.workers)))
}

// shuffle has the worker look for programs in a random order.
func (w *worker) shuffle() {
	rand.New(&w.chance).Shuffle(len(w.mine), func(i, k int) { w.mine[i], w.mine[k] = w.mine[k], w.mine[i] })
}

// randomDelay takes a little time now and then: it sleeps, yields or is merely busy.
func randomDelay(chance *rand.PCG) {
	switch x := chance.Uint64(); {
	case x%64 == 0:
		time.Sleep(time.Duration(x>>8) % (100 * time.Microsecond))
	case x%64 < 16:
		runtime.Gosched()
	case x%64 < 32:
		for n := x >> 8 % 4096; n > 0; n-- {
			chance.Uint64()
		}
	}
}
