package inputlog_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/world"
)

// TestFits asks whether a log could be played to worlds that are made otherwise, and plays it. The
// state does not count, and a log that was asked must be opened again.
func TestFits(t *testing.T) {
	w := newBodyWorld(t)
	w.Refresh()
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(w, &log, inputlog.Options{})
	require.NoError(t, err)
	w.Refresh()
	require.NoError(t, r.Close())
	other := func(register func(w *world.World)) *world.World {
		w := world.MustNew(world.Options{Shards: 1})
		register(w)
		return w
	}
	type body struct{ Weight float32 }
	for says, x := range map[string]*world.World{
		"":                      newBodyWorld(t), // at another tick
		`component "body" is {`: other(func(w *world.World) { world.Register[body](w, "body") }),
		`component "body" registered there alone`:  other(func(*world.World) {}),
		"Shards is 1 in the log, Shards is 2 here": world.MustNew(world.Options{Shards: 2}),
		"this world has ":                          other(func(w *world.World) { world.Register[Body](w, "body") }),
	} {
		l, err := inputlog.Open(bytes.NewReader(log.Bytes()))
		require.NoError(t, err)
		fits := l.Fits(x, nil)
		_, err = l.Play(x, nil)
		require.Error(t, err)
		if says == "" {
			require.NoError(t, fits)
			continue
		}
		require.ErrorIs(t, fits, inputlog.ErrOtherWorld)
		require.ErrorContains(t, fits, says)
		require.ErrorIs(t, err, inputlog.ErrOtherWorld)
	}
	l, err := inputlog.Open(bytes.NewReader(log.Bytes()))
	require.NoError(t, err)
	require.NoError(t, l.Fits(w, nil))
	_, err = l.Play(w, nil)
	require.ErrorContains(t, err, "at 2")
	require.PanicsWithValue(t, "inputlog: Log.Fits with a nil World; make one with world.New", func() { _ = l.Fits(nil, nil) })
}
