package async_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/world"
)

// TestRerun runs what was under way when the Pool was closed again, or says that it is lost.
func TestRerun(t *testing.T) {
	for _, again := range []bool{true, false} {
		var gate atomic.Bool
		var calls atomic.Int32
		g := newGame(t, 2, 2, async.Options{Rerun: again}, func(ctx context.Context, x Ask) (Reply, error) {
			calls.Add(1)
			if !gate.Load() {
				<-ctx.Done()
			}
			return Reply{N: x.N}, ctx.Err()
		})
		p := g.attach(async.PoolOptions{Workers: 1})
		_, err := async.Attach(g.World, async.PoolOptions{})
		require.ErrorIs(t, err, async.ErrAttached)
		h := g.create(1)
		ids := map[async.ID]int{}
		for n := range 5 { // one runs, the others wait
			ids[g.ask(h, Ask{N: n})] = n
		}
		g.step()
		require.Eventually(t, func() bool { return calls.Load() == 1 }, time.Minute, time.Millisecond)
		g.close(p)
		for n := range 2 { // in a tick without a Pool
			ids[g.ask(h, Ask{N: 5 + n})] = 5 + n
		}
		require.Equal(t, "[]", g.until(3))
		fresh := g.ask(h, Ask{N: 7}) // by the idle world, for the next tick
		gate.Store(true)
		g.attach(async.PoolOptions{Workers: 1})
		began, heard := time.Now(), 0
		for heard < 8 && time.Since(began) < time.Minute {
			time.Sleep(time.Millisecond)
			g.step()
			for _, got := range g.got {
				for _, m := range got {
					heard++
					n, ok := ids[m.Body.ID]
					switch {
					case m.Body.ID == fresh:
						require.Equal(t, result{fresh, async.Done, Reply{N: 7}}, m.Body)
					case again:
						require.True(t, ok)
						require.Equal(t, result{m.Body.ID, async.Done, Reply{N: n}}, m.Body)
					default:
						require.True(t, ok)
						require.Equal(t, result{m.Body.ID, async.Lost, Reply{}}, m.Body)
					}
					delete(ids, m.Body.ID)
				}
			}
		}
		require.Equal(t, 8, heard)
		require.Empty(t, ids)
		require.Equal(t, map[bool]int32{true: 9, false: 2}[again], calls.Load())
		require.Equal(t, "[]", g.until(5))
	}
}

// TestClose waits for what runs, and has its result.
func TestClose(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	g := newGame(t, 1, 1, async.Options{}, func(_ context.Context, x Ask) (Reply, error) {
		begun <- true
		<-end // whatever becomes of the context
		return Reply{N: x.N}, nil
	})
	p := g.attach(async.PoolOptions{Workers: 1})
	h := g.create(1)
	id := g.ask(h, Ask{N: 3})
	waiting := g.ask(h, Ask{N: 4})
	g.step()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Close(ctx), context.DeadlineExceeded)
	end <- true
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, p.Close(ctx), "it is over")
	require.Equal(t, result{ID: id, Value: Reply{N: 3}}, g.next(), "it has returned no error")
	require.Equal(t, "[]", g.until(3))
	g.attach(async.PoolOptions{Workers: 1})
	require.Equal(t, result{ID: waiting, Status: async.Lost}, g.next())
}

// TestCloseGraceful has the results of what ran when Close was called.
func TestCloseGraceful(t *testing.T) {
	begun := make(chan bool)
	g := newGame(t, 1, 1, async.Options{}, func(ctx context.Context, x Ask) (Reply, error) {
		begun <- true
		time.Sleep(20 * time.Millisecond)
		return Reply{N: x.N}, ctx.Err()
	})
	p := g.attach(async.PoolOptions{})
	id := g.ask(g.create(1), Ask{N: 3})
	g.step()
	<-begun
	require.NoError(t, p.Close(t.Context()))
	require.Equal(t, result{ID: id, Value: Reply{N: 3}}, g.next())
}

