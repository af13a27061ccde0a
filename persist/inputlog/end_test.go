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

// TestHashAtTheEnd compares hashes behind the last tick of a log: before the end is read they are
// the same, after it the free slots of ports, and they alone, are others.
func TestHashAtTheEnd(t *testing.T) {
	type grain struct{ N int64 }
	type sand struct{ grain }
	fresh := func() (*world.World, *world.Bundle[sand]) {
		w := world.MustNew(world.Options{})
		world.Register[grain](w, "grain")
		return w, world.NewBundle[sand](w)
	}
	sections := func(w *world.World) []state.Section {
		all, err := state.NewHasher(w, nil).Sections()
		require.NoError(t, err)
		return all
	}
	w, sands := fresh()
	var file bytes.Buffer
	recorder, err := inputlog.NewRecorder(w, &file, inputlog.Options{})
	require.NoError(t, err)
	port, err := w.OpenPort()
	require.NoError(t, err)
	h, err := sands.Create(port, sand{})
	require.NoError(t, err)
	w.Refresh()
	require.NoError(t, port.Destroy(h))
	w.Refresh()
	require.NoError(t, recorder.Close())
	want := sections(w)

	again, _ := fresh()
	log, err := inputlog.Open(&file)
	require.NoError(t, err)
	player, err := log.Play(again, nil)
	require.NoError(t, err)
	for range 2 {
		require.True(t, player.Next())
		again.Refresh()
	}
	require.Equal(t, want, sections(again))
	require.False(t, player.Next())
	require.NoError(t, player.Err())
	var differ []string
	for i, s := range sections(again) {
		if s != want[i] {
			differ = append(differ, s.Name)
		}
	}
	require.Equal(t, []string{"slots of what ports create"}, differ)
}

// TestPlayTwice refuses a log that a Player has, for the same world and for another, and that
// Player goes on.
func TestPlayTwice(t *testing.T) {
	log := small(t, 3)
	l, err := inputlog.Open(bytes.NewReader(log))
	require.NoError(t, err)
	x, other := newSea(t, options(), scheduler.Options{Workers: 1}), newSea(t, options(), scheduler.Options{Workers: 1})
	p, err := l.Play(x.World, codecs())
	require.NoError(t, err)
	for _, w := range []*world.World{x.World, other.World} {
		_, err = l.Play(w, codecs())
		require.ErrorContains(t, err, "the log was given to a Player before; open it again, with inputlog.Open")
	}
	other.port(t)
	for p.Next() {
		x.step(t)
		_, err := p.Verify(x.hasher)
		require.NoError(t, err)
	}
	require.NoError(t, p.Err())
	require.EqualValues(t, 3, p.Ticks())
	_, err = l.Play(newSea(t, options(), scheduler.Options{}).World, codecs())
	require.ErrorContains(t, err, "open it again")

	behind := newSea(t, options(), scheduler.Options{})
	var next bytes.Buffer
	r, err := inputlog.NewRecorder(behind.World, &next, inputlog.Options{Codecs: codecs()})
	require.NoError(t, err)
	require.NoError(t, r.Close())
	l, err = inputlog.Open(&next)
	require.NoError(t, err)
	p, err = l.Play(newSea(t, options(), scheduler.Options{}).World, codecs())
	require.NoError(t, err)
	p.Then(l)
	require.False(t, p.Next())
	require.ErrorContains(t, p.Err(), "open it again")
}
