package inputlog_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestNameOfType plays a log in a program where a type has another name and the same form, as the
// argument of a generic type has in the tests of package main.
func TestNameOfType(t *testing.T) {
	type first struct{ N int32 }
	type second struct{ N int32 }
	var log bytes.Buffer
	w := world.MustNew(options())
	record := addThing[first](w)
	r, err := inputlog.NewRecorder(w, &log, inputlog.Options{})
	require.NoError(t, err)
	s := scheduler.New(w, scheduler.Options{})
	record(t)
	require.NoError(t, s.Step(t.Context()))
	require.NoError(t, r.Close())

	w = world.MustNew(options())
	addThing[second](w)
	s = scheduler.New(w, scheduler.Options{})
	l, err := inputlog.Open(&log)
	require.NoError(t, err)
	p, err := l.Play(w, nil)
	require.NoError(t, err)
	for p.Next() {
		require.NoError(t, p.Make(func() error { return s.Step(t.Context()) }))
	}
	require.NoError(t, p.Err())
	require.Equal(t, uint64(1), p.Ticks())
	require.Equal(t, 1, w.Count())
}

// addThing registers a component of a type, and returns a function that makes an entity with it.
func addThing[T any](w *world.World) func(t *testing.T) {
	world.Register[T](w, "thing")
	world.Register[Body](w, "body")
	b := world.NewBundle[Plain](w)
	return func(t *testing.T) {
		p, err := w.OpenPort()
		require.NoError(t, err)
		_, err = b.Create(p, Plain{})
		require.NoError(t, err)
	}
}
