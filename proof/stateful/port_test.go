package stateful_test

import (
	"errors"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// openPort opens a port, if there may be one more: a closed one counts until what it
// sent is applied.
func (m *machine) openPort() {
	p, err := m.OpenPort()
	if errors.Is(err, world.ErrPorts) {
		return
	}
	mustErr(m, err, nil, "OpenPort", 0)
	m.ports = append(m.ports, p)
}

// reopen closes a port, which then refuses everything, and opens another.
func (m *machine) reopen() {
	if len(m.ports) == 0 {
		m.openPort()
		return
	}
	i := m.n(len(m.ports))
	p := m.ports[i]
	p.Close()
	p.Close()
	mustErr(m, p.Destroy(m.any()), world.ErrClosed, "Destroy by a closed port", 0)
	_, err := m.bundles[0].create(p, 1)
	mustErr(m, err, world.ErrClosed, "create by a closed port", 0)
	m.ports = append(m.ports[:i], m.ports[i+1:]...)
	m.openPort()
}

// byPort does something as a port.
func (m *machine) byPort() {
	if len(m.ports) > 0 {
		m.portDoes(m.ports[m.n(len(m.ports))], m.draw())
	}
}

// portDoes does one operation as a port: at any time, within systems too.
func (m *machine) portDoes(p *world.Port, o order) {
	h := o.h(m)
	switch o.verb {
	case verbAnswer:
		mustBe(m, p.Alive(h), m.naive.alive(h) != nil, "Alive by a port", h)
		m.mustTell(p.Status(h), h, false)
		return
	case verbCreate:
		if len(m.naive.entities) < m.most {
			m.createByPort(p, o, m.awaits(p, o))
		}
		return
	}
	done := m.awaits(p, o)
	q, err := m.request(p, o, h)
	if done != nil {
		q.done = done
	}
	m.sent(p, p.Number(), err, q)
}

// mustTell compares a status. What was never given is not the naive world's affair.
// Dying is for owners and the idle world to see.
func (m *machine) mustTell(got world.Status, h handle.Handle, owner bool) {
	if !m.naive.given[h] {
		return
	}
	want := m.naive.status(h)
	if want == world.Dying && !owner {
		want = world.Alive
	}
	mustBe(m, got, want, "Status", h)
}

// createByPort creates as a port.
func (m *machine) createByPort(p *world.Port, o order, done *promise) {
	b := m.bundles[o.i%len(m.bundles)]
	h, err := b.create(p, o.value)
	if !errors.Is(err, world.ErrFull) && m.fullIndexes(err) {
		mustBe(m, h, handle.None, "a refused create", h)
		return
	}
	if m.sent(p, p.Number(), err, request{step: creates, done: done, do: m.storing(h)}); err == nil {
		m.born(h, b.parts, alike(o.value), true)
	}
}

// storing is the request that stores an entity.
func (m *machine) storing(h handle.Handle) func() world.Outcome {
	return func() world.Outcome {
		m.naive.store(h, m.naive.entities[h])
		return world.Applied
	}
}

// awaits is promise if the order says so. A question is answered anyway, and a transaction too.
func (m *machine) awaits(p *world.Port, o order) *promise {
	if o.waits && o.verb != verbAsk && o.verb != verbQuestion && o.verb != verbDeal {
		return m.promise(p)
	}
	return nil
}

// promise arms a completion for the port's next request.
func (m *machine) promise(p *world.Port) *promise {
	done := &promise{done: new(world.Completion)}
	p.Notify(done.done)
	return done
}

// request asks for something to be done to an entity, as a port or a system, and
// returns what the naive world is to do at the refresh.
func (m *machine) request(by world.Actor, o order, h handle.Handle) (q request, err error) {
	n, i, v := m.naive, o.i, o.value
	switch o.verb {
	case verbDestroy:
		do := func() world.Outcome { return n.destroy(n.alive(h)) }
		return request{do: do}, by.(interface {
			Destroy(handle.Handle) error
		}).Destroy(h)
	case verbSet:
		err = m.parts[i].set(by, h, v)
		q = request{do: func() world.Outcome { return n.set(n.living(h), i, v) }}
	case verbAdd:
		err = m.parts[i].add(by, h, v)
		q = request{moves: true, do: func() world.Outcome { return n.add(n.living(h), i, v) }}
	case verbRemove:
		err = m.parts[i].remove(by, h)
		q = request{moves: true, do: func() world.Outcome { return n.remove(n.living(h), i) }}
	case verbExchange:
		b := m.bundles[i%len(m.bundles)]
		err = b.exchange(by, h, v, m.these(o.take)...)
		q = request{moves: true, do: func() world.Outcome {
			return n.exchange(n.living(h), b.parts, o.take, v)
		}}
	case verbFlag, verbUnflag:
		q, err = m.flagging(by, h, o)
	case verbMove:
		to := i % m.options.Shards
		err = world.Move(by, h, to)
		q = request{moves: true, do: func() world.Outcome { return n.move(n.living(h), to) }}
	case verbCall:
		err = m.act.Call(by, h, v)
		q = request{do: func() world.Outcome { return m.acted(n.living(h), v) }}
	case verbAsk, verbQuestion:
		q, err = m.asks(by.(*world.Port), o, h)
	case verbDeal:
		q, err = m.deals(by, o, h)
	default:
		err = m.hit.Send(by, h, Hit{v})
		q = request{do: func() world.Outcome { return n.send(n.living(h), h, v) }}
	}
	return q, err
}

// sent takes note of a request, and of its being refused when the queue is full.
func (m *machine) sent(by world.Actor, sender int, err error, q request) {
	limit := m.options.OutboxRequests
	if _, ok := by.(*world.Context); !ok {
		limit = m.options.QueueRequests
	}
	if m.naive.waiting[sender] == limit {
		mustErr(m, err, world.ErrFull, "a request beyond the queue's limit", 0)
		m.refused(1)
		if q.done != nil {
			mustBe(m, q.done.done.Outcome(), world.Undecided, "outcome of a refused request", 0)
		}
		return
	}
	mustErr(m, err, nil, "a request", 0)
	m.accept(sender, q)
}
