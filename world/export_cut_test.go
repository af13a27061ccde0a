package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// probe is a kind of request that calls a function when a refresh reads it.
type probe struct{ f func() }

func (p probe) Next() any { p.f(); return nil }
func (probe) Size() int   { return 0 }
func (probe) Release()    {}
func (probe) Apply(*shard.Shard, handle.Handle, shard.Loc, any) shard.Outcome {
	return shard.Applied
}

// Probe sends a request that calls f when a refresh reads the port's lane.
func (p *Port) Probe(f func()) error {
	if err := p.room(0); err != nil {
		return err
	}
	p.lane.Send(shard.Request{Stream: probe{f}, Epoch: p.w.epoch.Load()}, 0)
	p.activate()
	return nil
}

// DelayEpoch takes the epoch back by one, so that what was sent is after the cut
// of the next refresh: as if it had been sent right after the refresh raised it,
// and before it looked which ports have sent.
func (w *World) DelayEpoch() { w.epoch.Store(w.epoch.Load() - 1) }
