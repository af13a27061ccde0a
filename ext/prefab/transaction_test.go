package prefab_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestTransactionKeepsTurn has a transaction go on after an instance for which no shard has room: the
// next entity is made where it would have been without the attempt.
func TestTransactionKeepsTurn(t *testing.T) {
	type Mark struct{}
	type Marked struct{ Mark }
	for _, tries := range []int{0, 1, 2} {
		w := world.MustNew(world.Options{Shards: 3, IndexMax: 8})
		mark := world.Register[Mark](w, "mark")
		marked := world.NewBundle[Marked](w)
		kin := hierarchy.New(w, "kin", hierarchy.Options{})
		parts := []prefab.Part{prefab.With(mark, Mark{})}
		for range 10 {
			parts = append(parts, prefab.Child(kin, -1, prefab.With(mark, Mark{})))
		}
		camp := prefab.New(w, "camp", parts...)
		do := world.RegisterTransaction(w, "do", func(tx *world.Tx, _ int) (hs []handle.Handle, err error) {
			for range tries {
				_, err := camp.Create(tx)
				require.ErrorIs(t, err, world.ErrIndexes)
			}
			for range 4 {
				h, err := marked.Create(tx, Marked{})
				if err != nil {
					return nil, err
				}
				hs = append(hs, h)
			}
			return hs, nil
		})
		hs, err := do.Run(w, 0)
		require.NoError(t, err)
		for _, h := range hs {
			require.Zero(t, h.Home(), "after %d", tries)
		}
		w.Close()
	}
}
