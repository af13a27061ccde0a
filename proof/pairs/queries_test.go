package pairs_test

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// queries gives and takes components, and destroys, by whole queries on the idle world,
// and compares what queries of several kinds find.
func queries() *feature {
	return &feature{
		name: "queries",
		between: func(s *scene) {
			of, take := s.n(partsN), s.n(partsN)
			give := (of + 1 + s.n(partsN-1)) % partsN
			hidden := world.Flags(s.n(4))
			s.byIdle(byQuery("add to", 1<<of, 1<<give, hidden, func(o *objects, q *world.Query) error { return o.parts[give].addTo(q) },
				func(m *model, e *entity) { m.join(e, 1<<give, 0) }))
			s.byIdle(byQuery("remove from", 1<<take, 0, hidden, func(o *objects, q *world.Query) error { return o.parts[take].removeFrom(q) },
				func(m *model, e *entity) { m.join(e, 0, 1<<take) }))
			if s.crowd > population && s.n(3) == 0 {
				s.byIdle(byQuery("destroy query", 1<<of|1<<give, 0, hidden, func(_ *objects, q *world.Query) error { q.Destroy(); return nil },
					func(m *model, e *entity) { m.destroy(e) }))
			}
		},
		check: func(s *scene) {
			if s.quiet {
				return
			}
			for set := range parts(1 << partsN) {
				hidden := world.Flags(set) << 1
				q := s.Query(s.terms(set, 0, hidden)...)
				var found []handle.Handle
				for ch := range q.Chunks() {
					found = append(found, ch.Handles()...)
				}
				hash := uint64(0)
				for _, h := range found {
					hash = mix(hash, uint64(h))
				}
				s.see("order of a query", 0, hash)
				slices.Sort(found)
				want := s.model.matching(set, 0, hidden)
				s.must(slices.Equal(found, want), "a query for %05b finds %d, by the model %d", set, len(found), len(want))
			}
		},
	}
}

// terms asks for some components, none of others, and none of some flags.
func (o *objects) terms(with, without parts, hidden world.Flags) (all []world.Term) {
	if hidden != 0 {
		all = append(all, world.WithoutFlags(o.World, hidden))
	}
	for i, p := range o.parts {
		if with.has(i) {
			all = append(all, p.with(o.World))
		}
		if without.has(i) {
			all = append(all, p.without(o.World))
		}
	}
	return all
}

// byQuery is the act of doing something to all who match.
func byQuery(name string, with, without parts, hidden world.Flags, do func(o *objects, q *world.Query) error, each func(m *model, e *entity)) *act {
	a := &act{name: name}
	a.do = func(o *objects, _ world.Actor) ([]handle.Handle, error) {
		return nil, do(o, o.Query(o.terms(with, without, hidden)...))
	}
	a.model = func(m *model, _ *entity) world.Outcome {
		for _, h := range m.matching(with, without, hidden) {
			each(m, m.entities[h])
		}
		return world.Applied
	}
	return a
}

// matching returns who a query finds, in the order of handles.
func (m *model) matching(with, without parts, hidden world.Flags) (all []handle.Handle) {
	for h, e := range m.entities {
		if !e.pending && e.has&with == with && e.has&without == 0 && e.flags&hidden == 0 {
			all = append(all, h)
		}
	}
	slices.Sort(all)
	return all
}

// join gives and takes components; what is new is zero.
func (m *model) join(e *entity, give, take parts) {
	has := e.has&^take | give
	for i := range partsN {
		if has.has(i) && !e.has.has(i) {
			e.value[i] = 0
		}
	}
	e.has = has
}
