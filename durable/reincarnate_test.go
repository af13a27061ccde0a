package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/durable"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/files/faulty"
)

// TestReincarnateKept raises the number of the incarnation while a Store keeps the world. All that
// is written later is lost.
func TestReincarnateKept(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	require.NoError(t, x.Reincarnate(x.Incarnation()+1))
	before := disk.Clone()
	given := x.given(t)
	st.Crash()
	y, _, err := opened(t, before, nil, nil)
	require.NoError(t, err)
	require.NotEqual(t, given, y.given(t))
}

// TestReincarnateUnkept lets the disk fail: the number is not taken.
func TestReincarnateUnkept(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	now := x.Incarnation()
	disk.FailAt(1, faulty.Faults[0])
	require.ErrorIs(t, x.Reincarnate(now+1), faulty.ErrDisk)
	require.Equal(t, now, x.Incarnation())
	st.Crash()
}

// TestNumberUnknown loses what has the number of the incarnation, after many processes.
func TestNumberUnknown(t *testing.T) {
	for name, keeps := range map[string]func(name string) bool{
		"all but the first snapshot": func(name string) bool { return name == "000000000001.snapshot" },
		"all":                        func(string) bool { return false },
	} {
		t.Run(name, func(t *testing.T) {
			path, disk := useDisk(t)
			given := map[handle.Handle]bool{}
			for range 25 {
				x := newBank(1)
				x.options.Keep = 50
				st, err := x.open(path)
				require.NoError(t, err)
				given[x.given(t)] = true
				st.Crash()
			}
			names, err := disk.List()
			require.NoError(t, err)
			y, _, err := opened(t, disk, func(d *faulty.Disk) {
				for _, n := range names {
					switch {
					case n == "incarnation":
						d.Edit(n, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
					case !keeps(n):
						_ = d.Remove(n)
					}
				}
			}, func(o *durable.Options) { o.AcceptLoss = true })
			require.NoError(t, err)
			require.NotContains(t, given, y.given(t))
		})
	}
}
