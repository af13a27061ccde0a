package inputlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// shore is a world with one bundle.
func shore(t testing.TB, o world.Options) (*world.World, *world.Bundle[Plain]) {
	w, err := world.New(o)
	require.NoError(t, err)
	world.Register[Body](w, "body")
	return w, world.NewBundle[Plain](w)
}

// forged records two creates by a port, gives the body of their tick to change, and makes the
// checksums right.
func forged(t testing.TB, change func(body []byte) []byte) []byte {
	w, b := shore(t, world.Options{Shards: 3})
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(w, &log, inputlog.Options{})
	require.NoError(t, err)
	p, err := w.OpenPort()
	require.NoError(t, err)
	for i := range 2 {
		h, err := b.Create(p, Plain{})
		require.NoError(t, err)
		require.Equal(t, handle.New(3, uint32(i), 1), h)
	}
	w.Refresh()
	require.NoError(t, r.Close())
	in := log.Bytes()
	out := bytes.Clone(in[:8])
	for in = in[8:]; len(in) > 0; {
		n := 5 + int(binary.LittleEndian.Uint32(in[1:]))
		body := bytes.Clone(in[5:n])
		if in[0] == 'T' {
			body = change(body)
		}
		out = binary.LittleEndian.AppendUint32(append(out, in[0]), uint32(len(body)))
		out = append(append(out, body...), make([]byte, 8)...)
		in = in[n+8:]
	}
	return summed(out)
}

// mustRefuse plays a log that was altered. What the world has by then can be saved and loaded.
func mustRefuse(t testing.TB, log []byte, want string) {
	t.Helper()
	w, _ := shore(t, world.Options{Shards: 3})
	l, err := inputlog.Open(bytes.NewReader(log))
	require.NoError(t, err)
	p, err := l.Play(w, nil)
	require.NoError(t, err)
	for p.Next() {
		require.NoError(t, p.Make(func() error { w.Refresh(); return nil }))
	}
	require.ErrorIs(t, p.Err(), inputlog.ErrAltered)
	require.ErrorContains(t, p.Err(), want)
	var saved bytes.Buffer
	require.NoError(t, snapshot.Write(&saved, w, snapshot.Options{}))
	again, _ := shore(t, world.Options{Shards: 3})
	require.NoError(t, snapshot.Load(&saved, again, snapshot.Options{}))
}

// The body of the tick: its number, what it was part of, the number drawn, 8 bytes of a hash, and
// the lists of handles.
const drawnAt, recalledAt = 2, 11

// TestForgedHandles alters handles that are created or recalled: none is taken that no port has
// drawn, nor one twice.
func TestForgedHandles(t *testing.T) {
	mustRefuse(t, forged(t, func(body []byte) []byte {
		at := bytes.LastIndex(body, []byte{3, 1, 1})
		body[at+1] = 60
		return body
	}), "handle 3:60@1 is created or recalled twice, or no port has drawn it")
	mustRefuse(t, forged(t, func(body []byte) []byte {
		at := bytes.LastIndex(body, []byte{3, 1, 1})
		body[at+1] = 0
		return body
	}), "handle 3:0@1 is created or recalled twice")
	for _, h := range []handle.Handle{
		handle.New(3, 0, 1), handle.New(3, 16, 1), handle.New(3, 200, 1), handle.New(3, 4000, 1), handle.New(3, 1<<20, 1),
		handle.New(0, 0, 1), handle.New(2, 1<<20, 1), handle.New(4, 0, 1), handle.New(handle.HomeMax, handle.IndexMax, 1),
	} {
		mustRefuse(t, forged(t, func(body []byte) []byte {
			list := binary.AppendUvarint([]byte{1}, uint64(h.Home()))
			list = binary.AppendUvarint(binary.AppendUvarint(list, uint64(h.Index())), uint64(h.Version()))
			return append(append(bytes.Clone(body[:recalledAt]), list...), body[recalledAt+1:]...)
		}), "is created or recalled twice, or no port has drawn it")
	}
}

// TestForgedDrawn has a short log say that ports have drawn all handles that there are: it is
// refused before there are slots for them.
func TestForgedDrawn(t *testing.T) {
	for _, drawn := range []uint64{1 << 19, 1 << 24} {
		log := forged(t, func(body []byte) []byte {
			require.EqualValues(t, 8, body[drawnAt])
			return append(binary.AppendUvarint(bytes.Clone(body[:drawnAt]), drawn), body[drawnAt+1:]...)
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		mustRefuse(t, log, "handles, of which the log has too little")
		runtime.ReadMemStats(&after)
		if !check.Enabled {
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
		}
	}
}

// TestManyDrawn records refreshes within a batch that has drawn many more handles than the log has
// bytes: it is played to the same state, whether the batch is sent or not.
func TestManyDrawn(t *testing.T) {
	if check.Enabled {
		t.Skip("nothing is done at once, and it takes long")
	}
	const n = 1<<18 + 1<<15
	errNot := errors.New("not sent")
	for _, end := range []error{nil, errNot} {
		o := world.Options{Shards: 3, QueueRequests: 2 * n, QueueBytes: 1<<28 - 1}
		w, b := shore(t, o)
		var log bytes.Buffer
		r, err := inputlog.NewRecorder(w, &log, inputlog.Options{})
		require.NoError(t, err)
		p, err := w.OpenPort()
		require.NoError(t, err)
		require.Equal(t, end, p.Batch(func() error {
			require.NoError(t, b.CreateN(p, n, nil))
			w.Refresh()
			w.Refresh()
			return end
		}))
		w.Refresh()
		require.NoError(t, r.Close())
		again, _ := shore(t, o)
		l, err := inputlog.Open(&log)
		require.NoError(t, err)
		player, err := l.Play(again, nil)
		require.NoError(t, err)
		var was, is state.Hash
		for player.Next() {
			require.NoError(t, player.Make(nil))
			is, err = state.StateHash(again, nil)
			require.NoError(t, err)
		}
		require.NoError(t, player.Err())
		require.EqualValues(t, 3, player.Ticks())
		was, err = state.StateHash(w, nil)
		require.NoError(t, err)
		require.Equal(t, was, is)

		later, err := inputlog.NewRecorder(w, &log, inputlog.Options{})
		require.NoError(t, err)
		w.Refresh()
		require.NoError(t, later.Close())
		require.Less(t, log.Len(), 1<<12, "what was drawn before is not in a later log")
	}
}
