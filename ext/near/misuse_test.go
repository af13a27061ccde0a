package near_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/world"
)

// calls are the calls of a Reader, by name.
var calls = map[string]func(r *near.Reader){
	"Reader.AppendWithin":  func(r *near.Reader) { r.AppendWithin(nil, near.Point{}, 1) },
	"Reader.AppendBox":     func(r *near.Reader) { r.AppendBox(nil, near.Point{}, near.Point{}) },
	"Reader.AppendNearest": func(r *near.Reader) { r.AppendNearest(nil, near.Point{}, 1, 1) },
	"Reader.AppendAlong":   func(r *near.Reader) { r.AppendAlong(nil, near.Point{}, near.Point{}, 1) },
}

// TestReleased reads a frame that was released, when its memory has been taken back.
func TestReleased(t *testing.T) {
	g := newGame(t, world.Options{}, 1, space, nil)
	view, err := g.NewView(g.index)
	require.NoError(t, err)
	f, err := view.Now()
	require.NoError(t, err)
	r := g.index.Read(f)
	f.Release()
	g.unit(1, 1, 0)
	next, err := view.Now()
	require.NoError(t, err)
	defer next.Release()
	for call, do := range calls {
		require.NotPanics(t, func() { do(g.index.Read(next)) })
		require.PanicsWithValue(t, "near: "+call+" of a Frame that was released; release it after its last use", func() { do(r) })
	}
}

// TestIdleReader uses the World's Reader in a system, and when the world is closed.
func TestIdleReader(t *testing.T) {
	g := newGame(t, world.Options{}, 1, space, nil)
	r := g.index.Read(g.World)
	ran := false
	g.systems = func(*world.Context, *near.Reader, *world.Writer[Position], *world.Query) {
		for call, do := range calls {
			ran = true
			require.PanicsWithValue(t, "near: "+call+" by the World's Reader while a tick or refresh runs; in systems and hooks use that of Index.Read of their Build, elsewhere that of a Frame", func() { do(r) })
		}
	}
	g.step()
	require.True(t, ran)
	g.Close()
	for call, do := range calls {
		require.PanicsWithValue(t, "world: "+call+" of a closed world; make another with world.New", func() { do(r) })
	}
}
