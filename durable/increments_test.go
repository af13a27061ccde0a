package durable_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/durable"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/snapshot"
)

// TestIncrements damages each of the snapshots of a chain, or takes it away: what is lost in them is
// played from the log.
func TestIncrements(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(2)
	x.options.Increments, x.options.Keep = 3, 2
	st, err := x.open(path)
	require.NoError(t, err)
	var alive []func(*bank) bool
	for n := range uint64(6) {
		alive = append(alive, x.create(t, st, n+1))
		x.saves(t, st, 1)
	}
	alive = append(alive, x.create(t, st, 7))
	st.Crash()
	names, err := disk.List()
	require.NoError(t, err)
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasSuffix(name, ".snapshot") && !strings.HasSuffix(name, ".increment")
	})
	require.Equal(t, []string{
		"000000000001.snapshot", "000000000002.increment", "000000000003.increment", "000000000004.increment",
		"000000000005.snapshot", "000000000006.increment", "000000000007.increment",
	}, names)
	for i, name := range names {
		for what, change := range map[string]func(d *faulty.Disk) error{
			"damaged": func(d *faulty.Disk) error { d.Edit(name, flip(-20)); return nil },
			"removed": func(d *faulty.Disk) error { return d.Remove(name) },
		} {
			var y *bank
			var st *durable.Store
			y, st, err = opened(t, disk, func(d *faulty.Disk) { require.NoError(t, change(d)) }, nil)
			require.NoError(t, err, "%s %s", name, what)
			for _, is := range alive {
				require.True(t, is(y), "%s %s", name, what)
			}
			found := st.Recovered().Snapshot
			want := names[6]
			if i >= 4 { // the newest chain is not whole
				want = names[i-1]
			}
			require.Equal(t, want, filepath.Base(found.Path), what)
			for _, err := range found.Passed {
				require.True(t, strings.Contains(err.Error(), name) || what == "removed", err)
				if !strings.Contains(err.Error(), name+": snapshot: altered") {
					require.ErrorIs(t, err, snapshot.ErrBase)
				}
			}
		}
	}
}
