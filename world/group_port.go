package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
)

// This file is how a port makes a group.

// beginByPort begins a batch, unless one is under way, in which there is room for the group.
func (g *group) beginByPort(p *Port, call string, m drive.Making, dst []handle.Handle) (drive.Making, []handle.Handle, error) {
	g.check(p, call)
	if p.batch == nil {
		if err := p.begin(call); err != nil {
			return m, dst, err
		}
		m.Batch = true
	}
	over := false
	defer func() {
		if !over && m.Batch { // false: a Completion was not free
			p.rollback()
		}
	}()
	to, err := p.reserve(g, dst)
	over = true
	if err != nil {
		return m, dst, g.End(&m, err)
	}
	if m.Shard < 0 {
		m.Shard = p.next()
		p.run = max(0, p.run-int32(len(g.of))+1)
	}
	return m, to, nil
}

// reserve makes sure that there is room and enough handles, and returns the handles in the order of
// take.
func (p *Port) reserve(g *group, dst []handle.Handle) ([]handle.Handle, error) {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	if p.unusual() || !p.out.Room(g.requests, g.average) {
		if err := p.ready(g.requests, g.average); err != nil {
			return dst, err
		}
	}
	if p.endpoint.Hand.Len() < len(g.of) {
		if err := p.draw(len(g.of)); err != nil {
			return dst, err
		}
	}
	for i := range g.of {
		dst = append(dst, p.endpoint.Hand.Next(i))
	}
	return dst, nil
}

// createFor sends the create of a bundle at v, for which there is room and a handle.
func (b *bundle) createFor(p *Port, shard int, v mem.Address) {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	done := p.finisher() // may panic, so before the handle is taken
	r, to := b.creating.Push(p.out, p.take(), p.w.engine.Epoch.Load(), queue.Create, done)
	r.Place(shard)
	b.of.Copy(to.Address, v, 1)
}
