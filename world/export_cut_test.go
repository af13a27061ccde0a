package world

// WhenRead makes refreshes call f when they have read a queue.
func (w *World) WhenRead(f func(source int)) { w.engine.Meanwhile.Read = f }

// WhenCut makes refreshes call f when the epoch is over, before they look which ports have sent.
func (w *World) WhenCut(f func()) { w.engine.Meanwhile.Cut = f }

// DelayEpoch takes the epoch back by one, so that what was sent is after the cut
// of the next refresh: as if it had been sent right after the refresh raised it,
// and before it looked which ports have sent.
func (w *World) DelayEpoch() { w.engine.Epoch.Store(w.engine.Epoch.Load() - 1) }
