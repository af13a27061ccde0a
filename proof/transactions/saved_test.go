package transactions_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// draws is a world whose transaction draws a number.
type draws struct {
	*world.World
	t    *testing.T
	draw *world.Transaction[int, uint64]
}

func newDraws(t *testing.T) *draws {
	w := world.MustNew(world.Options{Shards: 2, Seed: 3})
	return &draws{w, t, world.RegisterTransaction(w, "draw", func(tx *world.Tx, _ int) (uint64, error) {
		return tx.Rand().Uint64(), nil
	})}
}

// next returns what the transaction draws in the next refresh.
func (d *draws) next() uint64 {
	d.t.Helper()
	p, err := d.OpenPort()
	require.NoError(d.t, err)
	var answer world.Answer[uint64]
	require.NoError(d.t, d.draw.Send(p, 0, &answer))
	d.Refresh()
	v, err := answer.Get(d.t.Context())
	require.NoError(d.t, err)
	p.Close()
	return v
}

// TestSavedRand saves a world whose idle transactions have drawn, and loads it: the transactions of
// the next refresh draw the same numbers in both worlds.
func TestSavedRand(t *testing.T) {
	for name, before := range map[string]func(d *draws){
		"run":     func(d *draws) { _, _ = d.draw.Run(d.World, 0) },
		"refresh": func(d *draws) { d.next() },
	} {
		t.Run(name, func(t *testing.T) {
			played, loaded := newDraws(t), newDraws(t)
			before(played)
			var saved bytes.Buffer
			require.NoError(t, snapshot.Write(&saved, played.World, snapshot.Options{}))
			require.NoError(t, snapshot.Load(&saved, loaded.World, snapshot.Options{}))
			require.Equal(t, played.next(), loaded.next())
		})
	}
}

// TestSavedRuns saves a world between two runs while it is idle: in the loaded world the second draws
// what it draws in the first.
func TestSavedRuns(t *testing.T) {
	for ticks := range 3 {
		played, loaded := newDraws(t), newDraws(t)
		for range ticks {
			played.next()
		}
		first, err := played.draw.Run(played.World, 0)
		require.NoError(t, err)
		var saved bytes.Buffer
		require.NoError(t, snapshot.Write(&saved, played.World, snapshot.Options{}))
		require.NoError(t, snapshot.Load(&saved, loaded.World, snapshot.Options{}))
		for range 2 {
			want, err := played.draw.Run(played.World, 0)
			require.NoError(t, err)
			require.NotEqual(t, first, want)
			got, err := loaded.draw.Run(loaded.World, 0)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, played.next(), loaded.next())
		}
	}
}
