package pairs_test

import (
	"iter"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// record has the world remember who was created and destroyed, and asks which chunks
// changed.
func record() *feature {
	return &feature{
		name:    "record",
		options: func(_ randomNumbers, o *world.Options) { o.Record = true },
		check: func(s *scene) {
			since := s.model.tick - min(s.model.tick, 1+s.model.tick%2)
			created, err := s.CreatedSince(since)
			s.must(err == nil, "CreatedSince: %v", err)
			s.mustRecall("created", created, s.model.created[since:])
			destroyed, err := s.DestroyedSince(since)
			s.must(err == nil, "DestroyedSince: %v", err)
			s.mustRecall("destroyed", destroyed, s.model.destroyed[since:])
			for ch := range s.Query(s.parts[0].with(s.World)).ChunksSince(since) {
				s.see("changed chunk", ch.Handle(0), uint64(ch.Len()))
			}
		},
	}
}

func (s *scene) mustRecall(what string, recalled iter.Seq[handle.Handle], ticks [][]handle.Handle) {
	var got []handle.Handle
	for h := range recalled {
		s.see(what, h, 0)
		got = append(got, h)
	}
	want := slices.Concat(ticks...)
	slices.Sort(got)
	slices.Sort(want)
	s.must(slices.Equal(got, want), "%d are recorded as %s, by the model %d", len(got), what, len(want))
}
