package inputlog_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
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

// TestConstants plays a log of transactions and calls, whose arguments have constants, in programs
// that have other constants. More of them are no harm, unless an argument has such a number; others are
// refused.
func TestConstants(t *testing.T) {
	type slot uint8
	type move struct{ From, To slot }
	scene := func(codecs func(c *state.Codecs)) (*world.World, *state.Codecs, *world.Transaction[move, slot], *scheduler.Scheduler) {
		w, c := world.MustNew(options()), new(state.Codecs)
		codecs(c)
		return w, c, world.RegisterTransaction(w, "move", func(_ *world.Tx, m move) (slot, error) { return m.To, nil }), scheduler.New(w, scheduler.Options{})
	}
	enum := func(names map[slot]string) func(c *state.Codecs) {
		return func(c *state.Codecs) { state.RegisterEnum(c, names) }
	}
	none := func(*state.Codecs) {}
	record := func(codecs func(c *state.Codecs)) []byte {
		var log bytes.Buffer
		w, c, moves, s := scene(codecs)
		r, err := inputlog.NewRecorder(w, &log, inputlog.Options{Codecs: c})
		require.NoError(t, err)
		p, err := w.OpenPort()
		require.NoError(t, err)
		require.NoError(t, moves.Call(p, move{0, 1}))
		require.NoError(t, s.Step(t.Context()))
		require.NoError(t, r.Close())
		return log.Bytes()
	}
	play := func(log []byte, codecs func(c *state.Codecs)) error {
		w, c, _, s := scene(codecs)
		l, err := inputlog.Open(bytes.NewReader(log))
		require.NoError(t, err)
		p, err := l.Play(w, c)
		if err != nil {
			return err
		}
		for p.Next() {
			require.NoError(t, p.Make(func() error { return s.Step(t.Context()) }))
		}
		if p.Err() == nil {
			require.Equal(t, uint64(1), p.Ticks())
		}
		return p.Err()
	}
	two := enum(map[slot]string{0: "head", 1: "hand"})
	log := record(two)
	require.NoError(t, play(log, two))
	require.NoError(t, play(log, enum(map[slot]string{0: "head", 1: "hand", 2: "ring"})))
	err := play(log, enum(map[slot]string{0: "head", 1: "belt", 2: "hand"}))
	require.ErrorIs(t, err, inputlog.ErrOtherWorld)
	require.ErrorContains(t, err, `has a constant in the log that is not the same here: inputlog_test.slot "hand" = 1`)
	require.ErrorIs(t, play(log, enum(map[slot]string{0: "head"})), inputlog.ErrOtherWorld)
	require.ErrorIs(t, play(log, none), inputlog.ErrOtherWorld)
	require.NoError(t, play(record(none), two))
	one := record(enum(map[slot]string{0: "head"})) // 1 has no name
	require.NoError(t, play(one, enum(map[slot]string{0: "head", 2: "ring"})))
	err = play(one, two)
	require.ErrorIs(t, err, inputlog.ErrOtherWorld)
	require.ErrorContains(t, err, `in tick 0 transaction "move" has the number 1, which was no constant of inputlog_test.slot, and is "hand" here`)
}
