package inputlog_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestSealedHangs has a Commit that does not return: the watchdog says so once; Run, whose context ends
// meanwhile, and Close cannot leave the tick in the middle; and what Commit returns at last ends it.
func TestSealedHangs(t *testing.T) {
	full := errors.New("the disk is full")
	for _, last := range []error{nil, full} {
		w := world.MustNew(world.Options{Shards: 2, TickInterval: time.Millisecond})
		world.Register[Body](w, "body")
		body := world.NewBundle[struct{ Body }](w)
		told := make(chan scheduler.Stuck, 10)
		var said bytes.Buffer
		s := scheduler.New(w, scheduler.Options{
			Workers: 2, Logger: slog.New(slog.NewTextHandler(&said, nil)),
			Watchdog: scheduler.Watchdog{After: 20 * time.Millisecond, Notify: func(x scheduler.Stuck) { told <- x }},
		})
		waits, goes := make(chan bool), make(chan error)
		var log bytes.Buffer
		r, err := inputlog.NewRecorder(w, &log, inputlog.Options{Codecs: tagCodecs(), Commit: func() error {
			if w.Tick() == 0 {
				return nil
			}
			waits <- true
			return <-goes
		}})
		require.NoError(t, err)
		p, err := w.OpenPort()
		require.NoError(t, err)
		require.NoError(t, s.Step(t.Context()))
		var done world.Completion
		_, err = body.Create(p.Notify(&done), struct{ Body }{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- s.Run(ctx) }()
		<-waits
		cancel()
		x := <-told
		require.Empty(t, x.System)
		require.EqualValues(t, 1, x.Tick)
		require.GreaterOrEqual(t, x.Duration, 20*time.Millisecond)
		require.Contains(t, x.String(), "tick 1 has been waiting for its log for")
		require.Panics(t, w.Close, "a tick runs")
		time.Sleep(60 * time.Millisecond)
		require.Empty(t, told, "told once")
		require.Empty(t, ran)
		require.Equal(t, world.Undecided, done.Outcome())
		goes <- last
		err = <-ran
		require.Contains(t, said.String(), "tick waits for its log")
		if last == nil {
			require.NotErrorIs(t, err, world.ErrClosed)
			require.Equal(t, world.Applied, done.Outcome())
			require.NoError(t, r.Close())
		} else {
			require.ErrorIs(t, err, full)
			require.Equal(t, world.Unknown, done.Outcome())
			require.ErrorIs(t, r.Close(), full)
		}
		w.Close()
	}
}

// TestSealedOnTick changes the idle world in OnTick: the call panics, as any of OnTick does, and has
// changed nothing; the world goes on.
func TestSealedOnTick(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 2})
	body := world.Register[Body](w, "body")
	all := world.NewBundle[struct{ Body }](w)
	h, err := all.Create(w, struct{ Body }{Body{Small: 1}})
	require.NoError(t, err)
	var change func()
	s := scheduler.New(w, scheduler.Options{OnTick: func(scheduler.Report) { change() }})
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(w, &log, inputlog.Options{Codecs: tagCodecs(), Commit: func() error { return nil }})
	require.NoError(t, err)
	for _, change = range []func(){
		func() { w.Destroy(h) },
		func() { _, _ = all.Create(w, struct{ Body }{}) },
		func() { _ = body.Set(w, h, Body{Small: 2}) },
		w.Refresh, // the replay would make it without its inputs
		w.Clear,
	} {
		func() {
			defer func() { require.Contains(t, recover(), "the idle World cannot be changed while ticks are sealed") }()
			_ = s.Step(t.Context())
			t.Error("OnTick has changed the idle world")
		}()
		require.NoError(t, w.Err())
		require.Equal(t, 1, w.Count())
		require.EqualValues(t, 1, world.Read[Body](w).Get(h).Small)
	}
	change = func() {}
	require.NoError(t, s.Step(t.Context()))
	require.NoError(t, r.Close())
}

// TestSealedUnwritten has the writer of the log fail, or panic, when the record of a tick is written:
// Commit is not called, and the world is closed as if that had failed.
func TestSealedUnwritten(t *testing.T) {
	for _, panics := range []bool{false, true} {
		x := newHarbor(2)
		to := &failingWriter{panics: panics}
		commits := 0
		r, err := inputlog.NewRecorder(x.World, to, inputlog.Options{Codecs: tagCodecs(), Commit: func() error { commits++; return nil }})
		require.NoError(t, err)
		require.NoError(t, x.s.Step(t.Context()))
		p, err := x.OpenPort()
		require.NoError(t, err)
		var sealed, later world.Completion
		_, err = x.all.Create(p.Notify(&sealed), tagged{})
		require.NoError(t, err)
		x.during = func(uint64) {
			_, err := x.all.Create(p.Notify(&later), tagged{})
			require.NoError(t, err)
		}
		to.failing = true
		err = x.s.Step(t.Context())
		require.ErrorIs(t, err, world.ErrClosed)
		require.ErrorContains(t, err, "no room")
		require.Equal(t, 1, commits)
		require.Equal(t, world.Unknown, sealed.Outcome(), "a part of the record may be there")
		require.Equal(t, world.Closed, later.Outcome())
		require.Error(t, r.Close())
	}
}

type failingWriter struct{ failing, panics bool }

func (w *failingWriter) Write(b []byte) (int, error) {
	switch {
	case w.failing && w.panics:
		panic("no room")
	case w.failing:
		return 0, errors.New("no room")
	}
	return len(b), nil
}
