package world

import "sync"

// apart applies the requests on a shard while functions are among them: on a
// goroutine of its own, because a function may end the one that it runs on, as a
// test that fails does, and a refresh has to be completed.
//
// Ownership: the shard's worker, which waits for that goroutine.
type apart struct {
	r     *refresh
	shard int
	share int // the next to apply
	run   func()
	wait  sync.WaitGroup
}

func (a *apart) init(r *refresh, shard int) {
	a.r, a.shard = r, shard
	a.run = func() { // bound once: made at each refresh it would be garbage
		defer a.wait.Done()
		for ; a.share < len(a.r.shares); a.share++ {
			a.r.shares[a.share].apply(a.r.w.shards[a.shard])
		}
	}
}

// apply applies everything. A share that was left in the middle is gone on with.
func (a *apart) apply() {
	for a.share = 0; a.share < len(a.r.shares); {
		a.wait.Add(1)
		go a.run()
		a.wait.Wait()
	}
}
