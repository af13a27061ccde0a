package world_test

import (
	"errors"
	"strconv"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// byPort operates as a port, at times waiting for the outcome.
func (m *model) byPort(number int, h handle.Handle, v int64) {
	p := m.ports[number]
	m.mustSay(p.Number(), number)
	op := m.r.IntN(11)
	if op < 2 {
		m.create(p, v)
		return
	}
	var told func(world.Outcome)
	var done *world.Completion
	if m.r.IntN(2) == 0 {
		done = new(world.Completion)
		p.Notify(done)
		told = func(o world.Outcome) { m.promised = append(m.promised, promise{done, o}) }
	}
	var err error
	var do func() world.Outcome
	switch op {
	case 2:
		err = p.Destroy(h)
		do = func() world.Outcome { return m.naive.destroy(h) }
	case 3, 4:
		err = m.health.Set(p, h, Health{v})
		do = func() world.Outcome { return m.naive.set(h, "health", Health{v}) }
	case 5:
		err = m.hit.Send(p, h, Hit{v})
		do = func() world.Outcome { return m.naive.send(h, v) }
	case 6, 7, 8:
		do, err = m.change(p, op, h, v)
	default:
		to := m.r.IntN(m.Shards())
		err = world.Move(p, h, to)
		do = func() world.Outcome { return m.naive.move(h, to) }
	}
	m.accept(p, err, number, do, told)
}

// change asks for a component to be added or removed, by a port or a system.
func (m *model) change(by world.Actor, op int, h handle.Handle, v int64) (do func() world.Outcome, err error) {
	switch op {
	case 6:
		name := Name{strconv.FormatInt(v, 16)}
		return func() world.Outcome { return m.naive.add(h, "name", name) }, m.name.Add(by, h, name)
	case 7:
		return func() world.Outcome { return m.naive.remove(h, "name") }, m.name.Remove(by, h)
	default:
		err := m.mover.Add(by, h, Mover{Position{float64(v), 3}, Velocity{4, 5}}, m.health)
		return func() world.Outcome { return m.naive.exchange(h, v) }, err
	}
}

// exchange gives a Mover for the health.
func (n *naive) exchange(h handle.Handle, v int64) world.Outcome {
	n.remove(h, "health")
	n.add(h, "velocity", Velocity{4, 5})
	return n.add(h, "position", Position{float64(v), 3})
}

// changeAtOnce changes an entity's components on the idle world.
func (m *model) changeAtOnce(h handle.Handle, v int64) {
	e := m.naive.alive(h)
	marked := e != nil && e.marked
	if marked {
		e.marked = false // it can be changed until it goes
		defer func() { e.marked = true }()
	}
	do, err := m.change(m.World, 6+m.r.IntN(3), h, v)
	require.ErrorIs(m.t, err, map[world.Outcome]error{
		world.Applied: nil, world.Gone: world.ErrStale, world.Missing: world.ErrMissing,
	}[do()])
}

// changeAll gives or takes a component everywhere.
func (m *model) changeAll(v int64) {
	name := Name{strconv.FormatInt(v, 2)}
	give, names := m.r.IntN(2) == 0, world.Write[Name](m.World)
	if give {
		require.NoError(m.t, m.name.AddTo(m.Query(world.Without[Name](m.World), world.With[Position](m.World)), func(ch world.Chunk) {
			for i := range names.Slice(ch) {
				m.mustSay(names.Slice(ch)[i], Name{})
				names.Slice(ch)[i] = name
			}
		}))
	} else {
		require.NoError(m.t, m.Query(names).Remove(m.name))
	}
	for _, e := range m.naive.entities {
		switch {
		case e.pending:
		case !give:
			delete(e.components, "name")
		case e.components["position"] != nil && e.components["name"] == nil:
			e.components["name"] = name
		}
	}
}

// accept notes a request that was accepted.
func (m *model) accept(by world.Actor, err error, sender int, do func() world.Outcome, told func(world.Outcome)) {
	o := m.options()
	if p, isPort := by.(*world.Port); errors.Is(err, world.ErrFull) {
		if isPort {
			m.mustSay(p.Waiting(), o.QueueRequests)
		} else {
			require.Less(m.t, o.OutboxRequests, 1000)
		}
		return
	}
	require.NoError(m.t, err)
	m.naive.requests = append(m.naive.requests, naiveRequest{sender: sender, do: do, outcome: told})
}

// bySystem operates as a system on its shard.
func (m *model) bySystem(c *world.Context, h handle.Handle, v int64) {
	e, sender := m.naive.alive(h), len(m.ports)+c.Shard()
	hidden := e != nil && e.hidden && e.shard != c.Shard()
	if hidden {
		e = nil
	}
	switch op := m.r.IntN(11); {
	case op == 0:
		m.create(c, v)
	case op == 1: // answers
		m.mustSay(c.Alive(h), e != nil)
		if m.naive.given[h] {
			want := m.naive.status(h)
			if want == world.Dying && !c.Owns(h) {
				want = world.Alive
			}
			if want == world.Pending && c.Status(h) == world.Forged { // drawn since the last refresh
				want = world.Forged
			}
			if hidden {
				want = world.Unused
			}
			m.mustSay(c.Status(h), want)
		}
	case e == nil:
		require.ErrorIs(m.t, c.Destroy(h), world.ErrStale)
		require.ErrorIs(m.t, m.health.Set(c, h, Health{v}), world.ErrStale)
		require.ErrorIs(m.t, m.hit.Send(c, h, Hit{v}), world.ErrStale)
		require.ErrorIs(m.t, world.Move(c, h, 0), world.ErrStale)
	case op == 2 && c.Owns(h):
		require.NoError(m.t, c.Destroy(h))
		m.naive.destroy(h)
	case op == 2:
		m.accept(c, c.Destroy(h), sender, func() world.Outcome { return m.naive.destroy(h) }, nil)
	case op == 3 && c.Owns(h):
		m.setAtOnce(c, h, v)
	case op == 3:
		m.accept(c, m.health.Set(c, h, Health{v}), sender, func() world.Outcome {
			return m.naive.set(h, "health", Health{v})
		}, nil)
	case op >= 9:
		to := m.r.IntN(m.Shards())
		m.accept(c, world.Move(c, h, to), sender, func() world.Outcome { return m.naive.move(h, to) }, nil)
	case op >= 6:
		do, err := m.change(c, op, h, v)
		m.accept(c, err, sender, do, nil)
	default:
		m.accept(c, m.hit.Send(c, h, Hit{v}), sender, func() world.Outcome { return m.naive.send(h, v) }, nil)
	}
}

// compare checks that the world is what the naive one says, all of it.
func (m *model) compare() {
	m.t.Helper()
	n := m.naive
	m.forget()
	m.mustSay(m.Count(), len(n.entities))
	position, velocity := world.Read[Position](m.World), world.Read[Velocity](m.World)
	health, name := world.Read[Health](m.World), world.Read[Name](m.World)
	for h, e := range n.entities {
		m.mustSay(m.Status(h), world.Alive)
		m.mustSay(m.Alive(h), true)
		shard, _ := m.Owner(h)
		m.mustSay(shard, e.shard)
		same(m, position.Get(h), e.components["position"])
		same(m, velocity.Get(h), e.components["velocity"])
		same(m, health.Get(h), e.components["health"])
		same(m, name.Get(h), e.components["name"])
	}
	rows := 0
	for ch := range m.Query(world.Optional(health), world.Optional(position)).Chunks() {
		for i, h := range ch.Handles() {
			rows++
			e := n.entities[h]
			if e == nil {
				m.t.Fatalf("a query finds %v, which is dead", h)
			}
			if s := health.Slice(ch); s != nil {
				m.mustSay(s[i], e.components["health"])
			}
			if s := position.Slice(ch); s != nil {
				m.mustSay(s[i], e.components["position"])
			}
		}
	}
	m.mustSay(rows, len(n.entities))
	for _, h := range n.dead {
		if m.Alive(h) || m.Status(h) != world.Stale || m.Locate(h) != 0 || health.Get(h) != nil {
			m.t.Fatalf("%v, which died, is %v", h, m.Status(h))
		}
	}
	for _, p := range m.promised {
		m.mustSay(p.done.Outcome(), p.want)
	}
	m.promised = m.promised[:0]
	s := m.stats()
	m.mustSay([5]uint64{0, s.Applied, s.Gone, s.Missing, s.Refused}, n.outcomes)
	m.mustSay(s.Created-s.Destroyed, uint64(len(n.entities)))
	m.mustSay(s.Destroyed, uint64(len(n.dead)))
	m.mustSay(s.Moved, n.moved)
	for _, p := range m.ports {
		m.mustSay(p.Waiting(), 0)
	}
}

// same compares a component with the naive one.
func same[T comparable](m *model, got *T, want any) {
	m.t.Helper()
	if got == nil {
		m.mustSay(nil, want)
	} else {
		m.mustSay(*got, want)
	}
}
