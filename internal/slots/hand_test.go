package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// TestGiven follows handles from draw to death: given is what a hand gave to a caller.
func TestGiven(t *testing.T) {
	s := newHomes(t, 2, 5000, handle.VersionMax)
	o := s.outside.PortAllocator
	var hands [3]slots.Hand
	var given, free []handle.Handle
	check := func() {
		t.Helper()
		for _, h := range given {
			require.True(t, o.Given(h), "%v", h)
			require.False(t, o.Given(h+1))
		}
		for _, h := range free {
			require.False(t, o.Given(h), "%v", h)
		}
	}
	for port := range hands {
		o.Join()
		require.NoError(t, o.Take(&hands[port], port, 700, 700))
		for i := range hands[port].Len() {
			free = append(free, hands[port].Next(i))
		}
	}
	free = append(free, handle.New(2, 4000, 1), handle.New(2, 2100, 1), handle.New(2, 5000, 1), handle.New(2, handle.IndexMax, 1))
	check()
	for port := range hands {
		first := hands[port].Next(0)
		require.Equal(t, first, hands[port].Give())
		some := make([]handle.Handle, 99)
		hands[port].GiveN(some)
		given = append(append(given, first), some...)
		free = free[100:]
		free = append(free, free[:600]...)[600:] // the next port has these
	}
	check()
	o.Put(&hands[0], 10)
	require.Equal(t, 10, hands[0].Len())
	check()
	o.Leave(&hands[1])
	check()
	require.NoError(t, o.Take(&hands[2], 2, 800, 0)) // what the others have put back
	check()
	dead := given[:50]
	given = given[50:]
	o.Recycle(dead)
	for _, h := range dead { // Given is asked of handles that are their slots'
		free = append(free, h+1)
	}
	check()
	var again slots.Hand
	o.Join()
	require.NoError(t, o.Take(&again, 1, 30, 0))
	for range 30 {
		h := again.Give()
		require.Equal(t, uint32(2), h.Version())
		require.True(t, o.Given(h))
		require.False(t, o.Given(h-1))
	}
}
