package snapshot_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
)

// ponds saves the states of a pond to a disk.
type ponds struct {
	*pond
	t      *testing.T
	disk   *faulty.Disk
	dir    *snapshot.Dir
	o      snapshot.Options
	hashes map[string]state.Hash // by path
}

func newPonds(t *testing.T, keep, increments int) *ponds {
	x := &ponds{pond: newPond().live(), t: t, disk: faulty.New(), hashes: map[string]state.Hash{}}
	x.o = x.options(snapshot.None)
	x.start(keep, increments)
	return x
}

// start is the start of a process.
func (x *ponds) start(keep, increments int) {
	x.dir = &snapshot.Dir{Path: "dir", Keep: keep, Increments: increments}
	x.dir.Use(x.disk)
}

// save saves the next state, and returns the name of the file.
func (x *ponds) save() (string, error) {
	x.Refresh()
	hash, err := state.StateHash(x.World, x.o.Codecs)
	require.NoError(x.t, err)
	c, err := snapshot.Capture(x.World, x.o)
	require.NoError(x.t, err)
	defer c.Release()
	path, err := x.dir.SaveCaptured(c)
	if path != "" {
		x.hashes[path] = hash
	}
	return filepath.Base(path), err
}

func (x *ponds) saved(n int) (names []string) {
	x.t.Helper()
	for range n {
		name, err := x.save()
		require.NoError(x.t, err)
		names = append(names, name)
	}
	return names
}

func (x *ponds) files() []string {
	names, err := x.disk.List()
	require.NoError(x.t, err)
	slices.Sort(names)
	return names
}

// newest checks that the newest file is one, with so many passed over, and that it is loaded.
func (x *ponds) newest(name string, passed int) snapshot.Found {
	x.t.Helper()
	found, err := x.dir.Newest()
	require.NoError(x.t, err)
	require.Equal(x.t, name, filepath.Base(found.Path))
	require.Len(x.t, found.Passed, passed, "%v", found.Passed)
	require.Equal(x.t, x.hashes[found.Path], found.Info.Hash)
	y := newPond()
	found, err = x.dir.Load(y.World, x.o)
	require.NoError(x.t, err)
	hash, err := state.StateHash(y.World, x.o.Codecs)
	require.NoError(x.t, err)
	require.Equal(x.t, found.Info.Hash, hash)
	return found
}

// TestDirIncrements keeps whole files with the increments on them, and finds the newest of which
// everything is there.
func TestDirIncrements(t *testing.T) {
	x := newPonds(t, 2, 2)
	names := x.saved(8)
	require.Equal(t, []string{
		"000000000001.snapshot", "000000000002.increment", "000000000003.increment",
		"000000000004.snapshot", "000000000005.increment", "000000000006.increment",
		"000000000007.snapshot", "000000000008.increment",
	}, names)
	require.Equal(t, names[3:], x.files(), "two whole ones, with their increments")
	x.newest(names[7], 0)

	damaged := func(name string) func(data []byte) []byte {
		return func(data []byte) []byte { data[len(data)/2] ^= 4; return data }
	}
	whole := x.disk.Clone()
	x.disk.Edit(names[7], damaged(names[7]))
	x.newest(names[6], 1)
	x.disk = whole.Clone()
	x.dir.Use(x.disk)
	x.disk.Edit(names[6], damaged(names[6]))
	found := x.newest(names[5], 2)
	require.ErrorContains(t, found.Passed[0], "dir/000000000008.increment: snapshot: not with its base: it needs 000000000007.snapshot: snapshot: altered")
	x.disk.Edit(names[4], damaged(names[4]))
	found = x.newest(names[3], 4)
	require.ErrorIs(t, found.Passed[2], snapshot.ErrBase)
	require.ErrorIs(t, found.Passed[2], snapshot.ErrAltered)
	require.NotContains(t, found.Passed[3].Error(), "needs")

	x.disk = whole.Clone()
	x.dir.Use(x.disk)
	x.disk.Edit(names[7], func(data []byte) []byte { return append(data, 1) })
	require.ErrorContains(t, x.newest(names[6], 1).Passed[0], "more data after its end")
	require.NoError(t, x.disk.Remove(names[4])) // a link is missing
	require.NoError(t, x.disk.Remove(names[6]))
	require.ErrorIs(t, x.newest(names[3], 2).Passed[1], snapshot.ErrBase)
	require.NoError(t, x.disk.Remove(names[3]))
	_, err := x.dir.Newest()
	require.ErrorIs(t, err, snapshot.ErrNone)
	require.ErrorIs(t, err, snapshot.ErrBase)

	x.start(1, 100)
	names = x.saved(3)
	require.Equal(t, []string{"000000000009.snapshot", "000000000010.increment", "000000000011.increment"}, names, "a process begins with a whole one")
	require.Equal(t, names, x.files())
	require.NoError(t, x.disk.Remove(names[2]))
	require.Equal(t, []string{"000000000011.snapshot"}, x.saved(1), "somebody else has changed the directory")
	require.Panics(t, func() { _, _ = (&snapshot.Dir{Path: "dir", Increments: -1}).SaveCaptured(nil) })
}

// TestDirOpen opens files as whole snapshots.
func TestDirOpen(t *testing.T) {
	x := newPonds(t, 2, 3)
	for _, name := range x.saved(6) {
		in, err := x.dir.Open(name)
		require.NoError(t, err)
		image, err := io.ReadAll(in)
		require.NoError(t, err)
		require.NoError(t, in.Close())
		info, err := snapshot.Verify(bytes.NewReader(image))
		require.NoError(t, err)
		require.Equal(t, x.hashes[filepath.Join("dir", name)], info.Hash)
	}
	_, err := x.dir.Open("000000000009.snapshot")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestFaultyDiskIncrements is TestFaultyDisk with increments: whatever fails, the newest file of
// which all is there is the one that was saved, or the one before it, and all that were kept can be
// read.
func TestFaultyDiskIncrements(t *testing.T) {
	first, stride := 1, 1
	switch {
	case check.Enabled: // other calls with another seed
		stride = 59
		first += int(seed.Of(t) % uint64(stride))
	case testing.Short():
		stride = 9
	}
	for _, before := range []int{1, 2, 3, 5} { // the next is an increment, or whole and removes others
		for _, fault := range faulty.Faults {
			for at := first; ; at += stride {
				where := fmt.Sprintf("%s at call %d behind %d", fault.Name, at, before)
				x := newPonds(t, 1, 2)
				names := x.saved(before)
				x.disk.FailAt(at, fault)
				_, failed := x.save()
				reached := x.disk.Calls() >= at
				x.disk.Reboot()
				found, err := x.dir.Newest()
				require.NoError(t, err, where)
				if hash, known := x.hashes[found.Path]; known {
					require.Equal(t, hash, found.Info.Hash, where)
				} else {
					require.Error(t, failed, where)
				}
				if failed == nil || filepath.Base(found.Path) != names[before-1] {
					require.Equal(t, x.Tick(), found.Info.Tick, where)
				}
				require.Empty(t, found.Passed, where)
				if fault.Crashes {
					x.start(1, 2)
				}
				names = x.saved(4)
				x.newest(names[3], 0)
				require.LessOrEqual(t, len(x.files()), 5, "%s: %v", where, x.files()) // and one that could not be removed
				if !reached {
					require.Greater(t, at, 15)
					break
				}
			}
		}
	}
}
