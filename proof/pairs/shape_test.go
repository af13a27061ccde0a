package pairs_test

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/world"
)

type randomNumbers = *rand.Rand

// reopen closes ports behind what they have sent, and opens others.
func reopen() *feature {
	return &feature{
		name: "reopen",
		between: func(s *scene) {
			for i := range s.ports {
				if s.coin() {
					continue
				}
				for range 50 {
					s.byPort(s.ports[i], spawn(&s.drawer, 1), s.coin())
					s.byPort(s.ports[i], kill(s.someone()), s.coin())
				}
				s.ports[i].Close()
				p, err := s.OpenPort()
				s.must(err == nil, "OpenPort: %v", err)
				s.ports[i] = p
			}
		},
	}
}

// wear gives slots few versions, so that they are used up.
func wear() *feature {
	return &feature{
		name:    "wear",
		options: func(_ randomNumbers, o *world.Options) { o.VersionMax = 3 },
	}
}

// order keeps the order of rows.
func order() *feature {
	return &feature{
		name:    "order",
		options: func(_ randomNumbers, o *world.Options) { o.KeepOrder = true },
	}
}
