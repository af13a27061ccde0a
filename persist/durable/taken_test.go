package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

type ring uint8

// rings is a program with constants, and a transaction with one of them as its argument.
func rings(build string, names map[ring]string, o durable.OtherProgram) (*bank, *world.Transaction[ring, bool]) {
	x := newBank(1)
	c := new(state.Codecs)
	state.RegisterEnum(c, names)
	x.options.Snapshot.Codecs, x.options.Content, x.options.OtherProgram = c, []byte(build), o
	return x, world.RegisterTransaction(x.World, "wear", func(*world.Tx, ring) (bool, error) { return true, nil })
}

// TestNumberIsConstant logs a number without a name in the third of five ticks, and starts a program in
// which that is a constant. Whoever wrote the log, it is not played as that; and all errors say how far
// it is played otherwise.
func TestNumberIsConstant(t *testing.T) {
	path, disk := useDisk(t)
	x, wear := rings("a", map[ring]string{1: "gold"}, durable.RefuseOther)
	st, err := x.open(path)
	require.NoError(t, err)
	p, err := x.OpenPort()
	require.NoError(t, err)
	for i := range 5 {
		require.NoError(t, wear.Call(p, map[bool]ring{true: 2, false: 1}[i == 2]))
		x.step(t)
	}
	require.NoError(t, st.Wait(t.Context()))
	st.Crash()
	for build, kept := range map[string]uint64{"a": 2, "b": 0} {
		for o := range durable.DiscardOther + 1 {
			copied := disk.Clone()
			useAs(t, path, func() files.Files { return copied })
			x, _ := rings(build, map[ring]string{1: "gold", 2: "iron"}, o)
			st, err := x.open(path)
			switch {
			case o == durable.DiscardOther:
				require.NoError(t, err)
				require.Equal(t, kept, x.Tick())
				require.True(t, st.Recovered().Other.Discarded)
				st.Crash()
				continue
			case o == durable.RefuseOther && build == "b":
				require.ErrorIs(t, err, inputlog.ErrOtherProgram)
				continue
			}
			require.ErrorIs(t, err, inputlog.ErrOtherWorld)
			require.NotErrorIs(t, err, durable.ErrDamaged)
			require.ErrorContains(t, err, `has the number 2, which was no constant of durable_test.ring, and is "iron" here`)
			require.NotContains(t, err.Error(), "to ReplayOther")
			if build == "a" {
				require.ErrorContains(t, err, "to go back to tick 2, up to which this program plays the log: ticks 2 to 4 were on disk")
			} else {
				require.ErrorContains(t, err, "to go back to the snapshot of tick 0: ")
			}
		}
	}
}
