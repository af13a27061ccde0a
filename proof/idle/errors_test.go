package idle_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestErrors does deeds on an idle world, and those that fail must leave its hash as it was.
func TestErrors(t *testing.T) {
	programs(t, func(seed uint64) error {
		dice := rand.New(rand.NewPCG(seed, 5))
		h := newHouse(seed, shape{workers: 1, tight: dice.IntN(4) > 0})
		defer h.close()
		for range deedsOf {
			if dice.IntN(8) == 0 {
				h.pass(dice, creates)
			}
			before, err := h.hasher.Sections()
			if err != nil {
				return err
			}
			what := h.act(dice)
			after, err := h.hasher.Sections()
			if err != nil {
				return err
			}
			if made := what.answer; what.name == "make camps" && made != "0" && made != "<nil>" { // so many before an error
				continue
			}
			if d := differing(before, after, false); what.err != nil && d != "" {
				return fmt.Errorf("%v, and %s differs", what, d)
			}
		}
		return nil
	})
}
