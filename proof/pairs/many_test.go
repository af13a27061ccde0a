package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// many has ports create, destroy and set many by one call, alone and in batches. The model takes
// that for as many requests, which have one promise.
func many() *feature {
	return &feature{
		name: "many",
		between: func(s *scene) {
			for range 6 {
				p := s.ports[s.n(len(s.ports))]
				if s.coin() {
					s.acceptAll(p, s.many(p))
					continue
				}
				var all []*request
				err := p.Batch(func() error {
					all = append(s.many(p), s.many(p)...)
					return nil
				})
				s.must(err == nil, "Batch: %v", err)
				s.acceptAll(p, all)
			}
		},
	}
}

// many has a port ask for up to 100 things by one call.
func (s *scene) many(p *world.Port) (all []*request) {
	var done *promise
	if s.coin() {
		done = &promise{done: new(world.Completion)}
		p.Notify(done.done)
	}
	n, kind := 1+s.n(100), s.n(4)
	if kind == 0 && s.crowd > population*3/2 || kind == 1 && s.crowd < population/2 {
		kind = 2
	}
	if kind == 0 {
		a := spawn(&s.drawer, n)
		hs, err := a.do(s.objects, p)
		s.must(err == nil && len(hs) == n, "creating %d by port %d: %v", n, p.Number(), err)
		return []*request{{act: a, made: hs, promise: done}}
	}
	hs, i, first := make([]handle.Handle, n), s.n(partsN), s.next()
	for k := range hs {
		h := s.someone()
		a := kill(h)
		if kind > 1 {
			value := first
			if k > 0 {
				value = s.next()
			}
			a = on("set", h, nil, func(m *model, e *entity) world.Outcome { return m.set(e, 1<<i, alike(value)) })
		}
		hs[k], all = h, append(all, &request{act: a, promise: done})
	}
	err := p.DestroyN
	if kind > 1 {
		err = func(hs []handle.Handle) error { return s.parts[i].setN(p, hs, first) }
	}
	if e := err(hs); e != nil {
		s.fail("%d of kind %d by port %d: %v", n, kind, p.Number(), e)
	}
	clear(hs) // the world has taken what it needs
	return all
}

func (s *scene) acceptAll(p *world.Port, all []*request) {
	for _, r := range all {
		s.accept(p.Number(), r)
	}
}
