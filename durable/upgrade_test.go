package durable_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/durable"
	"github.com/atoll-sim/atoll/world"
)

// TestUpgrade changes a world between two versions of a program, whenever the power goes.
func TestUpgrade(t *testing.T) {
	path, disk := useDisk(t)
	type Fuel struct{ Left int64 }
	called := 0
	open := func(fail error) (*bank, *durable.Store, error) {
		x := newBank(2)
		fuel := world.Register[Fuel](x.World, "fuel")
		x.s.MustAdd("burn", func(b *world.Build) func(*world.Context) {
			left := world.Write[Fuel](b)
			all := b.Query(left)
			return func(*world.Context) {
				for rows := range all.Chunks() {
					for i := range left.Slice(rows) {
						left.Slice(rows)[i].Left--
					}
				}
			}
		})
		x.options.Upgrade = func(w *world.World) error {
			called++
			full := world.Write[Fuel](w)
			return errors.Join(fail, fuel.AddTo(w.Query(world.With[Account](w), world.Without[Fuel](w)), func(rows world.Chunk) {
				for i := range full.Slice(rows) {
					full.Slice(rows)[i].Left = 1000
				}
			}))
		}
		st, err := x.open(path)
		return x, st, err
	}
	old := newBank(1)
	st, err := old.open(path)
	require.NoError(t, err)
	old.step(t)
	require.NoError(t, st.Close())

	wrong := errors.New("it cannot")
	_, _, err = open(wrong)
	require.ErrorIs(t, err, wrong)
	for life := range 4 {
		x, st, err := open(nil)
		require.NoError(t, err)
		require.Equal(t, 2+life, called)
		for h := range x.Query(world.With[Account](x.World)).Entities() {
			require.Equal(t, int64(1000-100*life), world.Read[Fuel](x.World).Get(h).Left)
		}
		for range 100 {
			x.step(t)
		}
		require.NoError(t, st.Wait(t.Context()))
		st.Crash()
		disk.Reboot()
	}
}
