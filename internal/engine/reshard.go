package engine

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// placer chooses the shards of entities that have some components.
//
// Ownership: as for the Bundle, or the caller of PlaceComponent.
type placer struct {
	name   string
	of     *mem.Type // what place gets
	typ    reflect.Type
	set    store.Set
	fields []store.Field
	place  func(v mem.Address) int
}

// placedBy makes a Bundle's function choose in which shard an entity is when a world is loaded into
// another number of shards. The world is idle.
func (w *World) placedBy(b *Bundle) {
	w.placers = slices.DeleteFunc(w.placers, func(p placer) bool { return p.typ == nil && p.set == b.set })
	if b.place != nil {
		w.placers = append(w.placers, placer{name: "bundle " + b.name, of: b.of, set: b.set, fields: b.fields, place: b.place})
	}
}

// PlaceComponent makes a function choose likewise by a component, which need not be registered yet: of
// entities for which no Bundle does. The world is idle. name is for messages.
func (w *World) PlaceComponent(of reflect.Type, name string, place func(v mem.Address) int) {
	w.placers = append(w.placers, placer{name: name, typ: of, place: place})
}

// Rehome moves entities of a world that was loaded into another number of shards: those for which a
// function chooses go to the shard that it chooses, and the children of a relation in which children
// die with their parents to the shard of their parents. Messages follow. All extensions are loaded.
// After an error some have moved.
func (l *Loader) Rehome() error {
	err := l.rehome()
	if err == nil {
		l.w.engine.Mail.Forward() // what is sent from now on comes behind
	}
	return err
}

// rehome is Rehome without messages.
func (l *Loader) rehome() error {
	w := l.w
	if len(w.shards) == 1 {
		return nil
	}
	for i := range w.placers {
		if p := &w.placers[i]; p.typ != nil {
			if id, ok := w.componentID[p.typ]; ok {
				p.of, p.set, p.fields = w.space.Columns[id].Type(), store.Set{}, []store.Field{{Component: id}}
				p.set.Add(id)
			}
		}
	}
	var all []moving
	for _, s := range w.shards {
		for _, t := range s.Tables() {
			if p := w.placerOf(t); p != nil {
				var err error
				if all, err = p.find(w, t, all); err != nil {
					return err
				}
			}
		}
	}
	if err := w.moveAll(all); err != nil {
		return err
	}
	chosen := map[*store.Table]bool{}
	return w.moveAll(w.strays(func(h handle.Handle) bool {
		t := w.space.TableOf(w.space.Locate(h))
		is, known := chosen[t]
		if !known {
			is = w.placerOf(t) != nil
			chosen[t] = is
		}
		return is
	}))
}

// placerOf returns what chooses the shard of the entities of a table, or nil: of several bundles the one
// with the most components, and of these the first.
func (w *World) placerOf(t *store.Table) (best *placer) {
	set := t.Set()
	for i := range w.placers {
		p := &w.placers[i]
		if p.of == nil || !set.Contains(&p.set) {
			continue
		}
		if best == nil || best.typ != nil && p.typ == nil || (best.typ == nil) == (p.typ == nil) && len(p.fields) > len(best.fields) {
			best = p
		}
	}
	return best
}

// find adds the entities of a table that are to move. An error says that the function has panicked, or
// names no shard.
func (p *placer) find(w *World, t *store.Table, all []moving) ([]moving, error) {
	v, own := p.of.New(1), t.Shard().ID()
	for _, c := range t.Chunks() {
		for _, h := range c.Handles() {
			l := w.space.Locate(h)
			if w.space.Marked(l) {
				continue
			}
			for _, f := range p.fields {
				w.space.Columns[f.Component].Lend(mem.Pointer{Address: v}.At(1, f.Offset).Address, l)
			}
			to, err := w.placed(p.name, func() int { return p.place(v) })
			if err != nil {
				return all, fmt.Errorf("%w, of %v", err, h)
			}
			if to != own {
				all = append(all, moving{h, to})
			}
		}
	}
	return all, nil
}

// ancestorsMost bounds how far strays looks, as relations together may have a cycle.
const ancestorsMost = 1 << 12

// strays returns the entities that are not in the shard of the nearest ancestor that has no parent, or
// whose place is chosen, by relations in which children die with their parents.
func (w *World) strays(chosen func(h handle.Handle) bool) (all []moving) {
	var keep []Family
	for _, x := range w.parts {
		if f, ok := x.(Family); ok {
			if x, ok := x.(interface{ Follows() bool }); ok && !x.Follows() {
				keep = append(keep, f)
			}
		}
	}
	if len(keep) == 0 {
		return nil
	}
	parent := func(h handle.Handle) handle.Handle {
		for _, f := range keep {
			if p := f.Parent(h); p != handle.None {
				return p
			}
		}
		return handle.None
	}
	for own, s := range w.shards {
		for _, t := range s.Tables() {
			for _, c := range t.Chunks() {
				for _, h := range c.Handles() {
					if w.space.Marked(w.space.Locate(h)) || chosen(h) {
						continue
					}
					top := h
					for range ancestorsMost {
						p := parent(top)
						if p == handle.None {
							break
						}
						if top = p; chosen(top) {
							break
						}
					}
					if to, ok := w.ShardOf(top); ok && to != own {
						all = append(all, moving{h, to})
					}
				}
			}
		}
	}
	return all
}

// moveAll moves entities of the world that is being loaded, in order. After an error some have moved.
func (w *World) moveAll(all []moving) error {
	for _, m := range all {
		if err := w.shards[m.to].Migrate(w.space.Locate(m.handle)); err != nil {
			return err
		}
	}
	return nil
}
