package world_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

func TestCompletionWait(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	var done world.Completion
	o, err := done.Wait(ended)
	require.NoError(t, err, "no request is under way")
	require.Equal(t, world.Undecided, o)

	h := f.newUnit(1)
	require.NoError(t, p.Notify(&done).Destroy(h))
	o, err = done.Wait(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, world.Undecided, o)

	f.Refresh() // giving up waiting does not call the request off
	f.mustBeStale(h)
	o, err = done.Wait(ended)
	require.NoError(t, err, "it is known by now")
	require.Equal(t, world.Applied, o)
	o, err = done.Wait(t.Context())
	require.NoError(t, err, "asked again")
	require.Equal(t, world.Applied, o)
}

// TestCompletionUsedAgain uses one Completion for many requests, in turn.
func TestCompletionUsedAgain(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	var done world.Completion
	h := f.newUnit(1)
	for i := range 10 {
		require.NoError(t, p.Notify(&done).Destroy(h))
		require.Equal(t, world.Undecided, done.Outcome(), "not that of the last time")
		mustPanic(t, []string{"Completion is still waiting", "use one for each request"}, func() { _ = p.Notify(&done).Destroy(h) })
		f.Refresh()
		want := world.Applied
		if i > 0 {
			want = world.Gone
		}
		o, err := done.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, o)
	}
	// The next request of the port is not the Completion's affair.
	require.NoError(t, p.Destroy(h))
	f.Refresh()
	require.Equal(t, world.Gone, done.Outcome())
}

// TestCompletionNotifiesOneRequest asks to be told of one request among many.
func TestCompletionNotifiesOneRequest(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	a, b := f.newUnit(1), f.newUnit(2)
	var done world.Completion
	require.NoError(t, p.Destroy(a))
	require.NoError(t, f.name.Set(p.Notify(&done), b, Name{}))
	require.NoError(t, p.Destroy(a))
	f.Refresh()
	require.Equal(t, world.Missing, done.Outcome())
}

// TestCompletionOutcomeText pins the words, which metrics and logs use.
func TestCompletionOutcomeText(t *testing.T) {
	for o, want := range map[world.Outcome]string{
		world.Undecided: "undecided", world.Applied: "applied", world.Gone: "gone",
		world.Missing: "missing", world.Refused: "refused", world.Failed: "failed", 99: "unknown",
	} {
		require.Equal(t, want, o.String())
	}
	require.Equal(t, "unknown", world.Status(99).String())
}

// TestCompletionConversation has a goroutine that waits for each outcome before
// it goes on, while another refreshes. Who is told that a request is done finds
// it done: the entity in its new state, room in the queue, and the handle of a
// dead entity's slot on its way back.
func TestCompletionConversation(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4, QueueRequests: 1})
	p := f.port()
	over := make(chan struct{})
	go func() {
		defer close(over)
		var done world.Completion
		for i := range iterations(2000) {
			h, err := f.unit.Create(p.Notify(&done), Unit{Health{int64(i)}})
			if err != nil {
				t.Errorf("create %d: %v", i, err)
				return
			}
			if o, err := done.Wait(t.Context()); err != nil || o != world.Applied || !p.Alive(h) {
				t.Errorf("created %d: %v, %v, %v", i, o, err, p.Status(h))
				return
			}
			if err := p.Notify(&done).Destroy(h); err != nil {
				t.Errorf("destroy %d: %v", i, err)
				return
			}
			if o, err := done.Wait(t.Context()); err != nil || o != world.Applied || p.Alive(h) {
				t.Errorf("destroyed %d: %v, %v, %v", i, o, err, p.Status(h))
				return
			}
		}
	}()
	for {
		select {
		case <-over:
			f.Refresh()
			require.Zero(t, f.Count())
			return
		default:
			f.Refresh()
			runtime.Gosched() // where there is one processor
		}
	}
}

// TestCompletionOfRefused has another goroutine wait while requests are refused:
// it is not left waiting for a request that was never sent.
func TestCompletionOfRefused(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, QueueRequests: 1})
	p := f.port()
	require.NoError(t, p.Destroy(handle.None))
	var done world.Completion
	var stop atomic.Bool
	over := make(chan struct{})
	go func() {
		defer close(over)
		for !stop.Load() {
			if o, err := done.Wait(t.Context()); err != nil || o != world.Undecided {
				t.Errorf("%v, %v", o, err)
				return
			}
			runtime.Gosched()
		}
	}()
	for range iterations(100_000) {
		require.ErrorIs(t, p.Notify(&done).Destroy(handle.None), world.ErrFull)
	}
	stop.Store(true)
	select {
	case <-over:
	case <-time.After(30 * time.Second):
		t.Fatal("somebody waits for a request that was refused")
	}
	f.Refresh()
	require.NoError(t, p.Destroy(handle.None), "for which nobody waits")
	f.Refresh()
	require.Equal(t, world.Undecided, done.Outcome())
}

