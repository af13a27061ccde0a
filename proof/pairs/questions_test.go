package pairs_test

import (
	"github.com/atoll-sim/atoll/world"
)

// questions has ports ask for components, and a question.
func questions() *feature {
	return &feature{
		name: "questions",
		prepare: func(o *objects) {
			o.made["question"] = world.RegisterQuestion(o.World, "question", func(self *world.EntityContext, n int64) int64 {
				for _, p := range o.parts {
					if v, ok := p.read(self); ok {
						n += v
					}
				}
				return n
			})
		},
		between: func(s *scene) {
			for range 800 {
				s.question(s.ports[s.n(len(s.ports))])
			}
		},
	}
}

func (s *scene) question(p *world.Port) {
	h, i, n := s.someone(), s.n(partsN+1)-1, s.next()
	r := &request{act: &act{name: "ask", h: h}, promise: &promise{}}
	var err error
	if i >= 0 {
		r.promise.done, r.promise.value, err = s.parts[i].ask(p, h)
	} else {
		a := new(world.Answer[int64])
		r.promise.done, r.promise.value = &a.Completion, a.Value
		err = s.made["question"].(*world.Question[int64, int64]).Ask(p, h, n, a)
	}
	s.must(err == nil, "Ask: %v", err)
	r.model = func(_ *model, e *entity) world.Outcome {
		switch {
		case e == nil:
			return world.Gone
		case i >= 0 && !e.has.has(i):
			return world.Missing
		case i >= 0:
			r.promise.answer = e.value[i]
			return world.Applied
		}
		r.promise.answer = n
		for k := range partsN {
			if e.has.has(k) {
				r.promise.answer += e.value[k]
			}
		}
		return world.Applied
	}
	s.accept(p.Number(), r)
}
