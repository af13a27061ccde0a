package durable_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestReincarnateKept raises the number of the incarnation while a Store keeps the world. All that
// is written later is lost.
func TestReincarnateKept(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	if mustRefuse(t, func() { _ = x.Reincarnate(x.Incarnation() + 1) }) {
		require.Equal(t, x.Incarnation(), st.Recovered().Incarnation)
		st.Crash()
		return
	}
	require.NoError(t, x.Reincarnate(x.Incarnation()+1))
	require.Equal(t, x.Incarnation(), st.Recovered().Incarnation)
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
	if mustRefuse(t, func() { _ = x.Reincarnate(now + 1) }) {
		require.Equal(t, now, x.Incarnation())
		st.Crash()
		return
	}
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

// TestFewNumbers loses what has the number of the incarnation, and all segments, where there are few
// incarnations: Open leaves out as many as the processes since the newest snapshot can have used, or
// refuses. None of them has made a tick, so they have saved no snapshot for that.
func TestFewNumbers(t *testing.T) {
	for _, most := range []uint32{60, 15} {
		path, disk := useDisk(t)
		open := func(path string, accept bool) (*bank, *durable.Store, error) {
			x := newBankOf(1, func(o *world.Options, _ *scheduler.Options) { o.VersionsEach, o.VersionMax = 100, 100*most })
			x.options.AcceptLoss = accept
			st, err := x.open(path)
			return x, st, err
		}
		given, refused := map[handle.Handle]bool{}, 0
		for range 13 {
			x, st, err := open(path, false)
			require.NoError(t, err)
			port, err := x.OpenPort()
			require.NoError(t, err)
			h, err := x.ships.Create(port, fleet{})
			require.NoError(t, err)
			given[h] = true
			st.Crash()
			names, err := disk.List()
			require.NoError(t, err)
			other, lost := t.TempDir(), disk.Clone()
			for _, n := range names {
				if !strings.HasSuffix(n, ".snapshot") {
					require.NoError(t, lost.Remove(n))
				}
			}
			useAs(t, other, func() files.Files { return lost })
			y, _, err := open(other, true)
			if most == 15 && err != nil {
				require.ErrorIs(t, err, world.ErrVersions)
				refused++
				continue
			}
			require.NoError(t, err)
			require.NotContains(t, given, y.given(t))
		}
		require.Equal(t, most == 15, refused > 0)
	}
}
