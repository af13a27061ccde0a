package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/state"
)

// disk is a file system that fails, or loses power, at one call. What was not synced may be lost,
// names and contents each by themselves.
type disk struct {
	names, synced map[string]*inode
	calls, failAt int
	fault         fault
	dead          bool
}

type inode struct {
	data   []byte
	synced int
}

// fault is what goes wrong.
type fault struct {
	name                 string
	crashes, half        bool // half of a call is done
	keepsNames, keepsAll bool // what was not synced is there after all
}

var faults = []fault{
	{name: "an error"}, {name: "an error that came too late", half: true},
	{name: "a crash", crashes: true}, {name: "a crash that keeps names", crashes: true, keepsNames: true},
	{name: "a crash in the middle", crashes: true, half: true, keepsNames: true},
	{name: "a crash that keeps contents", crashes: true, keepsAll: true},
	{name: "a crash that keeps all", crashes: true, half: true, keepsNames: true, keepsAll: true},
}

var errDisk = errors.New("the disk fails")

func newDisk() *disk { return &disk{names: map[string]*inode{}, synced: map[string]*inode{}} }

// call counts a call and reports whether it, or half of it, is done.
func (d *disk) call() (whole, half bool, err error) {
	if d.dead {
		return false, false, errDisk
	}
	if d.calls++; d.calls != d.failAt {
		return true, true, nil
	}
	d.dead = d.fault.crashes
	return false, d.fault.half, errDisk
}

// reboot makes what is left of the disk.
func (d *disk) reboot() {
	if d.dead {
		if !d.fault.keepsNames {
			d.names = maps.Clone(d.synced)
		}
		for _, x := range d.names {
			if !d.fault.keepsAll {
				x.data = x.data[:x.synced]
			}
		}
	}
	d.dead, d.failAt = false, 0
}

func (d *disk) Make() error { _, _, err := d.call(); return err }

func (d *disk) List() ([]string, error) {
	_, _, err := d.call()
	return slices.Collect(maps.Keys(d.names)), err
}

func (d *disk) Create(name string) (snapshot.File, error) {
	_, half, err := d.call()
	x := new(inode)
	if half {
		d.names[name] = x
	}
	return &open{d: d, x: x}, err
}

func (d *disk) Open(name string) (io.ReadCloser, error) {
	x := d.names[name]
	if x == nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(x.data)), nil
}

func (d *disk) Rename(from, to string) error {
	_, half, err := d.call()
	if half {
		d.names[to] = d.names[from]
		delete(d.names, from)
	}
	return err
}

func (d *disk) Remove(name string) error {
	_, half, err := d.call()
	if half {
		delete(d.names, name)
	}
	return err
}

func (d *disk) Sync() error {
	_, half, err := d.call()
	if half {
		d.synced = maps.Clone(d.names)
	}
	return err
}

type open struct {
	d *disk
	x *inode
}

func (f *open) Write(p []byte) (int, error) {
	whole, half, err := f.d.call()
	switch {
	case whole:
		f.x.data = append(f.x.data, p...)
		return len(p), nil
	case half:
		f.x.data = append(f.x.data, p[:len(p)/2]...)
	}
	return 0, err
}

func (f *open) Sync() error {
	_, half, err := f.d.call()
	if half {
		f.x.synced = len(f.x.data)
	}
	return err
}

func (f *open) Close() error { _, _, err := f.d.call(); return err }

// TestFaultyDisk lets each call of a save fail, or the power go: the newest file that is whole is
// the one that was saved, or the one before it.
func TestFaultyDisk(t *testing.T) {
	x := newPond().live()
	o := x.options(snapshot.None)
	for _, fault := range faults {
		for at := 1; ; at++ {
			where := fmt.Sprintf("%s at call %d", fault.name, at)
			disk := newDisk()
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
			disk.calls, disk.failAt, disk.fault = 0, at, fault
			err := save()
			reached := disk.calls >= at
			disk.reboot()
			found, lost := dir.Newest()
			require.NoError(t, lost, where)
			if err == nil || found.Info.Hash != hashes[1] {
				require.Equal(t, hashes[2], found.Info.Hash, where)
			}
			if err != nil {
				require.ErrorIs(t, err, errDisk, where)
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
