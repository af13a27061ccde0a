package durable_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
)

// TestBeside damages the last snapshot, or removes it. That it had state which no log has is a loss:
// an Extra that the program has changed, or a system that was disabled. One that ticks make is not.
func TestBeside(t *testing.T) {
	for name, change := range map[string]func(x *bank, outside *uint64){
		"nothing":  func(*bank, *uint64) {},
		"extra":    func(_ *bank, outside *uint64) { *outside += 700 },
		"disabled": func(x *bank, _ *uint64) { require.NoError(t, x.s.Disable("drift")) },
	} {
		path, disk := useDisk(t)
		outside := uint64(0)
		options := func(o *durable.Options) {
			o.Snapshot.Extras = []snapshot.Extra{{
				Name:   "outside",
				Append: func(dst []byte) []byte { return binary.AppendUvarint(dst, outside) },
				Read:   func(src []byte) error { outside, _ = binary.Uvarint(src); return nil },
			}}
		}
		x := newBank(1)
		options(&x.options)
		st, err := x.open(path)
		require.NoError(t, err)
		for range 3 {
			x.step(t)
		}
		change(x, &outside)
		require.NoError(t, st.Wait(context.Background()))
		require.NoError(t, st.Close())
		for _, damage := range []func(d *faulty.Disk){
			func(d *faulty.Disk) { require.NoError(t, d.Remove(snapshot2)) },
			func(d *faulty.Disk) {
				d.Edit(snapshot2, func(data []byte) []byte { data[len(data)-60] ^= 4; return data })
			},
		} {
			outside = 0
			_, _, err := opened(t, disk, damage, options)
			if name == "nothing" {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, durable.ErrDamaged, name)
			require.ErrorContains(t, err, "beside it", name)
			_, st, err := opened(t, disk, damage, func(o *durable.Options) {
				options(o)
				o.AcceptLoss = true
			})
			require.NoError(t, err)
			require.Len(t, st.Recovered().Lost, 1)
		}
	}
}
