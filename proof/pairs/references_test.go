package pairs_test

import (
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// held are references of a scene.
type held struct {
	weak   []*weakling
	owners []*reference.Owner
	owned  map[handle.Handle]bool // ever
}

type weakling struct {
	reference.Weak
	of handle.Handle
}

// references keeps weak and owning references, to those too that a port has just created,
// and gives them up between ticks and in systems.
func references() *feature {
	return &feature{
		name: "references",
		between: func(s *scene) {
			r, ok := s.made["references"].(*held)
			if !ok {
				r = &held{owned: map[handle.Handle]bool{}}
				s.made["references"] = r
			}
			for range 300 {
				h := s.someone()
				w := &weakling{reference.To(s.World, h), h}
				s.must(w.Alive() == (s.model.alive(h) != nil), "a new weak reference to %v is alive: %t", h, w.Alive())
				r.weak = append(r.weak, w)
			}
			for range 300 {
				r.own(s, s.World, s.someone())
			}
			for range 300 {
				p := s.ports[s.n(len(s.ports))]
				a := spawn(&s.drawer, 1)
				q := s.ask(p, a, false)
				s.accept(p.Number(), q)
				r.own(s, p, q.made[0])
			}
			r.release(s)
		},
		check: func(s *scene) {
			r := s.made["references"].(*held)
			keep := r.weak[:0]
			for _, w := range r.weak {
				alive := s.model.alive(w.of) != nil
				h, ok := w.Get()
				if ok != alive || ok && h != w.of {
					s.fail("a weak reference to %v: %v, alive %t", w.of, h, ok)
				}
				s.see("weak", w.of, uint64(h))
				if ok {
					keep = append(keep, w)
				}
			}
			r.weak = keep
			for _, o := range r.owners {
				s.must(o.Alive() == (s.model.alive(o.Handle()) != nil), "an owner of %v is alive: %t", o.Handle(), o.Alive())
			}
		},
	}
}

// own takes the ownership of an entity that had none.
func (r *held) own(s *scene, by world.Actor, h handle.Handle) {
	e := s.model.entities[h]
	if e == nil || e.marked || r.owned[h] {
		return
	}
	r.owned[h] = true
	o := reference.Own(by, h, nil)
	s.must(o.Handle() == h, "Own of %v, which is %v, gives nothing", h, s.Status(h))
	r.owners = append(r.owners, &o)
	if s.n(3) == 0 {
		clone := o.Clone()
		r.owners = append(r.owners, &clone)
	}
}

// release gives up half of what is owned, and some weak references with their entities:
// between ticks, and in systems.
func (r *held) release(s *scene) {
	s.dice.Shuffle(len(r.owners), func(i, j int) { r.owners[i], r.owners[j] = r.owners[j], r.owners[i] })
	for _, o := range r.owners[len(r.owners)/2:] {
		h, last, bySystem := o.Handle(), o.Shares() == 1, false
		a := &act{name: "release", outer: true, h: h, do: func(_ *objects, by world.Actor) ([]handle.Handle, error) {
			_, bySystem = by.(*world.Context)
			last = o.Shares() == 1
			o.Release()
			return nil, nil
		}, model: func(m *model, _ *entity) world.Outcome {
			if last {
				m.release(h, bySystem)
			}
			return world.Applied
		}}
		s.loose(a, o.Shares() == 1)
	}
	r.owners = r.owners[:len(r.owners)/2]
	keep := r.weak[:0]
	for i, w := range r.weak {
		if i%16 != 0 {
			keep = append(keep, w)
			continue
		}
		h, bySystem := w.of, false
		s.loose(&act{name: "destroy by a weak reference", outer: true, h: h, do: func(_ *objects, by world.Actor) ([]handle.Handle, error) {
			_, bySystem = by.(*world.Context)
			w.Destroy()
			return nil, nil
		}, model: func(m *model, _ *entity) world.Outcome {
			m.release(h, bySystem)
			return world.Applied
		}}, true)
	}
	r.weak = keep // the others are empty, also where a relation spares the entity
}

// loose does an act that needs no actor: here, or if it may in a system.
func (s *scene) loose(a *act, may bool) {
	if may && s.coin() {
		s.script(s.n(s.Shards()), a)
		return
	}
	_, _ = a.do(s.objects, s.World)
	s.model.now(a, nil)
}
