package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestDirLoadGoesOn lets files be intact and yet not loadable: Load goes on to an older one, in the
// same world, and says why. What is wrong with the program is an error at once.
func TestDirLoadGoesOn(t *testing.T) {
	dir := &snapshot.Dir{Path: t.TempDir(), Keep: 5}
	x := newPond().live()
	wrong, bad := errors.New("a bad clock"), map[byte]bool{}
	o := x.options(snapshot.None)
	o.Extras = []snapshot.Extra{{
		Name:   "clock",
		Append: func(dst []byte) []byte { return append(dst, byte(x.Tick())) },
		Read: func(src []byte) error {
			if bad[src[0]] {
				return wrong
			}
			return nil
		},
	}}
	var paths []string
	var hashes []state.Hash
	for range 4 {
		x.Refresh()
		path, err := dir.Save(x.World, o)
		require.NoError(t, err)
		hash, err := state.StateHash(x.World, o.Codecs)
		require.NoError(t, err)
		paths, hashes = append(paths, path), append(hashes, hash)
	}
	change := func(path string, f func(image []byte) []byte) {
		image, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, f(image), 0o600))
	}
	bad[byte(x.Tick())] = true
	change(paths[2], func(image []byte) []byte { return image[:len(image)-5] })

	y := newPond()
	found, err := dir.Load(y.World, o)
	require.NoError(t, err)
	require.Equal(t, paths[1], found.Path)
	require.Equal(t, hashes[1], found.Info.Hash)
	require.Len(t, found.Passed, 2)
	for i, is := range []error{wrong, snapshot.ErrTruncated} {
		require.ErrorIs(t, found.Passed[i], is)
		require.ErrorContains(t, found.Passed[i], filepath.Base(paths[3-i]))
	}
	hash, err := state.StateHash(y.World, o.Codecs)
	require.NoError(t, err)
	require.Equal(t, hashes[1], hash)

	other := world.MustNew(newPond().Options())
	found, err = dir.Load(other, o)
	require.ErrorIs(t, err, snapshot.ErrOtherWorld, "another file would not help")
	require.Equal(t, paths[3], found.Path)
	require.Empty(t, found.Passed)

	small := o
	small.BytesMax = 10
	_, err = dir.Load(newPond().World, small)
	require.ErrorIs(t, err, snapshot.ErrTooLarge)

	for tick := range x.Tick() {
		bad[byte(tick)] = true
	}
	z := newPond()
	found, err = dir.Load(z.World, o)
	require.ErrorIs(t, err, snapshot.ErrNone)
	require.Len(t, found.Passed, 4)
	mustBeNew(t, z, 0)
}
