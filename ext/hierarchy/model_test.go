package hierarchy_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// model is a relation on a world, its double whose refreshes run the other way
// round, and the naive tree with who is alive.
type model struct {
	*pair // of which the tree is not used
	f     [2]*fixture
	ports [2][]*world.Port
	alive map[handle.Handle]bool
	o     hierarchy.Options
	dones []*world.Completion
	wants []world.Outcome
}

// wish is a change that somebody asks for, and what the naive tree makes of it.
type wish struct {
	send  func(r *hierarchy.Relation, by world.Actor) error
	naive func() error
	child handle.Handle
	other handle.Handle
	kill  bool
}

func newModel(t testing.TB, seed uint64) *model {
	r := newRand(t, seed)
	m := &model{
		pair: &pair{t: t, rand: r, naive: newNaive()}, alive: map[handle.Handle]bool{},
		o: hierarchy.Options{OnParentDeath: hierarchy.OnParentDeath(seed % 4), OnChildDeath: hierarchy.Gap(seed / 4 % 3)},
	}
	for i := range m.f {
		m.f[i] = newFixture(t, 1+int(seed%5), m.o)
		m.f[i].rel.ArenaWords(4 + seed%11)
		for range 3 {
			m.ports[i] = append(m.ports[i], m.f[i].port())
		}
	}
	m.create(25)
	return m
}

// create makes entities in both worlds, which give them the same handles.
func (m *model) create(n int) {
	a, b := m.f[0].make(n), m.f[1].make(n)
	require.Equal(m.t, a, b)
	m.all = append(m.all, a...)
	for _, h := range a {
		m.alive[h] = true
	}
}

// wish makes up a random change.
func (m *model) wish() wish {
	a, b := m.any(), m.any()
	parent, place := m.family()
	gap := m.o.OnChildDeath
	seat := func(child, parent handle.Handle, to spot, keep bool) func() error {
		return func() error { return m.seat(child, parent, to, gap, keep) }
	}
	switch m.rand.IntN(11) {
	case 0, 1, 2:
		return wish{func(r *hierarchy.Relation, by world.Actor) error { return r.AddChild(by, parent, a) }, seat(a, parent, spot{"end", 0}, true), a, parent, false}
	case 3:
		return wish{func(r *hierarchy.Relation, by world.Actor) error { return r.AddChildAt(by, parent, a, place) }, seat(a, parent, spot{"before", place}, true), a, parent, false}
	case 4:
		return wish{func(r *hierarchy.Relation, by world.Actor) error { return r.Move(by, a, parent) }, seat(a, parent, spot{"end", 0}, false), a, parent, false}
	case 5:
		return wish{func(r *hierarchy.Relation, by world.Actor) error { return r.Put(by, a, parent, place) }, seat(a, parent, spot{"into", place}, false), a, parent, false}
	case 6:
		from := m.parent[a]
		return wish{func(r *hierarchy.Relation, by world.Actor) error {
			return r.PutFrom(by, a, from, parent, hierarchy.Free)
		}, func() error {
			if m.parent[a] != from {
				return hierarchy.ErrElsewhere
			}
			return m.seat(a, parent, spot{"free", 0}, gap, false)
		}, a, parent, false}
	case 7:
		return wish{func(r *hierarchy.Relation, by world.Actor) error { return r.Swap(by, a, b) }, func() error { return m.swap(a, b) }, a, b, false}
	case 8:
		g := m.gap()
		return wish{func(r *hierarchy.Relation, by world.Actor) error { return r.RemoveChild(by, a, g) }, func() error {
			if m.parent[a] == handle.None {
				return hierarchy.ErrAbsent
			}
			m.leave(a, g)
			return nil
		}, a, none, false}
	case 9:
		places := m.rand.IntN(8)
		if m.o.OnParentDeath == hierarchy.Grandparent {
			places = 0 // who finds room in a fixed list is up to the order of the dying
		}
		return wish{func(r *hierarchy.Relation, by world.Actor) error { return r.SetPlaces(by, parent, places) }, func() error { return m.setPlaces(parent, places) }, parent, none, false}
	default:
		return wish{child: a, kill: true}
	}
}

// tick lets ports, systems and the idle world ask for things, and refreshes.
func (m *model) tick() {
	for range m.rand.IntN(3) { // the idle world's are done at once
		m.atOnce(m.wish())
	}
	var order []wish
	m.dones, m.wants = m.dones[:0], m.wants[:0]
	for p := range m.ports[0] {
		for range m.rand.IntN(5) {
			w := m.wish()
			order = append(order, w)
			done := new(world.Completion)
			m.dones = append(m.dones, done)
			for i := range m.f {
				port := m.ports[i][p]
				if i == 0 {
					port.Notify(done)
				}
				if w.kill {
					require.NoError(m.t, port.Destroy(w.child))
				} else {
					require.NoError(m.t, w.send(m.f[i].rel, port))
				}
			}
		}
	}
	sent := len(order)
	byShard := make([][]wish, m.f[0].Shards())
	for s := range byShard {
		for range m.rand.IntN(4) {
			if w := m.wish(); m.alive[w.child] {
				byShard[s] = append(byShard[s], w)
			}
		}
	}
	owned := map[handle.Handle]bool{} // destroyed by a system of their own shard
	for i, f := range m.f {
		parallel := extend.Parallel(serial)
		if i == 1 {
			parallel = backwards
		}
		f.tickBy(parallel, func(c *world.Context) {
			for _, w := range byShard[c.Shard()] {
				if w.kill {
					owned[w.child] = owned[w.child] || c.Owns(w.child)
					require.NoError(m.t, c.Destroy(w.child))
				} else {
					require.NoError(m.t, w.send(f.rel, c))
				}
			}
		})
	}
	for s := range byShard {
		order = append(order, byShard[s]...)
	}
	m.refresh(order, sent, owned)
	m.check()
}

