package pairs_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// Bond is a component with a handle, which Insert rewrites.
type Bond struct{ To handle.Handle }

func newBonds(w *world.World) *world.Component[Bond] { return world.Register[Bond](w, "bond") }

// insert puts pieces of other worlds into the world between ticks, and binds entities to others.
func insert() *feature {
	return &feature{
		name: "insert", rate: 300, by: byAny,
		draw: func(d *drawer) *act {
			to := d.someone()
			return on("bind to", d.someone(), func(o *objects, by world.Actor, h handle.Handle) error {
				return o.bonds.Add(by, h, Bond{to})
			}, func(_ *model, e *entity) world.Outcome {
				if e == nil {
					return world.Gone
				}
				e.bound, e.bond = true, to
				return world.Applied
			})
		},
		between: func(s *scene) {
			s.meddle(30) // others look at what is not settled yet
			x := newPiece(s.plan, s.dice, s.next)
			if s.coin() {
				x.forgetNames(s.model)
			}
			for range 3 {
				s.insert(x)
			}
			s.know()
		},
		check: func(s *scene) {
			read := world.Read[Bond](s.World)
			for h, e := range s.model.entities {
				b := read.Get(h)
				s.must((b != nil) == e.bound, "%v is bound: %t, by the model %t", h, b != nil, e.bound)
				if b != nil && b.To != e.bond {
					s.fail("%v is bound to %v, by the model to %v", h, b.To, e.bond)
				}
			}
		},
	}
}

// inPieces are the features that pieces have, too. That of messages and others would do nothing.
var inPieces = []string{"insert", "destroy", "flags", "names", "relations", "changes", "sets", "copies", "move"}

// newPiece makes a small world with what the features of a plan do on an idle world, and a model of
// it.
func newPiece(p plan, dice *rand.Rand, next func() int64) *scene {
	o := &objects{seed: p.seed, made: map[string]any{}, features: p.features, codecs: newCodecs()}
	x := &scene{objects: o, plan: plan{seed: p.seed}, model: newModel(), tape: []*given{{}}}
	o.World = world.MustNew(world.Options{Shards: 1 + dice.IntN(4), VersionsEach: 1 << 16, KeepOrder: dice.IntN(2) == 0})
	for _, f := range p.features {
		if slices.Contains(inPieces, f.name) {
			x.plan.features = append(x.plan.features, f)
			if f.prepare != nil {
				f.prepare(o)
			}
		}
	}
	o.bonds, o.parts = newBonds(o.World), newParts(o.World) // with other numbers than in the world
	o.bundles = newBundles(o.World)
	x.drawer = drawer{dice: dice, shards: o.Shards(), next: next, crowd: population}
	if m, ok := o.made["policy"].(policy); ok {
		x.model.policy = m.OnParentDeath
	}
	for n := range 1 + dice.IntN(3) {
		err := o.Reincarnate(uint32(n + 1))
		x.must(err == nil, "Reincarnate: %v", err)
		x.byIdle(spawn(&x.drawer, 5+dice.IntN(20)))
		x.know()
		x.meddle(60)
		o.Refresh()
		x.model.refresh()
	}
	return x
}

// meddle does so much on the idle world as features draw.
func (s *scene) meddle(n int) {
	for range n {
		f := s.plan.features[s.n(len(s.plan.features))]
		if f.draw == nil || f.by&byIdle == 0 {
			continue
		}
		if a := f.draw(&s.drawer); a != nil {
			s.byIdle(a)
		}
	}
}

// forgetNames leaves a piece only the names that are free in the model of a world.
func (s *scene) forgetNames(m *model) {
	for _, h := range slices.Sorted(maps.Keys(s.model.entities)) {
		if e := s.model.entities[h]; e.named && m.taken(e.name) {
			err := s.made["names"].(*names.Names[int64]).Unbind(s.World, h)
			s.must(err == nil, "Unbind: %v", err)
			s.model.unbind(e)
		}
	}
}

