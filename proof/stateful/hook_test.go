package stateful_test

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// hook is a hook and what it asks for.
type hook struct {
	number int
	parts  parts
	value  int // the component whose value it looks at, or nowhere
	on     world.Event
	does   func(c *world.Context, on world.Event, h handle.Handle, v int64)
}

// tale is what a hook is told of one entity.
type tale struct {
	hook  int
	on    world.Event
	h     handle.Handle
	value int64 // of the hook's component
}

func (a tale) compare(b tale) int {
	for _, d := range [...]int{a.hook - b.hook, int(a.on) - int(b.on)} {
		if d != 0 {
			return d
		}
	}
	if a.h != b.h {
		return int(int64(a.h) - int64(b.h))
	}
	return int(a.value - b.value)
}

// late is what a hook has done in a refresh, for the naive world to do at the end of that.
type late struct {
	tick uint64
	do   func()
}

const anything = world.OnCreate | world.OnRemove | world.OnAdd | world.OnSet | world.OnDestroy

// observe makes hooks: one for everybody, one for each component, and some for several.
func (m *machine) observe() {
	m.naive.hooks = []*hook{{parts: 0, value: nowhere, on: world.OnCreate | world.OnDestroy}}
	for i := range partsN {
		m.naive.hooks = append(m.naive.hooks, &hook{parts: 1 << i, value: i, on: anything})
	}
	m.naive.hooks = append(m.naive.hooks,
		&hook{parts: 0b00011, value: 1, on: anything},
		&hook{parts: m.bundles[2].parts, value: 2, on: world.OnAdd | world.OnSet},
		&hook{parts: 0b10001, value: nowhere, on: world.OnRemove | world.OnDestroy})
	m.naive.hooks[1].does, m.naive.hooks[2].does, m.naive.hooks[3].does = m.sendLate, m.flagLate, m.createLate
	few := 1 + m.n(4) // what is noted depends on which there are
	m.naive.hooks = slices.DeleteFunc(m.naive.hooks, func(*hook) bool { return m.n(few) > 0 })
	for i, x := range m.naive.hooks {
		x.number = i
		m.Observe(fmt.Sprint("hook ", i), x.on, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
			var own look
			if x.value != nowhere {
				own = m.parts[x.value].ask(b, false)
			}
			b.Creates(m.bundles[0].part)
			return func(c *world.Context, on world.Event, hs []handle.Handle) {
				for _, h := range hs {
					m.hear(c, x, on, h, own)
				}
			}
		}, m.these(x.parts)...)
	}
}

// hear is a hook that is told of an entity.
func (m *machine) hear(c *world.Context, x *hook, on world.Event, h handle.Handle, own look) {
	mustBe(m, c.Owns(h), true, "Owns by a hook", h)
	t := tale{hook: x.number, on: on, h: h}
	if x.value != nowhere {
		v, ok := own.get(h)
		mustBe(m, ok || on == world.OnRemove, true, "component in a hook", h)
		t.value = v
	}
	m.told = append(m.told, t)
	if x.does != nil && !m.closing {
		x.does(c, on, h, t.value)
	}
}

// sendLate, flagLate and createLate are what hooks do: request, change and create.

func (m *machine) sendLate(c *world.Context, on world.Event, h handle.Handle, v int64) {
	if on != world.OnSet {
		return
	}
	sender := m.naive.ports + c.Shard()
	err := m.hit.Send(c, h, Hit{v})
	m.later(c, func() {
		if err != nil {
			mustErr(m, err, world.ErrFull, "Send by a hook", h)
			m.refused(1)
			return
		}
		m.accept(sender, request{do: func() world.Outcome { return m.naive.send(m.naive.living(h), h, v) }})
	})
}

func (m *machine) flagLate(c *world.Context, on world.Event, h handle.Handle, v int64) {
	if on != world.OnAdd {
		return
	}
	mustErr(m, world.AddFlags(c, h, 1<<7), nil, "AddFlags by a hook", h)
	m.later(c, func() { m.naive.flag(m.naive.alive(h), 1<<7, 0) })
}

func (m *machine) createLate(c *world.Context, on world.Event, h handle.Handle, v int64) {
	if on != world.OnDestroy || h%4 != 0 {
		return
	}
	child, err := m.bundles[0].create(c, v)
	m.later(c, func() {
		if !m.fullIndexes(err) {
			m.born(child, m.bundles[0].parts, alike(v), false)
			m.naive.entities[child].shard = c.Shard()
		}
	})
}

func (m *machine) later(c *world.Context, do func()) {
	m.naive.late = append(m.naive.late, late{c.Tick(), do})
}

// catchUp does what hooks have done in the refresh that ends.
func (n *naive) catchUp() {
	i := 0
	for ; i < len(n.late) && n.late[i].tick == n.tick; i++ {
		n.late[i].do()
	}
	n.late = slices.Delete(n.late, 0, i)
}

// tell tells hooks how entities differ from the last refresh. Who is created and marked by
// the same was never alive.
func (n *naive) tell() {
	for h, e := range n.entities {
		if e.pending || e.fresh && e.marked {
			continue
		}
		for _, x := range n.hooks {
			n.tellHook(x, h, e)
		}
		e.born, e.fresh, e.had, e.stored = false, false, e.has, 0
	}
}

func (n *naive) tellHook(x *hook, h handle.Handle, e *entity) {
	has, had := e.has&x.parts == x.parts, e.had&x.parts == x.parts
	for _, c := range [...]struct {
		on world.Event
		is bool
	}{
		{world.OnCreate, e.born && has},
		{world.OnRemove, !e.born && had && !has},
		{world.OnAdd, !e.born && !had && has},
		{world.OnSet, !e.born && has && e.stored&x.parts != 0},
		{world.OnDestroy, e.marked && has},
	} {
		if !c.is || x.on&c.on == 0 {
			continue
		}
		t := tale{hook: x.number, on: c.on, h: h}
		if x.value != nowhere && e.has.has(x.value) {
			t.value = e.value[x.value]
		}
		n.told = append(n.told, t)
	}
}

// mustTellHooks compares what hooks were told.
func (m *machine) mustTellHooks() {
	m.mustPanic(m.Failure())
	want := m.naive.told
	slices.SortFunc(m.told, tale.compare)
	slices.SortFunc(want, tale.compare)
	for i := range max(len(m.told), len(want)) {
		switch {
		case i >= len(want) || i < len(m.told) && m.told[i].compare(want[i]) < 0:
			m.fail("hooks were told of %+v, and should not have been", m.told[i])
		case i >= len(m.told) || m.told[i] != want[i]:
			m.fail("hooks were not told of %+v", want[i])
		}
	}
	m.told, m.naive.told = m.told[:0], want[:0]
}
