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
// same bytes. With snapshots the world goes on from such bytes now and then.
func frames() *feature {
	return &feature{name: "frames", check: func(s *scene) {
		held, _ := s.made["frames"].([]*heldFrame)
		for i := len(held) - 1; i >= 0; i-- {
			var b bytes.Buffer
			err := held[i].Save(&b)
			s.must(err == nil && bytes.Equal(held[i].want, b.Bytes()), "a frame that was held is another: %v", err)
			if s.n(3) == 0 {
				held[i].Release()
				held = append(held[:i], held[i+1:]...)
			}
		}
		if len(held) < s.Options().FramesMax-1 && s.n(2) == 0 {
			x := s.captured()
			held = append(held, x)
		}
		s.made["frames"] = held
	}}
}

func (s *scene) captured() *heldFrame {
	c, err := snapshot.Capture(s.World, snapshot.Options{Codecs: s.codecs, Scheduler: s.objects.ticks, Compression: snapshot.None})
	s.must(err == nil, "Capture: %v", err)
	var b bytes.Buffer
	err = c.Save(&b)
	s.must(err == nil, "saving what was captured: %v", err)
	return &heldFrame{c, b.Bytes()}
}