// insert inserts a piece, or some of it.
func (s *scene) insert(x *scene) {
	o := snapshot.InsertOptions{Codecs: s.codecs, Shard: s.n(s.Shards()), WithoutNames: s.n(3) == 0}
	var roots []handle.Handle
	whom := slices.Sorted(maps.Keys(x.model.entities))
	if s.coin() && len(whom) > 0 {
		roots = []handle.Handle{whom[s.n(len(whom))], whom[s.n(len(whom))]}
		whom = x.model.below(roots)
	}
	piece := x.piece(roots...)
	var in *snapshot.Inserted
	var err error
	s.byIdle(&act{
		name: "insert", joint: true,
		do: func(to *objects, _ world.Actor) ([]handle.Handle, error) {
			in, err = snapshot.Insert(to.World, piece, o)
			return nil, err
		},
		model: func(m *model, _ *entity) world.Outcome {
			for _, old := range whom {
				if e := x.model.entities[old]; e.named && !o.WithoutNames && m.taken(e.name) {
					s.must(errors.Is(err, names.ErrTaken), "Insert of a name that is taken: %v", err)
					return world.Refused
				}
			}
			s.must(err == nil && in.Len() == len(whom), "Insert of %d: %v", len(whom), err)
			for _, old := range whom {
				e := x.model.entities[old]
				if !m.create(in.Handle(old), e.has, e.value, (e.shard+o.Shard)%s.Shards(), false) {
					s.fail("Insert gave %v, which was given before", in.Handle(old))
				}
			}
			s.must(in.Cut == m.insert(x.model, whom, in.Handle, !o.WithoutNames), "Insert has cut %d handles", in.Cut)
			return world.Applied
		},
	})
}

// piece extracts entities of the world, or all if there are none: through bytes.
func (s *scene) piece(roots ...handle.Handle) *snapshot.Piece {
	o := snapshot.ExtractOptions{Codecs: s.codecs}
	p, err := snapshot.ExtractAll(s.World, o)
	if len(roots) > 0 {
		p, err = snapshot.Extract(s.World, o, roots...)
	}
	if err == nil {
		p, err = snapshot.ReadPiece(p.Bytes())
	}
	s.must(err == nil, "Extract of %v: %v", roots, err)
	return p
}

// insertAndClear inserts a piece into a world that was cleared, which is cleared again.
func (s *scene) insertAndClear() {
	x := newPiece(s.plan, s.dice, s.next)
	for range 2 {
		in, err := snapshot.Insert(s.World, x.piece(), snapshot.InsertOptions{Codecs: s.codecs})
		s.must(err == nil && in.Len() == s.Count(), "%d in a world that was cleared, of %d: %v", s.Count(), x.Count(), err)
		for range 20 {
			s.Clear()
		}
		s.must(s.Count() == 0, "%d are left of what was inserted", s.Count())
	}
}

// insert gives entities of another model, which were created as others, all else.
func (m *model) insert(from *model, whom []handle.Handle, now func(handle.Handle) handle.Handle, named bool) (cut int) {
	for _, old := range whom {
		e, of := m.entities[now(old)], from.entities[old]
		e.flags, e.bound, e.bond = of.flags, of.bound, now(of.bond)
		if of.bond != e.bond && e.bond == handle.None {
			cut++
		}
		if of.named && named {
			m.bind(e, of.name)
		}
		for _, child := range of.children {
			m.adopt(m.entities[now(child)], e.h, false)
		}
	}
	return cut
}

// taken reports whether a name is that of an entity that lives.
func (m *model) taken(name int64) bool {
	e := m.entities[m.names[name]]
	return e != nil && !e.marked
}

// below returns entities with all that are below them, in order.
func (m *model) below(roots []handle.Handle) []handle.Handle {
	all, seen := slices.Clone(roots), map[handle.Handle]bool{}
	for i := 0; i < len(all); i++ {
		if h := all[i]; !seen[h] {
			seen[h] = true
			all = append(all, m.entities[h].children...)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// insert inserts a piece while goroutines use their ports.
func (x *crowd) insert(t *testing.T, dice *rand.Rand) {
	piece := newPiece(x.plan, dice, func() int64 { return x.numbers.Add(1) })
	for i := range 2 { // the second has no name that is taken
		in, err := snapshot.Insert(x.World, piece.piece(), snapshot.InsertOptions{Codecs: x.codecs, WithoutNames: i > 0})
		if i == 0 && errors.Is(err, names.ErrTaken) {
			continue
		}
		require.NoError(t, err)
		for _, h := range in.All() {
			require.True(t, x.Alive(h))
			x.pieces = append(x.pieces, h)
		}
	}
}
