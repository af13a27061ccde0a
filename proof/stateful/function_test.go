package stateful_test

import (
	"errors"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What the function does beside writing a component and a flag, by its argument.
const (
	dies = iota
	breeds
	panics
	ways = 10 // any other: nothing
)

// flagsOf are the flags that go with a number.
func flagsOf(v int64) world.Flags { return 1 << (v >> 3 % 4) }

// registerFunctions registers a function and a question.
func (m *machine) registerFunctions() {
	m.act = world.RegisterFunc(m.World, "act", func(self *world.EntityContext, v int64) {
		h := self.Handle()
		m.parts[v%partsN].write(self, v)
		mustErr(m, world.AddFlags(self, h, flagsOf(v)), nil, "AddFlags by a function", h)
		switch v % ways {
		case dies:
			mustErr(m, self.Destroy(h), nil, "Destroy by a function", h)
		case breeds:
			if child, err := m.bundles[0].create(self, v); !m.fullIndexes(err) {
				m.naive.children[v] = child
			}
		case panics:
			panic(errAsked)
		}
	})
	m.sum = world.RegisterQuestion(m.World, "sum", func(self *world.EntityContext, v int64) int64 {
		for _, p := range m.parts {
			if x, ok := p.read(self); ok {
				v += x
			}
		}
		return v
	})
}

var errAsked = errors.New("the function was asked to panic")

// acted is what the function does to an entity.
func (m *machine) acted(e *entity, v int64) world.Outcome {
	if e == nil {
		return world.Gone
	}
	n := m.naive
	n.write(e, int(v%partsN), v)
	n.flag(e, flagsOf(v), 0)
	switch v % ways {
	case dies:
		n.destroy(e)
	case breeds:
		if h, ok := n.children[v]; ok {
			delete(n.children, v)
			m.born(h, m.bundles[0].parts, alike(v), false)
			n.entities[h].fresh = n.within // a Clear that destroys it at once leaves no trace
		}
	case panics:
		return world.Failed
	}
	return world.Applied
}

// mustPanic checks that a tick returned no error but of functions that were asked to
// panic.
func (m *machine) mustPanic(err error) {
	if err == nil {
		return
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		m.fail("in a tick: %v", err)
	}
	for _, e := range joined.Unwrap() {
		var system *world.PanicError
		if errors.As(e, &system) && system.In == "system" || !errors.Is(e, errAsked) {
			m.fail("in a tick: %v", e)
		}
	}
}

// call calls the function on the idle world. A panic would be the caller's.
func (m *machine) call() {
	h, v := m.any(), m.next()
	for v%ways == panics {
		v = m.next()
	}
	m.atOnce(m.act.Call(m.World, h, v), m.acted(m.naive.alive(h), v), "Call", h)
}

func (m *machine) flag() {
	h, o := m.any(), order{verb: verbFlag + verb(m.n(2)), value: int64(m.n(256))}
	q, err := m.flagging(m.World, h, o)
	e := m.naive.alive(h)
	if e != nil && e.marked { // it can be changed until it goes
		e.marked = false
		defer func() { e.marked = true }()
	}
	m.atOnce(err, q.do(), "AddFlags or RemoveFlags", h)
}

// flagging gives or takes the flags of an order.
func (m *machine) flagging(by world.Actor, h handle.Handle, o order) (q request, err error) {
	f := world.Flags(o.value)
	if o.verb == verbFlag {
		err = world.AddFlags(by, h, f)
		return request{do: func() world.Outcome { return m.naive.flag(m.naive.living(h), f, 0) }}, err
	}
	err = world.RemoveFlags(by, h, f)
	return request{do: func() world.Outcome { return m.naive.flag(m.naive.living(h), 0, f) }}, err
}

// asks asks for a component, or a question.
func (m *machine) asks(p *world.Port, o order, h handle.Handle) (q request, err error) {
	n := m.naive
	if o.verb == verbAsk {
		done, err := m.parts[o.i].inquire(p, h)
		return request{done: done, do: func() world.Outcome {
			e := n.living(h)
			switch {
			case e == nil:
				return world.Gone
			case !e.has.has(o.i):
				return world.Missing
			}
			done.answer = e.value[o.i]
			return world.Applied
		}}, err
	}
	a := new(world.Answer[int64])
	err = m.sum.Ask(p, h, o.value, a)
	done := promised(a, func(v int64) int64 { return v })
	return request{done: done, do: func() world.Outcome {
		e := n.living(h)
		if e == nil {
			return world.Gone
		}
		done.answer = o.value
		for i := range partsN {
			if e.has.has(i) {
				done.answer += e.value[i]
			}
		}
		return world.Applied
	}}, err
}

// promised is the promise of an answer.
func promised[T any](a *world.Answer[T], decode func(T) int64) *promise {
	return &promise{done: &a.Completion, value: func() (int64, bool) {
		v, ok := a.Value()
		if !ok {
			return 0, false
		}
		return decode(v), true
	}}
}
