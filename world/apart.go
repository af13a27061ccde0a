package world

// apart applies the requests on a shard while functions are among them, aside.
//
// Ownership: the shard's worker.
type apart struct {
	aside
	r         *refresh
	shard     int
	partition int // the next to apply
}

func (a *apart) init(r *refresh, shard int) {
	a.r, a.shard = r, shard
	a.aside.init(func() {
		for ; a.partition < len(a.r.active); a.partition++ {
			a.r.active[a.partition].apply(a.r.w.shards[a.shard])
		}
	})
}

// apply applies everything. A partition that was left in the middle is gone on with.
func (a *apart) apply() {
	for a.partition = 0; a.partition < len(a.r.active); {
		a.mustCall(a.r.w)
	}
}