// TestGate calls the Gate before what was asked for behind the last time.
func TestGate(t *testing.T) {
	var o outside
	var calls atomic.Int32
	var wrong atomic.Pointer[error]
	g := newGame(t, 1, 1, async.Options{Ticks: 5000}, o.run)
	enter := make(chan bool, 100)
	p := g.attach(async.PoolOptions{Workers: 1, Gate: func(ctx context.Context) error {
		calls.Add(1)
		if e := wrong.Load(); e != nil {
			return *e
		}
		select {
		case <-enter:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	h := g.create(1)
	for range 4 {
		g.ask(h, Ask{N: returns})
	}
	require.Equal(t, "[]", g.until(10))
	require.Eventually(t, func() bool { return calls.Load() == 1 }, time.Minute, time.Millisecond)
	require.Zero(t, o.called(returns))
	enter <- true
	require.Eventually(t, func() bool { return o.called(returns) == 4 }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return o.running() == 0 && p.Waits() == 0 }, time.Minute, time.Millisecond)
	require.Equal(t, int32(1), calls.Load(), "one for all")
	require.NotEmpty(t, g.until(2))

	g.ask(h, Ask{N: kinds}) // the Gate ends with the ask
	g.step()
	require.Eventually(t, func() bool { return calls.Load() == 2 }, time.Minute, time.Millisecond)
	require.Regexp(t, ":TimedOut 0", g.until(5000))
	require.Zero(t, o.called(kinds))

	no := errors.New("no")
	wrong.Store(&no)
	g.ask(h, Ask{N: 2 * kinds})
	require.Equal(t, async.Failed, g.next().Status)
	require.Zero(t, o.called(2*kinds))
}

// TestLogger is told what goes wrong, but not that a context has ended.
func TestLogger(t *testing.T) {
	var o outside
	var text bytes.Buffer
	g := newGame(t, 1, 1, async.Options{}, o.run)
	p := g.attach(async.PoolOptions{Workers: 1, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	h := g.create(1)
	for _, n := range []int{returns, fails, panics, exits} {
		g.ask(h, Ask{N: n})
		g.next()
	}
	g.ask(h, Ask{N: waits})
	g.step()
	require.Eventually(t, func() bool { return o.called(waits) == 1 }, time.Minute, time.Millisecond)
	g.close(p)
	require.Equal(t, 3, bytes.Count(text.Bytes(), []byte("\n")))
	require.Contains(t, text.String(), `msg="async: a function has failed" call=calls error="it fails"`)
	require.Contains(t, text.String(), `msg="async: a function has panicked" call=calls error=2`)
	require.Contains(t, text.String(), "fixture_test.go")
	require.Contains(t, text.String(), `error="it called runtime.Goexit, as a test that fails does"`)
}

// TestFullPorts sends more results than ports hold.
func TestFullPorts(t *testing.T) {
	var o outside
	g := newGameIn(t, world.Options{Shards: 1, QueueRequests: 1}, 1, async.Options{}, o.run)
	g.attach(async.PoolOptions{Workers: 2})
	h := g.create(1)
	const asks = 20
	for range asks {
		g.ask(h, Ask{N: returns})
	}
	seen := 0
	for began := time.Now(); seen < asks && time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
		g.step()
		require.LessOrEqual(t, len(g.got[0]), 2)
		seen += len(g.got[0])
	}
	require.Equal(t, asks, seen)
}

// TestTimedOutQueue does not keep what has timed out before it began.
func TestTimedOutQueue(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{Ticks: 4, Pending: 100}, o.run)
	stop := make(chan bool)
	p := g.attach(async.PoolOptions{Workers: 1, Gate: func(context.Context) error { <-stop; return nil }})
	h := g.create(1)
	for range 50 {
		for {
			if _, err := g.call.Go(g.World, h, Ask{N: 1}); err != nil {
				break
			}
		}
		g.step()
		require.LessOrEqual(t, p.Waits(), 100)
	}
	close(stop)
}

// TestWorldEnds ends the contexts with the world, and Attach and Go are refused.
func TestWorldEnds(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{}, o.run)
	p := g.attach(async.PoolOptions{})
	h := g.create(1)
	g.ask(h, Ask{N: waits})
	g.step()
	require.Eventually(t, func() bool { return o.running() == 1 }, time.Minute, time.Millisecond)
	g.Close()
	require.NoError(t, p.Close(t.Context()))
	require.Zero(t, o.running())
	_, err := async.Attach(g.World, async.PoolOptions{})
	require.ErrorIs(t, err, world.ErrClosed)
	_, err = g.call.Go(g.World, h, Ask{})
	require.ErrorIs(t, err, world.ErrClosed)
}

// TestPorts refuses a Pool without ports enough, and leaves none open.
func TestPorts(t *testing.T) {
	var o outside
	g := newGameIn(t, world.Options{PortsMax: 3}, 1, async.Options{}, o.run)
	_, err := async.Attach(g.World, async.PoolOptions{Workers: 4})
	require.ErrorIs(t, err, world.ErrPorts)
	g.step()
	for range 3 {
		p := g.attach(async.PoolOptions{Workers: 3})
		require.NoError(t, p.Close(t.Context()))
		g.step()
	}
}

// TestNoGoroutines is left behind by Pools.
func TestNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	var o outside
	g := newGame(t, 1, 1, async.Options{}, o.run)
	h := g.create(1)
	for range 10 {
		p := g.attach(async.PoolOptions{})
		for n := range kinds {
			g.ask(h, Ask{N: n})
		}
		g.until(3)
		g.close(p)
		g.step()
	}
	g.Close()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, time.Minute, time.Millisecond)
}
