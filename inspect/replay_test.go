package inspect_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestReplayed logs the inputs of a world that is looked at, paused, stepped and changed: a replay
// without an inspector gives the same world.
func TestReplayed(t *testing.T) {
	fresh := func() *fixture {
		f := newWorld(t, 3, 2)
		_, err := f.units.AppendN(nil, f.w, 300, func(i int, u *Unit) { u.Velocity = Velocity{float32(i), 1} })
		require.NoError(t, err)
		return f
	}
	hash := func(w *world.World) state.Hash {
		h, err := state.StateHash(w, nil)
		require.NoError(t, err)
		return h
	}
	f := fresh()
	var file bytes.Buffer
	recorder, err := inputlog.NewRecorder(f.w, &file, inputlog.Options{})
	require.NoError(t, err)
	f.inspect(inspect.Options{Token: token})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.s.Run(ctx) }()
	for i := range 8 {
		h := f.one(fmt.Sprintf("Velocity.X == %d", 100+i))
		f.post(200, "/api/entity/set", `{"handle":"`+h+`","component":"Health","path":"HP","value":70}`)
		f.get(200, mapPath)
		f.get(200, "/api/query?q=Health.HP==70")
		f.get(200, "/api/ticks")
		f.post(200, "/api/pause", "{}")
		f.post(200, "/api/step", `{"ticks":3}`)
		f.post(202, "/api/entity/set", `{"handle":"`+h+`","component":"Position","path":"X","value":"NaN"}`)
		f.post(200, "/api/resume", "{}")
		f.post(200, "/api/entity/destroy", `{"handle":"`+h+`"}`)
	}
	require.NoError(t, f.x.Close())
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, recorder.Close())
	require.Equal(t, 300-8, f.w.Count())

	again := fresh()
	log, err := inputlog.Open(&file)
	require.NoError(t, err)
	player, err := log.Play(again.w, nil)
	require.NoError(t, err)
	for player.Next() {
		require.NoError(t, player.Make(func() error { return again.s.Step(t.Context()) }))
	}
	require.NoError(t, player.Err())
	require.Equal(t, f.w.Tick(), again.w.Tick())
	require.Equal(t, hash(f.w), hash(again.w))
}