func (m *model) atOnce(w wish) {
	var want error
	switch {
	case w.kill:
		return
	case !m.alive[w.child] || w.other != none && !m.alive[w.other]:
		want = world.ErrStale
	default:
		want = w.naive()
	}
	for _, f := range m.f {
		got := w.send(f.rel, f.World)
		require.True(m.t, errors.Is(got, want) && (got == nil) == (want == nil), "got %v, want %v", got, want)
	}
}

// refresh is what a refresh does, in the simplest way.
func (m *model) refresh(order []wish, sent int, dying map[handle.Handle]bool) {
	m.wants = make([]world.Outcome, sent)
	first := map[handle.Handle]bool{}
	for i, w := range order {
		if !w.kill {
			continue
		}
		if i < sent {
			m.wants[i] = world.Gone
			if m.alive[w.child] && !dying[w.child] {
				m.wants[i] = world.Applied
				first[w.child] = true
			}
		}
		if m.alive[w.child] {
			dying[w.child] = true
		}
	}
	for i, w := range order {
		if w.kill {
			continue
		}
		outcome := world.Gone
		if m.alive[w.child] && !dying[w.child] && (w.other == none || m.alive[w.other]) {
			switch err := w.naive(); err {
			case nil:
				outcome = world.Applied
			case hierarchy.ErrAbsent:
				outcome = world.Missing
			default:
				outcome = world.Refused
			}
		}
		if i < sent {
			m.wants[i] = outcome
		}
	}
	spared := m.spare(dying)
	for i, w := range order[:sent] {
		if w.kill && spared[w.child] {
			m.wants[i] = world.Refused
		}
	}
	m.bury(dying)
}

func (m *model) spare(dying map[handle.Handle]bool) map[handle.Handle]bool {
	spared := map[handle.Handle]bool{}
	for again := m.o.OnParentDeath == hierarchy.SpareParent; again; {
		again = false
		for _, h := range m.all {
			lives := slices.ContainsFunc(m.lists[h], func(c handle.Handle) bool { return c != none && !dying[c] })
			if dying[h] && lives {
				delete(dying, h)
				spared[h], again = true, true
			}
		}
	}
	return spared
}

func (m *model) bury(dying map[handle.Handle]bool) {
	if m.o.OnParentDeath == hierarchy.Destroy {
		for _, h := range m.all {
			if dying[h] {
				for _, d := range m.descendants(h) {
					dying[d] = true
				}
			}
		}
	}
	type bequest struct{ child, to handle.Handle }
	var gifts []bequest
	for _, h := range m.all {
		for _, child := range m.lists[h] {
			if up := h; m.o.OnParentDeath == hierarchy.Grandparent && dying[h] && child != none && !dying[child] {
				for ; dying[up]; up = m.parent[up] {
				}
				gifts = append(gifts, bequest{child, up})
			}
		}
	}
	for _, h := range m.all {
		if dying[h] {
			m.leave(h, m.o.OnChildDeath)
			for _, child := range m.lists[h] {
				delete(m.parent, child)
			}
			m.forget(h)
			delete(m.alive, h)
		}
	}
	for _, g := range gifts {
		if g.to != none {
			_ = m.seat(g.child, g.to, spot{"end", 0}, hierarchy.Close, true)
		}
	}
}

// check compares both worlds with the naive tree and with each other.
func (m *model) check() {
	f := m.f[0]
	ordered := m.o.OnChildDeath != hierarchy.Swap && m.o.OnParentDeath != hierarchy.Grandparent
	for _, h := range m.all {
		require.Equal(m.t, m.alive[h], f.Alive(h), "%v", h)
		children := f.read.Children(h)
		if ordered {
			require.True(m.t, slices.Equal(m.lists[h], children), "children of %v: %v, want %v", h, children, m.lists[h])
		} else { // the order of the dying decides who is where
			require.ElementsMatch(m.t, m.living(h), f.living(h), "children of %v", h)
			m.lists[h] = slices.Clone(children)
		}
		require.Equal(m.t, m.parent[h], f.read.Parent(h))
	}
	for i, done := range m.dones {
		require.Equal(m.t, m.wants[i], done.Outcome(), "request %d of a port", i)
	}
	require.NoError(m.t, f.rel.Verify())
	require.Zero(m.t, f.rel.OpenLists(), "a refresh leaves no gap to be closed by a reader")
	require.Equal(m.t, f.rel.Save(nil), m.f[1].rel.Save(nil), "whatever the order of the shards in a step")
}

func (m *model) living(h handle.Handle) (all []handle.Handle) {
	for _, child := range m.lists[h] {
		if child != none {
			all = append(all, child)
		}
	}
	return all
}

// TestModel holds relations on worlds against a naive one: random changes by the
// idle world, by ports and by systems, with deaths, under every policy.
func TestModel(t *testing.T) {
	for seed := range uint64(iterations(120)) {
		m := newModel(t, seed)
		for range 120 {
			m.tick()
			if len(m.alive) < 20 {
				m.create(10)
			}
		}
	}
}
