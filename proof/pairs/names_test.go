package pairs_test

import (
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// nameMax is how many names there are: so few that they are taken all the time.
const nameMax = 700

// uniqueNames binds names and gives them up.
func uniqueNames() *feature {
	of := func(o *objects) *names.Names[int64] { return o.made["names"].(*names.Names[int64]) }
	return &feature{
		name: "names", rate: 900, by: byAny &^ byGlobal,
		prepare: func(o *objects) {
			o.made["names"] = names.New[int64](o.World, "names", names.Options{ConflictsMax: 100000})
		},
		draw: func(d *drawer) (a *act) {
			h, name := d.someone(), int64(d.n(nameMax))
			if d.n(5) == 0 {
				a = on("unbind", h, func(o *objects, by world.Actor, h handle.Handle) error { return of(o).Unbind(by, h) }, (*model).unbind)
			} else {
				a = on("bind", h, func(o *objects, by world.Actor, h handle.Handle) error { return of(o).Bind(by, h, name) },
					func(m *model, e *entity) world.Outcome { return m.bind(e, name) })
			}
			a.joint = true
			return a
		},
		check: func(s *scene) {
			if s.quiet {
				return
			}
			all := of(s.objects)
			s.must(all.Len() == len(s.model.names), "%d names, by the model %d", all.Len(), len(s.model.names))
			for name := range int64(nameMax) {
				h, ok := all.Lookup(name)
				want, is := s.model.names[name]
				if ok != is || h != want {
					s.fail("name %d is that of %v, by the model %v", name, h, want)
				}
				s.see("name", h, uint64(name))
				if ok {
					back, _ := all.NameOf(h)
					if back != name {
						s.fail("%v is called %d and %d", h, name, back)
					}
				}
			}
			for h, e := range s.model.entities {
				_, ok := all.NameOf(h)
				if ok != e.named {
					s.fail("%v has a name: %t, by the model %t", h, ok, e.named)
				}
			}
			for _, r := range all.Conflicts() {
				s.see("refused name", r.Entity, mix(uint64(r.Name), uint64(r.Holder)))
			}
		},
	}
}

func (m *model) bind(e *entity, name int64) world.Outcome {
	if e == nil {
		return world.Gone
	}
	if other := m.entities[m.names[name]]; other != nil && other != e {
		if !other.marked {
			return world.Refused
		}
		other.named = false
	}
	if e.named {
		delete(m.names, e.name)
	}
	e.named, e.name, m.names[name] = true, name, e.h
	return world.Applied
}

func (m *model) unbind(e *entity) world.Outcome {
	switch {
	case e == nil:
		return world.Gone
	case !e.named:
		return world.Missing
	}
	delete(m.names, e.name)
	e.named = false
	return world.Applied
}
