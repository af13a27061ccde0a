package world

// apart applies the requests on a shard while functions are among them, aside.
//
// Ownership: the shard's worker.
type apart struct {
	aside
	r     *refresh
	shard int
	share int // the next to apply
}

func (a *apart) init(r *refresh, shard int) {
	a.r, a.shard = r, shard
	a.aside.init(func() {
		for ; a.share < len(a.r.active); a.share++ {
			a.r.active[a.share].apply(a.r.w.shards[a.shard])
		}
	})
}

// apply applies everything. A share that was left in the middle is gone on with.
func (a *apart) apply() {
	for a.share = 0; a.share < len(a.r.active); {
		a.mustCall(a.r.w)
	}
}
