package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestReplayerTimes calls a Replayer when it is closed, in a closed world and in a tick.
func TestReplayerTimes(t *testing.T) {
	for name, call := range map[string]func(f *engine.Replayer) error{
		"Draw":    func(f *engine.Replayer) error { return f.Draw(0) },
		"Recall":  func(f *engine.Replayer) error { return f.Recall(handle.New(2, 0, 1)) },
		"Request": func(f *engine.Replayer) error { _, err := f.Request(0, 0, handle.New(0, 0, 1)); return err },
		"Shift":   func(f *engine.Replayer) error { return f.Shift(nil) },
		"Publish": func(f *engine.Replayer) error { f.Publish(); return world.ErrClosed },
		"Close":   func(f *engine.Replayer) error { f.Close(); return world.ErrClosed },
	} {
		t.Run(name, func(t *testing.T) {
			w := world.MustNew(world.Options{Shards: 2})
			f, err := engine.Of(w).ReplayInputs()
			require.NoError(t, err)
			tick := engine.Of(w).BeginTick()
			require.Panics(t, func() { _ = call(f) })
			tick.End(serial)
			f.Close()
			require.ErrorIs(t, call(f), world.ErrClosed)
			_, err = w.OpenPort()
			require.NoError(t, err)

			w = world.MustNew(world.Options{Shards: 2})
			f, err = engine.Of(w).ReplayInputs()
			require.NoError(t, err)
			w.Close()
			require.ErrorIs(t, call(f), world.ErrClosed)
		})
	}
}
