package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestDirLoadStops lets a file be whole, and a program that cannot read it: the error says both, and
// no older file stands in for it. A damaged file is passed over.
func TestDirLoadStops(t *testing.T) {
	dir := &snapshot.Dir{Path: t.TempDir(), Keep: 5}
	x := newPond().live()
	wrong, fails, from := errors.New("a bad clock"), func() error { return nil }, byte(0)
	o := x.options(snapshot.None)
	o.Extras = []snapshot.Extra{{
		Name:   "clock",
		Append: func(dst []byte) []byte { return append(dst, byte(x.Tick())) },
		Read: func(src []byte) error {
			if src[0] >= from {
				return fails()
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

	from = byte(x.Tick())
	for how, f := range map[string]func() error{
		`snapshot: Extra "clock": a bad clock`: func() error { return wrong },
		`panicked: a bad clock`:                func() error { panic(wrong) },
		`it called runtime.Goexit`:             func() error { runtime.Goexit(); return nil },
	} {
		fails = f
		y := newPond()
		found, err := dir.Load(y.World, o)
		require.ErrorContains(t, err, paths[3]+" is whole; this program cannot read it: ")
		require.ErrorContains(t, err, how)
		require.Equal(t, paths[3], found.Path)
		require.Empty(t, found.Passed)
		if errors.Is(err, wrong) && y.Err() == nil {
			mustBeNew(t, y, 0)
		}
	}
	other := world.MustNew(newPond().Options())
	found, err := dir.Load(other, o)
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, "is whole; this program cannot read it: ")
	require.Equal(t, paths[3], found.Path)
	small := o
	small.BytesMax = 10
	_, err = dir.Load(newPond().World, small)
	require.ErrorIs(t, err, snapshot.ErrTooLarge)
	_, err = dir.Load(x.World, o)
	require.ErrorIs(t, err, snapshot.ErrNotNew)
	require.NotContains(t, err.Error(), "is whole", "that is no matter of the file")

	for i := 2; i < 4; i++ {
		image, err := os.ReadFile(paths[i])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(paths[i], image[:len(image)-5], 0o600))
	}
	y := newPond()
	found, err = dir.Load(y.World, o)
	require.NoError(t, err)
	require.Equal(t, paths[1], found.Path)
	require.Equal(t, hashes[1], found.Info.Hash)
	require.Len(t, found.Passed, 2)
	for i := range found.Passed {
		require.ErrorIs(t, found.Passed[i], snapshot.ErrTruncated)
		require.ErrorContains(t, found.Passed[i], filepath.Base(paths[3-i]))
	}
	hash, err := state.StateHash(y.World, o.Codecs)
	require.NoError(t, err)
	require.Equal(t, hashes[1], hash)
}

// TestDirLoadCodec has a codec that fails, panics or ends its goroutine, for what only the newest file
// has: no older one is loaded.
func TestDirLoadCodec(t *testing.T) {
	type coded struct{ N int32 }
	codec := func(fails func() error) *state.Codecs {
		c := new(state.Codecs)
		state.Register(c, state.Codec[coded]{
			Append: func(d []byte, v *coded) []byte { return append(d, byte(v.N)) },
			Read: func(s []byte, v *coded) error {
				if v.N = int32(s[0]); v.N == 2 {
					return fails()
				}
				return nil
			},
		})
		return c
	}
	dir := &snapshot.Dir{Path: t.TempDir()}
	for _, v := range []int32{1, 2} {
		_, err := dir.Save(enumWorld(t, coded{v}), snapshot.Options{Codecs: codec(nil)})
		require.NoError(t, err)
	}
	for says, fails := range map[string]func() error{
		"cannot":                    func() error { return errors.New("cannot") },
		"refused":                   func() error { panic("refused") },
		"Goexit":                    func() error { runtime.Goexit(); return nil },
		snapshot.ErrAltered.Error(): func() error { return snapshot.ErrAltered },
	} {
		found, err := dir.Load(enumWorld[coded](t), snapshot.Options{Codecs: codec(fails)})
		require.ErrorContains(t, err, "000000000002.snapshot is whole; this program cannot read it: ")
		require.ErrorContains(t, err, says)
		require.Empty(t, found.Passed)
	}
}
