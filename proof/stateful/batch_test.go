package stateful_test

import (
	"errors"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// createMany creates several entities in one step, as a port: all or none.
func (m *machine) createMany() {
	if len(m.ports) == 0 || len(m.naive.entities) >= m.most {
		return
	}
	p, b, count, first := m.ports[m.n(len(m.ports))], m.bundles[m.n(len(m.bundles))], m.n(6), m.number+1
	m.number += int64(count)
	done := m.perhapsPromise(p)
	hs, err := b.appendN(nil, p, count, first)
	if count > 0 && m.naive.takenBack[p] >= m.options.QueueRequests {
		mustErr(m, err, world.ErrFull, "AppendN after batches that were not sent", 0)
		return
	}
	waiting, limit := &m.naive.waiting, m.options.QueueRequests
	switch room := limit - (*waiting)[p.Number()]; {
	case count > room && count > 0:
		want := world.ErrFull
		if count > limit || room == limit {
			want = world.ErrTooLarge
		}
		mustErr(m, err, want, "AppendN by a port", 0)
		m.refused(count)
		return
	case m.fullIndexes(err):
		return
	}
	mustBe(m, len(hs), count, "number of handles by AppendN", 0)
	for i, h := range hs {
		m.born(h, b.parts, alike(first+int64(i)), true)
		m.accept(p.Number(), request{step: creates, do: m.storing(h), done: done})
	}
}

// changeMany destroys or sets several entities in one step, as a port: all requests are accepted
// or none.
func (m *machine) changeMany() {
	if len(m.ports) == 0 {
		return
	}
	p, hs, i, first := m.ports[m.n(len(m.ports))], make([]handle.Handle, m.n(7)), m.n(partsN), m.number+1
	m.number += int64(len(hs))
	all := make([]request, len(hs))
	done := m.perhapsPromise(p)
	destroys, n := m.n(2) == 0, m.naive
	for k := range hs {
		h := m.any()
		hs[k], all[k] = h, request{done: done, do: func() world.Outcome { return n.set(n.living(h), i, first+int64(k)) }}
		if destroys {
			all[k].do = func() world.Outcome { return n.destroy(n.alive(h)) }
		}
	}
	var err error
	if destroys {
		err = p.DestroyN(hs)
	} else {
		err = m.parts[i].setN(p, hs, first)
	}
	clear(hs)
	limit := m.options.QueueRequests
	if len(hs) > limit-n.waiting[p.Number()] {
		want := world.ErrFull
		if len(hs) > limit {
			want = world.ErrTooLarge
		}
		mustErr(m, err, want, "many requests beyond the queue's limit", 0)
		m.refused(len(hs))
		return
	}
	mustErr(m, err, nil, "many requests", 0)
	for _, q := range all {
		m.accept(p.Number(), q)
	}
}

// perhapsPromise is promise, now and then.
func (m *machine) perhapsPromise(p *world.Port) *promise {
	if m.n(3) > 0 {
		return nil
	}
	return m.promise(p)
}

// refused takes note of requests for which there was no room.
func (m *machine) refused(count int) {
	m.naive.rejected += uint64(count)
	m.total.rejected += count
}

// accept takes note of a request that was sent.
func (m *machine) accept(sender int, q request) {
	m.naive.waiting[sender]++
	q.sender = sender
	m.naive.requests = append(m.naive.requests, q)
	if q.done != nil && !slices.Contains(m.promised, q.done) {
		m.promised = append(m.promised, q.done)
	}
}

// staged is a batch under way.
type staged struct {
	*machine
	port     *world.Port
	room     int
	requests []request
	created  []handle.Handle // lapse if the batch is refused
	err      error           // of the first that was refused
}

var errChanged = errors.New("it changed its mind")

// batch does several things as a port in one step: all or none.
func (m *machine) batch() {
	if len(m.ports) == 0 {
		return
	}
	p := m.ports[m.n(len(m.ports))]
	waiting := m.naive.waiting[p.Number()]
	b := &staged{machine: m, port: p, room: m.options.QueueRequests - waiting}
	full := world.ErrFull
	if waiting == 0 {
		full = world.ErrTooLarge // the batch itself has filled the queue
	}
	err := p.Batch(func() error {
		for range m.n(5) {
			b.do(full)
		}
		if m.n(4) == 0 {
			return errChanged
		}
		return nil
	})
	switch {
	case m.naive.takenBack[p] >= m.options.QueueRequests:
		mustErr(m, err, world.ErrFull, "a batch after batches that were not sent", 0)
		return
	case b.err == nil && err == nil:
		for _, q := range b.requests {
			m.accept(p.Number(), q)
		}
		return
	case b.err != nil && !errors.Is(err, errChanged):
		mustErr(m, err, b.err, "a batch", 0)
	default:
		mustErr(m, err, errChanged, "a batch", 0)
	}
	if b.err == full {
		m.refused(len(b.requests))
	}
	for _, q := range b.requests {
		if q.done != nil {
			mustBe(m, q.done.done.Outcome(), world.Undecided, "outcome in a refused batch", 0)
		}
	}
	m.naive.withdraw(p, b.created)
}

// do adds one request to the batch.
func (b *staged) do(full error) {
	m, p, o := b.machine, b.port, b.draw()
	h, bundle := o.h(m), m.bundles[o.i%len(m.bundles)]
	done := m.awaits(p, o)
	var q request
	var err error
	switch {
	case o.verb == verbAnswer:
		o.verb = verbSend
		q, err = m.request(p, o, h)
	case o.verb == verbCreate:
		h, err = bundle.create(p, o.value)
		q = request{step: creates, do: m.storing(h)}
		if err == nil {
			m.born(h, bundle.parts, alike(o.value), true)
			b.created = append(b.created, h)
		}
	default:
		q, err = m.request(p, o, h)
	}
	if done != nil {
		q.done = done
	}
	switch {
	case b.err != nil:
		mustErr(m, err, b.err, "a request after a refused one", h)
	case len(b.requests) == b.room:
		mustErr(m, err, full, "a request beyond the queue's limit", h)
		m.refused(1)
		b.err = full
	case o.verb == verbCreate && m.fullIndexes(err):
		b.err = err
	default:
		mustErr(m, err, nil, "a request in a batch", h)
		b.requests = append(b.requests, q)
	}
}