// TestCompletionDone waits for several outcomes and something else at once.
func TestCompletionDone(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	h := f.newUnit(1)
	var first, second world.Completion
	for range 3 { // the channel serves request after request
		require.NoError(t, p.Notify(&first).Destroy(handle.None))
		require.NoError(t, f.health.Set(p.Notify(&second), h, Health{2}))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		select {
		case <-first.Done():
			t.Fatal("not yet")
		case <-second.Done():
			t.Fatal("not yet")
		case <-ended.Done():
		}
		f.Refresh()
		for range 2 {
			select {
			case <-first.Done():
				require.Equal(t, world.Gone, first.Outcome())
			case <-second.Done():
				require.Equal(t, world.Applied, second.Outcome())
			case <-time.After(30 * time.Second):
				t.Fatal("nobody is told")
			}
		}
		select {
		case <-first.Done():
			t.Fatal("told twice")
		default:
		}
	}
	o, err := first.Wait(t.Context())
	require.NoError(t, err, "known, whoever took the signal")
	require.Equal(t, world.Gone, o)
}

// TestCompletionDoneIsOfThisRequest uses a Completion again as soon as it is seen
// to be decided: no signal is that of an earlier request.
func TestCompletionDoneIsOfThisRequest(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	over := make(chan struct{})
	go func() {
		defer close(over)
		var done world.Completion
		for range iterations(20_000) {
			if err := p.Notify(&done).Destroy(handle.None); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-done.Done():
				if done.Outcome() != world.Gone {
					t.Error("told before it was decided")
					return
				}
			default:
				for done.Outcome() == world.Undecided { // the signal is left
					runtime.Gosched()
				}
			}
		}
	}()
	for {
		select {
		case <-over:
			return
		default:
			f.Refresh()
			runtime.Gosched()
		}
	}
}

// TestCompletionDoneOnDemand asks for the channel for the first time before, at and
// after the moment in which the outcome is told: one value comes in any case.
func TestCompletionDoneOnDemand(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	n := iterations(20_000)
	sent, over := make(chan *world.Completion, 1), make(chan struct{})
	go func() {
		defer close(over)
		for done := range sent {
			select {
			case <-done.Done():
			case <-time.After(30 * time.Second):
				t.Error("nobody is told")
				return
			}
			if done.Outcome() != world.Gone {
				t.Errorf("told %v", done.Outcome())
			}
			select {
			case <-done.Done():
				t.Error("told twice")
			default:
			}
		}
	}()
	for i := range n {
		done := new(world.Completion)
		require.NoError(t, p.Notify(done).Destroy(handle.None))
		if i%3 == 0 {
			f.Refresh()
		}
		sent <- done
		f.Refresh()
	}
	close(sent)
	<-over
}

// TestCompletionAsksForNoMemory looks at outcomes, and waits for none: there is no
// channel then.
func TestCompletionAsksForNoMemory(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	outcomes := make([]world.Completion, 300)
	i := 0
	round := func() {
		done := &outcomes[i]
		i++
		if p.Notify(done).Destroy(handle.None) != nil {
			panic("refused")
		}
		f.Refresh()
		if done.Outcome() != world.Gone {
			panic("not told")
		}
	}
	for range 100 {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(100, round))
}

// TestCompletionOldSignal wakes who waits before there is an outcome, as the
// signal of an earlier one does that comes late: it waits on.
func TestCompletionOldSignal(t *testing.T) {
	f := newFixture(t, world.Options{})
	p, h := f.port(), f.newUnit(1)
	var done world.Completion
	require.NoError(t, p.Notify(&done).Destroy(h))
	done.Done()                           // there is nothing to signal on before
	world.Finish(&done, ^world.Undecided) // which leaves it waiting
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	o, err := done.Wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, world.Undecided, o)
	f.Refresh()
	o, err = done.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, world.Applied, o)
}

// TestCompletionToldLast looks at outcomes between the steps of a refresh that has
// enough to do in each: none is told before the last is done.
func TestCompletionToldLast(t *testing.T) {
	const n = 1000
	f := newFixture(t, world.Options{Shards: 2})
	p, all := f.port(), f.newUnits(n)
	outcomes := make([]world.Completion, n)
	for i, h := range all {
		require.NoError(t, p.Notify(&outcomes[i]).Destroy(h))
	}
	steps := 0
	engine.Of(f.World).BeginTick().End(func(n int, do func(int)) {
		for i := range outcomes {
			require.Equal(t, world.Undecided, outcomes[i].Outcome(), "in step %d", steps)
		}
		steps++
		serial(n, do)
	})
	require.GreaterOrEqual(t, steps, 2, "at least to apply and to sweep")
	for i := range outcomes {
		require.Equal(t, world.Applied, outcomes[i].Outcome())
	}
}

// TestCompletionHidesFinish checks that users cannot tell an outcome themselves.
func TestCompletionHidesFinish(t *testing.T) {
	type finishes interface{ Finish(world.Outcome) }
	_, ok := any(new(world.Completion)).(finishes)
	require.False(t, ok)
	_, ok = any(new(world.Answer[int])).(finishes)
	require.False(t, ok)
}

// TestCompletionOfEarlierRequest has a call panic that was given a Completion which an earlier
// request still has. The panic is recovered, and the Completion stays with that request.
func TestCompletionOfEarlierRequest(t *testing.T) {
	f := newFixture(t, world.Options{})
	h := f.newUnit(1)
	p := f.port()
	var done world.Completion
	require.NoError(t, p.Notify(&done).Destroy(h))
	require.Panics(t, func() { _ = f.unit.CreateN(p.Notify(&done), -1, nil) })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := done.Wait(ended)
	require.ErrorIs(t, err, context.Canceled, "it waits")
	require.Panics(t, func() { _ = p.Notify(&done).Destroy(h) })
	f.Refresh()
	require.Equal(t, world.Applied, done.Outcome())
}
