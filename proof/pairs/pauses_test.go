package pairs_test

import (
	"io"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/inputlog"
)

// pauses changes the idle world several times between a refresh and the next, as other features do.
// Between the changes a Recorder looks: it must have been told of each that shows in the hash. What
// is saved there loads as the same world.
func pauses() *feature {
	return &feature{
		name: "pauses",
		between: func(s *scene) {
			told := 0
			if s.made["tapes"] != nil { // a Recorder that is not told
				s.meddle(5)
				return
			}
			r, err := inputlog.NewRecorder(s.World, io.Discard, inputlog.Options{Codecs: s.codecs, NoHash: true, OnChange: func() { told++ }})
			s.must(err == nil, "NewRecorder: %v", err)
			before, err := s.hasher.StateHash()
			s.must(err == nil, "StateHash: %v", err)
			for range 5 {
				was := told
				s.meddle(1 + s.n(3))
				after, err := s.hasher.StateHash()
				s.must(err == nil, "StateHash: %v", err)
				engine.Of(s.World).LookForChanges()
				s.must(told > was || after == before, "the idle world has changed, and the Recorder was not told")
				before = after
			}
			s.must(r.Close() == nil, "the recorder: %v", r.Err())
			if !s.plan.has("references") { // owners are of one world
				o := s.load(s.saved(s.objects))
				after, err := o.hasher.StateHash()
				s.must(err == nil && before == after, "the hash is %v, was %v: %v", after, before, err)
				o.Close()
			}
		},
	}
}
