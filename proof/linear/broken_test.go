package linear_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// sample records a few histories for the tests of the checker itself.
func sample(t *testing.T, n int) []history {
	var all []history
	for i := range n {
		h := newHistory(newShape(rand.New(rand.NewPCG(seedOf(i), 1))), seedOf(i))
		require.Equal(t, porcupine.Ok, h.check(h.rules), "seed %d", seedOf(i))
		all = append(all, h)
	}
	return all
}

// TestFlawsAreSeen checks good histories by specifications that are wrong in one
// rule each: for each rule there are histories that break it, so it is checked.
func TestFlawsAreSeen(t *testing.T) {
	all := sample(t, 100)
	for _, flaw := range flaws {
		t.Run(string(flaw), func(t *testing.T) {
			seen := 0
			for _, h := range all {
				u := h.rules
				u.flaw = flaw
				if h.check(u) == porcupine.Illegal {
					seen++
				}
			}
			t.Logf("seen in %d of %d histories", seen, len(all))
			require.NotZero(t, seen)
		})
	}
}

// damages are what a broken service would have answered: each changes one record of
// a slot, or adds one, and reports whether it could.
var damages = []struct {
	name   string
	damage func([]record) ([]record, bool)
}{
	{"a handle is given twice", func(own []record) ([]record, bool) {
		for _, r := range own {
			if r.verb == create {
				r.called, r.returned = end(own)+1, end(own)+2
				return append(own, r), true
			}
		}
		return own, false
	}},
	{"a stale handle is alive again", func(own []record) ([]record, bool) {
		for _, r := range slices.Backward(own) {
			if r.verb == look && r.status == world.Stale {
				r.status, r.called, r.returned = world.Alive, end(own)+1, end(own)+2
				return append(own, r), true
			}
		}
		return own, false
	}},
	{"a create is lost", func(own []record) ([]record, bool) {
		return own, change(own, func(r *record) bool {
			was := r.verb == look && r.status == world.Alive
			if was {
				r.status = world.Pending
			}
			return was
		})
	}},
	{"a destroy is lost", func(own []record) ([]record, bool) {
		return own, change(own, func(r *record) bool {
			was := r.verb == look && r.status == world.Stale
			if was {
				r.status = world.Alive
			}
			return was
		})
	}},
	{"two are told that they destroyed it", func(own []record) ([]record, bool) {
		applied := map[handle.Handle]bool{}
		return own, change(own, func(r *record) bool {
			if r.verb != told || !isDestroy(own, r.request) {
				return false
			}
			if r.outcome == world.Applied {
				applied[r.h] = true
			}
			was := r.outcome == world.Gone && applied[r.h]
			if was {
				r.outcome = world.Applied
			}
			return was
		})
	}},
	{"nobody is told that he destroyed it", func(own []record) ([]record, bool) {
		return own, change(own, func(r *record) bool {
			was := r.verb == told && r.outcome == world.Applied
			if was {
				r.outcome = world.Gone
			}
			return was
		})
	}},
	{"an outcome is told twice", func(own []record) ([]record, bool) {
		for _, r := range own {
			if r.verb == told {
				r.called, r.returned = end(own)+1, end(own)+2
				return append(own, r), true
			}
		}
		return own, false
	}},
	{"an outcome is told before the refresh", func(own []record) ([]record, bool) {
		return own, change(own, func(r *record) bool {
			i := slices.IndexFunc(own, func(q record) bool { return q.verb != told && q.request == r.request })
			was := r.verb == told && i >= 0
			if was {
				r.called, r.returned = own[i].returned, own[i].returned
			}
			return was
		})
	}},
	{"a refresh applies nothing", func(own []record) ([]record, bool) {
		for i, r := range own {
			if r.verb == store {
				return slices.Delete(own, i, i+1), true
			}
		}
		return own, false
	}},
}

// change changes the first record that f wants to.
func change(own []record, f func(*record) bool) bool {
	for i := range own {
		if f(&own[i]) {
			return true
		}
	}
	return false
}

func isDestroy(own []record, request uint16) bool {
	return slices.ContainsFunc(own, func(r record) bool { return r.verb == destroy && r.request == request })
}

// end is when everything was over.
func end(own []record) int64 {
	last := int64(0)
	for _, r := range own {
		last = max(last, r.returned)
	}
	return last
}

// TestDamageIsSeen damages good histories. What was answered can have another
// explanation, an operation at the same time; mostly it has none.
func TestDamageIsSeen(t *testing.T) {
	all := sample(t, 100)
	for _, test := range damages {
		t.Run(test.name, func(t *testing.T) {
			seen, made := 0, 0
			for _, h := range all {
				h.slots = slices.Clone(h.slots)
				for i, own := range h.slots {
					bad, ok := test.damage(slices.Clone(own))
					if !ok {
						continue
					}
					h.slots[i] = bad
					made++
					if h.check(h.rules) == porcupine.Illegal {
						seen++
					}
					break
				}
			}
			t.Logf("seen in %d of %d histories", seen, made)
			require.Greater(t, made, len(all)/3, "histories that could be damaged")
			require.Greater(t, seen, made/2)
		})
	}
}
