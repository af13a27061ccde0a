package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestFaultyDisk lets each call of a save fail, or the power go: the newest file that is whole is
// the one that was saved, or the one before it.
func TestFaultyDisk(t *testing.T) {
	x := newPond().live()
	o := x.options(snapshot.None)
	for _, fault := range faulty.Faults {
		for at := 1; ; at++ {
			where := fmt.Sprintf("%s at call %d", fault.Name, at)
			disk := faulty.New()
			dir := &snapshot.Dir{Path: "dir", Keep: 2}
			dir.Use(disk)
			var hashes []state.Hash
			save := func() error {
				x.Refresh()
				hash, err := state.StateHash(x.World, o.Codecs)
				require.NoError(t, err)
				hashes = append(hashes, hash)
				_, err = dir.Save(x.World, o)
				return err
			}
			require.NoError(t, save())
			require.NoError(t, save())
			disk.FailAt(at, fault)
			err := save()
			reached := disk.Calls() >= at
			disk.Reboot()
			found, lost := dir.Newest()
			require.NoError(t, lost, where)
			if err == nil || found.Info.Hash != hashes[1] {
				require.Equal(t, hashes[2], found.Info.Hash, where)
			}
			if err != nil {
				require.ErrorIs(t, err, faulty.ErrDisk, where)
			}
			require.NoError(t, save(), where)
			found, err = dir.Newest()
			require.NoError(t, err, where)
			require.Equal(t, hashes[3], found.Info.Hash, where)
			require.Empty(t, found.Passed, where)
			names, _ := disk.List()
			require.LessOrEqual(t, len(names), 3, "%s: %v", where, names) // two, and one that could not be removed
			if !reached {
				require.Greater(t, at, 20)
				break
			}
		}
	}
}

// TestDir keeps files in a directory, and passes over those that are damaged.
func TestDir(t *testing.T) {
	dir := &snapshot.Dir{Path: filepath.Join(t.TempDir(), "a", "b"), Keep: 2}
	_, err := dir.Newest()
	require.ErrorIs(t, err, snapshot.ErrNone)
	x := newPond().live()
	o := x.options(snapshot.Zstd)
	var paths []string
	for range 4 {
		x.Refresh()
		path, err := dir.Save(x.World, o)
		require.NoError(t, err)
		paths = append(paths, path)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir.Path, "notes.txt"), nil, 0o600))
	entries, err := os.ReadDir(dir.Path)
	require.NoError(t, err)
	require.Len(t, entries, 3, "two, and the notes")
	image, err := os.ReadFile(paths[3])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(paths[3], append(image, 0), 0o600))
	y := newPond()
	found, err := dir.Load(y.World, o)
	require.NoError(t, err)
	require.Equal(t, paths[2], found.Path)
	require.Len(t, found.Passed, 1)
	require.ErrorContains(t, found.Passed[0], paths[3])
	require.Equal(t, y.Tick(), found.Info.Tick)
	require.Equal(t, x.Tick()-1, y.Tick())

	require.NoError(t, os.WriteFile(paths[2], image[:100], 0o600))
	_, err = dir.Load(newPond().World, o)
	require.ErrorIs(t, err, snapshot.ErrNone)
	require.ErrorIs(t, err, snapshot.ErrTruncated)
	require.Panics(t, func() { _, _ = (&snapshot.Dir{Path: dir.Path, Keep: -1}).Save(x.World, o) })
}

// TestDirParts removes what saves have left whose process died, and nothing else.
func TestDirParts(t *testing.T) {
	d := snapshot.Dir{Path: t.TempDir(), Keep: 1}
	w := world.MustNew(world.Options{})
	for n := range 3 {
		for _, name := range []string{nameOf(n) + ".snapshot.part", nameOf(n) + ".increment.part", nameOf(n+9) + ".snapshot.part", "x.part"} {
			require.NoError(t, os.WriteFile(filepath.Join(d.Path, name), []byte("part"), 0o666))
		}
		_, err := d.Save(w, snapshot.Options{})
		require.NoError(t, err)
		var left []string
		all, err := os.ReadDir(d.Path)
		require.NoError(t, err)
		for _, x := range all {
			left = append(left, x.Name())
		}
		for k := range n {
			require.NotContains(t, left, nameOf(k)+".snapshot.part")
			require.NotContains(t, left, nameOf(k)+".increment.part")
		}
		require.Contains(t, left, "x.part")
		require.Contains(t, left, nameOf(n+9)+".snapshot.part")
	}
}

func nameOf(n int) string { return fmt.Sprintf("%012d", n) }
