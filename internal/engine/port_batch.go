package engine

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/queue"
)

// batch has what must be undone if requests that belong together are not accepted.
//
// Ownership: as for its Port.
type batch struct {
	err error // of the first request that was refused
	// rejected says that it was refused because there was no room, or by a rung of the ladder.
	rejected bool
	taken    []handle.Handle // given of the port's hand
	dones    []*Completion
	empty    []*Completion // those of dones whose calls had nothing to send
}

// Batch sends the requests of f in one step: all of them or, if f or one of them fails, nothing.
func (p *Port) Batch(f func() error) error {
	if f == nil {
		panic("world: Port.Batch of a nil function; pass one that sends the requests of the batch")
	}
	if err := p.begin("Port.Batch"); err != nil {
		return err
	}
	over := false
	defer func() {
		if !over { // f panicked
			p.rollback()
		}
	}()
	err := f()
	over = true
	return p.finish(err)
}

// Batching reports whether a batch is under way.
func (p *Port) Batching() bool { return p.batch != nil }

// begin begins a batch. It returns ErrFull if too many batches were not sent, or the error of a
// closed port or world: then no batch has begun.
func (p *Port) begin(call string) error {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	if err := p.unusable(); err != nil {
		return p.turnDown(err)
	}
	if p.batch != nil {
		panic(fmt.Sprintf("world: %s within a batch of port %d; batches do not nest", call, p.endpoint.Number))
	}
	if p.endpoint.TookBack(p.w.engine.Epoch.Load()) >= p.maxRequests {
		return p.turnDown(ErrFull)
	}
	p.openQueue().Begin()
	p.batch, p.spare = p.spare, nil
	if p.batch == nil {
		p.batch = new(batch)
	}
	return nil
}

// finish ends a batch: it sends it, or after an error takes it back and returns the error.
func (p *Port) finish(err error) error {
	if err == nil {
		err = p.batch.err
	}
	if err != nil {
		p.rollback()
		return err
	}
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	p.out.Commit(p.w.engine.Epoch.Load())
	p.sent()
	for _, c := range p.batch.empty {
		c.Finish(Applied)
	}
	p.endBatch()
	return nil
}

// rollback takes the batch back: its requests, its handles, which no create gets before the next
// refresh, and its Completions.
func (p *Port) rollback() {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	b := p.batch
	if staged := p.out.Rollback(); b.rejected {
		p.reject(staged)
	}
	p.endpoint.TakeBack(p.w.engine.PortSlots, b.taken, p.w.engine.Epoch.Load())
	p.out.Publish() // publishes no request, but makes the hand visible to a cleanup
	for _, c := range b.dones {
		c.disarm()
	}
	p.endBatch()
}

// endBatch ends the batch, and keeps its memory for the next one.
func (p *Port) endBatch() {
	b := p.batch
	clear(b.dones)
	clear(b.empty)
	b.err, b.rejected, b.taken, b.dones, b.empty = nil, false, b.taken[:0], b.dones[:0], b.empty[:0]
	p.batch, p.spare = nil, b
	p.notify, p.within = nil, nil
	p.special = true // so that the next call checks
}

// createN creates n entities of a bundle in one step. After an error it returns dst, and nothing is
// sent, nor is anything of the batch that it was called in.
func (p *Port) createN(b *Bundle, dst []handle.Handle, n int, f *Fill) ([]handle.Handle, error) {
	if n == 0 {
		return dst, p.nothing()
	}
	nested := p.batch != nil // then the outer batch ends
	if !nested {
		if err := p.begin("Bundle.CreateN"); err != nil {
			return dst, err
		}
	}
	over := false
	defer func() {
		switch {
		case over:
		case nested: // the panic may be recovered, and some creates are in the batch
			p.special = true
			p.batch.err = fmt.Errorf("%w: init of a Bundle.CreateN in the batch; so nothing of it is sent", ErrFailed)
		default:
			p.rollback()
		}
	}()
	err := p.ready(n, b.creating.Size())
	if err == nil && p.endpoint.Hand.Len() < n {
		err = p.draw(n)
	}
	to := dst
	if err == nil {
		if to, err = p.pushN(b, dst, n, f); err != nil {
			p.giveUp(err) // some creates are in the batch
		}
	}
	over = true
	if !nested {
		err = p.finish(err)
	}
	if err != nil {
		return dst, err
	}
	return to, nil
}

