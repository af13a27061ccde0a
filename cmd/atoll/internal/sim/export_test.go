package sim

import (
	"context"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
)

// Play makes the ticks of a sim and returns what is left.
func Play(ctx context.Context, c Config) (*realm.Realm, error) {
	s, err := newSim(c, true)
	for n := 0; n < c.Ticks && err == nil; n++ {
		err = s.step(ctx)
	}
	return s.realm, err
}
