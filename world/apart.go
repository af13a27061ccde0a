package world

// apart applies the requests on a shard when functions are among them. It runs aside.
//
// Ownership: the shard's worker.
type apart struct {
	aside
	r         *refresh
	shard     int
	partition int // the next partition to apply
}

func (a *apart) init(r *refresh, shard int) {
	a.r, a.shard = r, shard
	a.aside.init(func() {
		for ; a.partition < len(a.r.active); a.partition++ {
			a.r.active[a.partition].apply(a.r.w.shards[a.shard])
		}
	})
}

// apply applies everything. If a function ends the goroutine in the middle of a partition, the next
// call continues after it.
func (a *apart) apply() {
	for a.partition = 0; a.partition < len(a.r.active); {
		a.mustCall(a.r.w)
	}
}
