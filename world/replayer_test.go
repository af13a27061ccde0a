package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/world"
)

// TestReplayerTimes calls a Replayer when it is closed, in a closed world and in a tick.
func TestReplayerTimes(t *testing.T) {
	for name, call := range map[string]func(f drive.Replayer) error{
		"Draw":     func(f drive.Replayer) error { return f.Draw(0) },
		"Recall":   func(f drive.Replayer) error { return f.Recall(handle.New(2, 0, 1)) },
		"Request":  func(f drive.Replayer) error { _, err := f.Request(0, 0, handle.New(0, 0, 1)); return err },
		"Transfer": func(f drive.Replayer) error { return f.Transfer(nil) },
		"Publish":  func(f drive.Replayer) error { f.Publish(); return world.ErrClosed },
		"Close":    func(f drive.Replayer) error { f.Close(); return world.ErrClosed },
	} {
		t.Run(name, func(t *testing.T) {
			w := world.MustNew(world.Options{Shards: 2})
			f, err := driver.Of(w).ReplayInputs()
			require.NoError(t, err)
			tick := driver.Of(w).BeginTick()
			require.Panics(t, func() { _ = call(f) })
			tick.End(serial)
			f.Close()
			require.ErrorIs(t, call(f), world.ErrClosed)
			_, err = w.OpenPort()
			require.NoError(t, err)

			w = world.MustNew(world.Options{Shards: 2})
			f, err = driver.Of(w).ReplayInputs()
			require.NoError(t, err)
			w.Close()
			require.ErrorIs(t, call(f), world.ErrClosed)
		})
	}
}
