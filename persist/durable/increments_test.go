package durable_test

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
)

// TestIncrements damages each of the snapshots of a chain, or takes it away: what is lost in them
// is played from the log.
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
				if !strings.Contains(err.Error(), name+": snapshot: altered") && !strings.HasSuffix(err.Error(), " is missing") {
					require.ErrorIs(t, err, snapshot.ErrBase)
				}
			}
		}
	}
}

// TestMendByHand changes the text of the newest snapshot after a clean stop, and puts it back as a
// whole one with the next number, as the guide says.
func TestMendByHand(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	x.options.Increments = 3
	st, err := x.open(path)
	require.NoError(t, err)
	x.create(t, st, 77001)
	x.saves(t, st, 1)
	require.NoError(t, st.Close())

	dir := snapshot.Dir{Path: path}
	newest, err := dir.Newest()
	require.NoError(t, err)
	require.Equal(t, "000000000003.increment", filepath.Base(newest.Path))
	in, err := dir.Open(newest.Path)
	require.NoError(t, err)
	var text, again bytes.Buffer
	_, err = snaptext.Export(in, &text, snapshot.Options{})
	require.NoError(t, err)
	require.NoError(t, in.Close())
	require.Contains(t, text.String(), `{"N":77001}`)
	edited := strings.Replace(text.String(), `{"N":77001}`, `{"N":77002}`, 1)
	_, err = snaptext.Import(strings.NewReader(edited), &again, snapshot.Options{})
	require.NoError(t, err)

	put := func(d *faulty.Disk, name string) {
		_ = d.Remove(name)
		file, err := d.Create(name)
		require.NoError(t, err)
		_, err = file.Write(again.Bytes())
		require.NoError(t, errors.Join(err, file.Close()))
	}
	y, st, err := opened(t, disk, func(d *faulty.Disk) { put(d, "000000000004.snapshot") }, func(o *durable.Options) { o.Increments = 3 })
	require.NoError(t, err)
	require.Empty(t, st.Recovered().Snapshot.Passed)
	require.Contains(t, y.observe(), "{77002}")

	// Under its old name it is no increment, and the log does not lead to what it has. The Logger
	// tells.
	var told strings.Builder
	asIncrement := func(d *faulty.Disk) { put(d, "000000000003.increment") }
	_, _, err = opened(t, disk, asIncrement, nil)
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, "000000000003.increment: the log leads to tick")
	y, st, err = opened(t, disk, asIncrement, func(o *durable.Options) {
		o.Logger, o.AcceptLoss = slog.New(slog.NewTextHandler(&told, nil)), true
	})
	require.NoError(t, err)
	require.Len(t, st.Recovered().Snapshot.Passed, 1)
	require.Contains(t, told.String(), "level=WARN msg=\"durable: passed over a snapshot\"")
	require.Contains(t, told.String(), "000000000003.increment")
	require.NotContains(t, y.observe(), "{77002}")
}
