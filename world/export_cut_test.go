package world

// ReadApart makes refreshes read one source after the other, as they do, and call
// between when they have read one.
func (w *World) ReadApart(between func(source int)) {
	r := &w.refresh
	r.read = func(i int) {
		x := r.active[i]
		all := x.producers
		for k := range all {
			x.producers = all[k : k+1]
			x.read(r.cut)
			between(k)
		}
		x.producers = all
	}
}

// DelayEpoch takes the epoch back by one, so that what was sent is after the cut
// of the next refresh: as if it had been sent right after the refresh raised it,
// and before it looked which ports have sent.
func (w *World) DelayEpoch() { w.epoch.Store(w.epoch.Load() - 1) }

// Gather does what a refresh begins with: it cuts, calls between, and looks what was
// sent. It returns how many requests it would take.
func (w *World) Gather(between func()) (sent int) {
	_, ports := w.ports.cut(&w.epoch)
	between()
	return w.refresh.gather(ports)
}