// pushN pushes n creates, for which there is room, in one record. It returns the error of the first
// that is not placed: then some are in the batch, which must be taken back.
func (p *Port) pushN(b *Bundle, dst []handle.Handle, n int, f *Fill) ([]handle.Handle, error) {
	each := max(portRun, (n+len(p.w.shards)-1)/len(p.w.shards))
	runs := (n + each - 1) / each
	if b.place != nil {
		runs = n
	}
	if n == 1 { // like sendN
		return p.push1(b, dst, f)
	}
	m := b.creating.PushMany(p.out, n, runs, 0, queue.Create, p.finisher())
	p.takeN(m.Handles)
	if b.place == nil {
		f.values(m.Values.Address, n)
		for i := 0; i < n; i += each {
			p.run = 0
			m.Place(i, p.next())
		}
		p.run = 0
	} else {
		for i := range n {
			at := b.of.At(m.Values.Address, i)
			f.values(at, 1)
			to, err := b.placed(func() int { return b.place(at) })
			if err != nil {
				return dst, err
			}
			m.Place(i, to)
		}
	}
	if f.Want {
		dst = append(dst, m.Handles...)
	}
	return dst, nil
}

// push1 is pushN for one create. After an error it is in the batch, which must be taken back.
func (p *Port) push1(b *Bundle, dst []handle.Handle, f *Fill) ([]handle.Handle, error) {
	done := p.finisher()
	h := p.take()
	r, v := b.creating.Push(p.out, h, 0, queue.Create, done)
	f.values(v.Address, 1)
	if b.place != nil {
		to, err := b.placed(func() int { return b.place(v.Address) })
		if err != nil {
			return dst, err
		}
		r.Place(to)
	} else {
		p.run = 0
		r.Place(p.next())
		p.run = 0
	}
	if f.Want {
		dst = append(dst, h)
	}
	return dst, nil
}

// takeN gives handles of the hand, which has enough, in the order of take.
func (p *Port) takeN(to []handle.Handle) {
	p.endpoint.Hand.GiveN(to)
	p.batch.taken = append(p.batch.taken, to...)
}

// DestroyN requests that entities be destroyed, in the order of their handles: all requests are
// accepted, or none.
func (p *Port) DestroyN(hs []handle.Handle) error {
	x, err := p.sendN(&queue.Destroys, hs)
	if err == nil {
		x.Done()
	}
	return err
}

// sendN pushes a request for each handle, in one record; their payloads are adjacent. Sending.Done
// publishes them. After an error none was pushed, and the batch under way is refused.
func (p *Port) sendN(k *queue.Kind, hs []handle.Handle) (Sending, error) {
	n := len(hs)
	switch n {
	case 0:
		return Sending{}, p.nothing()
	case 1: // a record of many takes more of the queue's memory than its limit counts
		return p.request(k, hs[0])
	}
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	if p.unusual() || !p.out.Room(n, k.Size()) {
		if err := p.ready(n, k.Size()); err != nil {
			return Sending{}, err
		}
	}
	m := k.PushMany(p.out, n, 0, p.w.engine.Epoch.Load(), 0, p.finisher())
	copy(m.Handles, hs)
	return Sending{To: m.Values, port: p}, nil
}

// nothing ends a call that has nothing to send: it is done now, or together with the batch. It
// returns the error that a request would get from a port, world or batch that sends nothing more.
func (p *Port) nothing() error {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	err := p.unusable()
	if err == nil && p.batch != nil {
		err = p.batch.err
	}
	if err != nil {
		return p.turnDown(err)
	}
	p.mustNotifyFree()
	c := p.notify
	done := p.finisher()
	switch {
	case p.batch == nil:
		if p.within = nil; done != nil {
			done.Finish(Applied)
		}
	case done != nil:
		p.batch.empty = append(p.batch.empty, c)
	}
	p.special = true // so that the next call checks
	return nil
}
