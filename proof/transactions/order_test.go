package transactions_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestKeepsOrder has transactions destroy and create entities where rows keep their order, with huge
// pages and without: the rest stays as it was, and one that fails changes nothing.
func TestKeepsOrder(t *testing.T) {
	for _, huge := range []bool{false, true} {
		w := world.MustNew(world.Options{Shards: 1, KeepOrder: true, HugePages: huge})
		world.Register[Purse](w, "purse")
		purses := world.NewBundle[struct{ Purse }](w)
		hs, err := purses.AppendN(nil, w, 5000, nil)
		require.NoError(t, err)
		on := errors.New("on purpose")
		swap := world.RegisterTransaction(w, "swap", func(tx *world.Tx, fails bool) (handle.Handle, error) {
			for i := 0; i < 3000; i += 7 {
				if err := tx.Destroy(hs[i]); err != nil {
					return handle.None, err
				}
			}
			h, err := purses.Create(tx, struct{ Purse }{})
			if fails {
				err = on
			}
			return h, err
		})
		all := func() (all []handle.Handle) {
			for h := range w.Query(world.With[Purse](w)).Entities() {
				all = append(all, h)
			}
			return all
		}
		s := scheduler.New(w, scheduler.Options{Workers: 1})
		p, err := w.OpenPort()
		require.NoError(t, err)
		var answer world.Answer[handle.Handle]
		require.NoError(t, swap.Send(p, true, &answer))
		require.NoError(t, s.Step(t.Context()))
		_, err = answer.Get(t.Context())
		require.ErrorIs(t, err, on)
		require.Equal(t, hs, all())
		require.NoError(t, swap.Send(p, false, &answer))
		require.NoError(t, s.Step(t.Context()))
		made, err := answer.Get(t.Context())
		require.NoError(t, err)
		var want []handle.Handle
		for i, h := range hs {
			if i >= 3000 || i%7 != 0 {
				want = append(want, h)
			}
		}
		require.Equal(t, append(want, made), all())
		w.Close()
	}
}
