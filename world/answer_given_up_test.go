package world_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// TestAnswerGivenUp ends the wait for an answer while the refresh fills it in: for the race detector.
func TestAnswerGivenUp(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 1})
	refuse := world.RegisterTransaction(w, "refuse", func(*world.Tx, int) (int, error) { return 0, world.ErrRefused })
	port, err := w.OpenPort()
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		var answer world.Answer[int]
		require.NoError(t, refuse.Send(port, 1, &answer))
		done := make(chan error)
		go func() {
			_, err := answer.Get(ended)
			done <- err
		}()
		w.Refresh()
		require.Error(t, <-done)
	}
}
