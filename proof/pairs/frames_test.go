package pairs_test

import (
	"bytes"

	"github.com/atoll-sim/atoll/snapshot"
)

// heldFrame is a frame of the world, with the rest of a snapshot, and what it was written as when
// it was made.
type heldFrame struct {
	*snapshot.Captured
	want []byte
}

// frames holds frames for some ticks: whatever the world does meanwhile, they are written as the
// same bytes, and forks of them too. With snapshots the world goes on from such bytes, or as a fork,
// now and then.
func frames() *feature {
	return &feature{name: "frames", check: func(s *scene) {
		held, _ := s.made["frames"].([]*heldFrame)
		for i := len(held) - 1; i >= 0; i-- {
			var b bytes.Buffer
			err := held[i].Save(&b)
			s.must(err == nil && bytes.Equal(held[i].want, b.Bytes()), "a frame that was held is another: %v", err)
			if s.n(3) == 0 {
				fork := s.captured(s.fork(held[i].Captured))
				s.must(bytes.Equal(held[i].want, fork.want), "a fork of a frame that was held is another world")
				fork.Release()
				held[i].Release()
				held = append(held[:i], held[i+1:]...)
			}
		}
		if len(held) < s.Options().FramesMax-1 && s.n(2) == 0 {
			x := s.captured(s.objects)
			held = append(held, x)
		}
		s.made["frames"] = held
	}}
}

// fork makes a world of what was captured.
func (s *scene) fork(c *snapshot.Captured) *objects {
	o := newObjects(s.plan, s.workers, s.chaos)
	err := c.Load(o.World, snapshot.Options{Codecs: o.codecs, Scheduler: o.ticks, Workers: s.workers})
	s.must(err == nil, "forking: %v", err)
	return o
}

func (s *scene) captured(o *objects) *heldFrame {
	c, err := snapshot.Capture(o.World, snapshot.Options{Codecs: o.codecs, Scheduler: o.ticks, Compression: snapshot.None})
	s.must(err == nil, "Capture: %v", err)
	var b bytes.Buffer
	err = c.Save(&b)
	s.must(err == nil, "saving what was captured: %v", err)
	return &heldFrame{c, b.Bytes()}
}
