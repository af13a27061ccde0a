package durable_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

// TestErase follows docs/operating.md: what a player had is in no file any more, of the directory
// and of its copy, when as many snapshots were saved as are kept.
func TestErase(t *testing.T) {
	const secret = 0x5ec2e75ec2e7
	within := func(path string) (with []string) {
		entries, err := os.ReadDir(path)
		require.NoError(t, err)
		for _, x := range entries {
			data, err := os.ReadFile(filepath.Join(path, x.Name()))
			require.NoError(t, err)
			if bytes.Contains(data, binary.LittleEndian.AppendUint64(nil, secret)[:6]) || bytes.Contains(data, binary.AppendUvarint(nil, secret)) {
				with = append(with, filepath.Ext(x.Name()))
			}
		}
		return with
	}
	for _, increments := range []int{0, 2} {
		path, copied := t.TempDir(), t.TempDir()
		x := newBank(1)
		x.options.Increments = increments
		st, err := x.open(path)
		require.NoError(t, err)
		alive := x.create(t, st, secret)
		x.saves(t, st, 1)
		require.True(t, alive(x))
		once := func() error {
			return durable.Follow(t.Context(), path, copied, durable.FollowOptions{Once: true})
		}
		require.NoError(t, once())
		for _, dir := range []string{path, copied} {
			require.Contains(t, within(dir), ".log")
			require.Greater(t, len(within(dir)), 1)
		}
		port, err := x.OpenPort()
		require.NoError(t, err)
		for h := range x.Query(world.With[Ship](x.World)).Entities() {
			if x.ship.Get(h).N == secret {
				require.NoError(t, port.Destroy(h))
			}
		}
		x.step(t)
		require.NoError(t, st.Wait(context.Background()))
		require.False(t, alive(x))
		x.saves(t, st, 3*(increments+1)) // Options.Keep is 3
		x.step(t)
		require.NoError(t, st.Wait(context.Background())) // before the new segment has a mark, no file of the copy is removed
		require.NoError(t, once())
		require.Empty(t, within(path))
		require.Empty(t, within(copied))
		require.NoError(t, st.Close())
	}
}

// TestRestoreTwice restores a copy, and then another one that is as old. With World.Reincarnate it
// gives no handle that the first has given. Where ticks are sealed, Options.Upgrade calls that.
func TestRestoreTwice(t *testing.T) {
	x, all := stages(t, 0)
	copies := [2]string{t.TempDir(), t.TempDir()}
	from := t.TempDir()
	useAs(t, from, func() files.Files { return all[2] })
	for _, to := range copies {
		require.NoError(t, os.RemoveAll(to))
		require.NoError(t, durable.Follow(t.Context(), from, to, durable.FollowOptions{Once: true}))
	}
	last := uint32(0)
	for _, to := range copies {
		y := newBank(1)
		again := func(w *world.World) error { return w.Reincarnate(max(last+1, w.Incarnation())) }
		if durable.Sealed {
			y.options.Upgrade = again
		}
		st, err := y.open(to)
		require.NoError(t, err)
		if !mustRefuse(t, func() { _ = y.Reincarnate(y.Incarnation() + 1) }) {
			require.NoError(t, again(y.World))
		}
		last = st.Recovered().Incarnation
		require.Greater(t, last, x.Incarnation())
		h := y.given(t)
		require.NotContains(t, x.given, h)
		x.given[h] = true
		require.NoError(t, errors.Join(st.Wait(context.Background()), st.Close()))
	}
}
