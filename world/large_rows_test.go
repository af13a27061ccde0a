package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// TestLargeRows: a chunk takes no more than 4 MB, unless one row does, in each table that an entity
// passes through; also when a query gives a component to chunks of many rows.
func TestLargeRows(t *testing.T) {
	type (
		Huge  [16 << 20]byte
		Large [1 << 20]byte
		Small struct{ N int }
		One   struct{ Small }
	)
	w := world.MustNew(world.Options{Shards: 1})
	huge, large := world.Register[Huge](w, "huge"), world.Register[Large](w, "large")
	small := world.Register[Small](w, "small")
	things := world.NewBundle[One](w)
	h, err := things.AppendN(nil, w, 40, func(i int, v *One) { v.N = i })
	require.NoError(t, err)
	reserved := func() int {
		var s world.Stats
		w.Refresh()
		w.Stats(&s)
		return int(s.BytesReserved >> 20)
	}
	require.Zero(t, reserved())
	require.NoError(t, huge.Add(w, h[0], Huge{1: 7}))
	require.LessOrEqual(t, reserved(), 16)
	require.NoError(t, small.Remove(w, h[0]))
	require.LessOrEqual(t, reserved(), 16+16)
	require.Equal(t, byte(7), world.Read[Huge](w).Get(h[0])[1])

	require.NoError(t, large.AddTo(w.Query(world.Read[Small](w)), nil))
	require.LessOrEqual(t, reserved(), 16+16+39+3)
	for i, h := range h[1:] {
		require.Equal(t, i+1, world.Read[Small](w).Get(h).N)
		require.Zero(t, world.Read[Large](w).Get(h)[i])
	}
	require.NoError(t, large.Remove(w, h[1]))
	q := w.Query(world.Read[Large](w))
	require.NoError(t, q.Remove(large))
	for i, h := range h[1:] {
		require.Equal(t, i+1, world.Read[Small](w).Get(h).N)
	}
}
