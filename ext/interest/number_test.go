package interest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/world"
)

// TestNoPlace has clients at what is no place, as a client may send it: they see nothing, and see
// again when they are somewhere.
func TestNoPlace(t *testing.T) {
	x := newField(t, world.Options{})
	x.unit(1, 1)
	x.Refresh()
	s := x.newSet(interest.Options{})
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, p := range []near.Point{{X: bad}, {Y: bad}, {Z: bad}} {
			for _, radius := range []float64{10, 1e200, math.Inf(1)} {
				v := s.Open(interest.ClientOptions{At: p, Radius: radius, Margin: 1})
				require.Empty(t, x.update(s, 2)[v].Rows)
				v.Change(interest.ClientOptions{Radius: radius})
				require.Len(t, x.update(s, 2)[v].Rows, 1)
				v.Change(interest.ClientOptions{At: p, Radius: radius})
				require.Len(t, x.update(s, 2)[v].Leaves, 1)
				v.Close()
			}
		}
	}
}

// TestFar has radii whose squares no float64 can hold.
func TestFar(t *testing.T) {
	x := newField(t, world.Options{})
	x.unit(1e155, 0)
	x.unit(3e155, 0)
	x.unit(9e155, 0)
	x.Refresh()
	s := x.newSet(interest.Options{})
	for _, test := range []struct {
		radius, margin float64
		seen           int
	}{{1e154, 0, 0}, {1e10, 1e155, 0}, {2e155, 0, 1}, {2e155, 1e156, 1}, {4e155, 0, 2}, {1e200, 0, 3}, {math.Inf(1), 0, 3}, {math.Inf(1), math.Inf(1), 3}, {0, math.Inf(1), 0}} {
		v := s.Open(interest.ClientOptions{Radius: test.radius, Margin: test.margin, Bytes: 1000})
		require.Len(t, x.update(s, 1)[v].Rows, test.seen, "%v", test)
		v.Close()
	}
	v := s.Open(interest.ClientOptions{Radius: math.Inf(1)})
	require.Len(t, x.update(s, 1)[v].Rows, 3)
	v.Change(interest.ClientOptions{Radius: 2e155, Margin: 2e155})
	require.Len(t, x.update(s, 1)[v].Leaves, 1, "two are within radius and margin")
}
