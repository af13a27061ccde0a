package pairs_test

import (
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// meanwhile is what a port sends while one refresh runs. A replay has none.
//
// Ownership: the scene's; in the refresh whoever is the first to call a function.
type meanwhile struct {
	of   *objects
	port *world.Port
	acts []*act
	once sync.Once
	sent []*request
	err  error
}

// during has a port send on a goroutine of its own while a refresh runs: a function that the refresh
// calls waits for it. What is sent then waits for the next refresh.
func during() *feature {
	return &feature{
		name: "during",
		prepare: func(o *objects) {
			o.made["wait"] = world.RegisterFunc(o.World, "wait", func(_ *world.EntityContext, _ struct{}) {
				if x, ok := o.made["during"].(*meanwhile); ok {
					x.once.Do(func() { aside(x.send) })
				}
			})
		},
		between: func(s *scene) {
			x := &meanwhile{of: s.objects}
			if was, ok := s.made["during"].(*meanwhile); ok {
				x.port = was.port
			} else {
				var err error
				x.port, err = s.OpenPort()
				s.must(err == nil, "OpenPort: %v", err)
			}
			for range 3 {
				for _, f := range s.plan.features {
					x.acts = append(x.acts, kill(s.someone()))
					if f.draw != nil && f.by&byPort != 0 {
						if a := f.draw(&s.drawer); a != nil && a.born == nil {
							x.acts = append(x.acts, a)
						}
					}
				}
			}
			s.made["during"] = x
			for range 5 { // some may be dead by then
				s.byPort(s.ports[0], on("wait", s.someone(), func(o *objects, by world.Actor, h handle.Handle) error {
					return o.made["wait"].(*world.Func[struct{}]).Call(by, h, struct{}{})
				}, func(_ *model, e *entity) world.Outcome {
					if e == nil {
						return world.Gone
					}
					return world.Applied
				}), false)
			}
		},
		check: func(s *scene) {
			x, ok := s.made["during"].(*meanwhile)
			if !ok {
				return
			}
			s.must(x.err == nil, "sending during a refresh: %v", x.err)
			for _, r := range x.sent {
				s.accept(x.port.Number(), r)
			}
			x.sent = nil
		},
	}
}

// send sends all acts.
func (x *meanwhile) send() {
	for _, a := range x.acts {
		r := &request{act: a}
		if r.made, x.err = a.do(x.of, x.port); x.err != nil {
			return
		}
		x.sent = append(x.sent, r)
	}
}
