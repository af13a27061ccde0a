package pairs_test

import (
	"errors"

	"github.com/atoll-sim/atoll/world"
)

var errBack = errors.New("the batch is taken back")

// batches has ports send what other features draw in batches, and takes some back.
func batches() *feature {
	return &feature{
		name: "batches",
		between: func(s *scene) {
			for range 8 {
				s.batch(s.ports[s.n(len(s.ports))])
			}
		},
	}
}

func (s *scene) batch(p *world.Port) {
	back := s.n(3) == 0
	var all []*request
	err := p.Batch(func() error {
		for range 30 + s.n(100) {
			f := s.plan.features[s.n(len(s.plan.features))]
			a := spawn(&s.drawer, 1)
			if f.draw != nil && f.by&byPort != 0 {
				if a = f.draw(&s.drawer); a == nil {
					continue
				}
			}
			all = append(all, s.ask(p, a, s.coin()))
		}
		if back {
			return errBack
		}
		return nil
	})
	s.must(errors.Is(err, errBack) == back && (err == nil) != back, "Batch: %v", err)
	for _, r := range all {
		if !back {
			s.accept(p.Number(), r)
			continue
		}
		for _, h := range r.made {
			s.must(!s.model.given[h], "%v was given before", h)
			s.model.given[h] = true
			s.last = append(s.last, h) // who is asked about, and never alive
		}
	}
}
