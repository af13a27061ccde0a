package world_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// refusals are calls by a port that are refused, or have nothing to send, before anything is sent.
// Those that panic are recovered.
var refusals = map[string]struct {
	call   func(f *fixture, p *world.Port, h handle.Handle) error
	panics bool
	fine   bool // it has nothing to send
}{
	"an extension": {call: func(f *fixture, p *world.Port, _ handle.Handle) error {
		return engine.NewRequests(engine.Of(f.World), "x", func(handle.Handle, *int) engine.Outcome { return engine.Applied }).Refuse(p, errCause)
	}},
	"nothing to do": {fine: true, call: func(f *fixture, p *world.Port, _ handle.Handle) error {
		return engine.NewRequests(engine.Of(f.World), "x", func(handle.Handle, *int) engine.Outcome { return engine.Applied }).Refuse(p, nil)
	}},
	"none created":  {fine: true, call: func(f *fixture, p *world.Port, _ handle.Handle) error { return f.unit.CreateN(p, 0, nil) }},
	"no such shard": {panics: true, call: func(_ *fixture, p *world.Port, h handle.Handle) error { return world.Move(p, h, 99) }},
	"no such shard for a message": {panics: true, call: func(f *fixture, p *world.Port, _ handle.Handle) error {
		return f.hit.SendShard(p, 99, Hit{})
	}},
	"copied":       {panics: true, call: func(_ *fixture, p *world.Port, h handle.Handle) error { _, err := world.Copy(p, h); return err }},
	"fewer than 0": {panics: true, call: func(f *fixture, p *world.Port, _ handle.Handle) error { return f.unit.CreateN(p, -1, nil) }},
	"placed nowhere": {call: func(f *fixture, p *world.Port, _ handle.Handle) error {
		f.unit.PlaceBy(func(Unit) int { panic(errCause) })
		defer f.unit.PlaceBy(nil)
		_, err := f.unit.Create(p, Unit{})
		return err
	}},
	"another world's": {panics: true, call: func(_ *fixture, p *world.Port, h handle.Handle) error {
		w := world.MustNew(world.Options{})
		return world.Register[Health](w, "health").Set(p, h, Health{})
	}},
}

// TestRefusedPort holds that Notify and Within concern one call, also if that is refused before
// anything is sent, and that a batch with such a call is not sent.
func TestRefusedPort(t *testing.T) {
	for name, test := range refusals {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 2, QueueRequests: 2})
			h, other := f.newUnit(1), f.newUnit(2)
			p := f.port()
			call := func() error {
				if test.panics {
					require.Panics(t, func() { _ = test.call(f, p, h) })
					return errCause
				}
				return test.call(f, p, h)
			}
			mustRefuse := func(err error) {
				t.Helper()
				require.Equal(t, test.fine, err == nil, "%v", err)
			}
			var done world.Completion
			p.Notify(&done)
			mustRefuse(call())
			require.NoError(t, p.Destroy(other))
			f.Refresh()
			want := world.Undecided
			if name == "none created" {
				want = world.Applied // all of them
			}
			require.Equal(t, want, done.Outcome(), "of the refused call")
			require.NoError(t, f.health.Set(p.Notify(&done), h, Health{7}), "it is free again")
			f.Refresh()
			require.Equal(t, world.Applied, done.Outcome())

			p.Within(context.Background())
			mustRefuse(call())
			require.NoError(t, f.health.Set(p, h, Health{8}))
			require.NoError(t, f.health.Set(p, h, Health{9}))
			require.ErrorIs(t, f.health.Set(p, h, Health{10}), world.ErrFull, "it does not wait")
			f.Refresh()

			var made handle.Handle
			err := p.Batch(func() error {
				made, _ = f.unit.Create(p, Unit{})
				_ = call()
				return nil
			})
			f.Refresh()
			mustRefuse(err)
			require.Equal(t, test.fine, f.Alive(made))

			require.NoError(t, p.Destroy(h))
			f.Refresh()
			require.False(t, f.Alive(h))
		})
	}
}

// TestRefusedCounted refuses requests as a rung of the ladder does: each counts as rejected, and a
// batch with one counts as a whole.
func TestRefusedCounted(t *testing.T) {
	const shards = 3
	f := newFixture(t, world.Options{Shards: shards})
	chat := world.RegisterFunc(f.World, "chat", func(*world.EntityContext, int) {})
	who := world.RegisterQuestion(f.World, "who", func(*world.EntityContext, int) int { return 1 })
	d := engine.Of(f.World)
	for _, x := range []world.Refusable{f.hit, chat, who} {
		_, ok := d.RefuseAtPorts(x, 1)
		require.True(t, ok)
	}
	h, p, want := f.newUnit(1), f.port(), uint64(0)
	mustCount := func(n uint64, err error) {
		t.Helper()
		require.ErrorIs(t, err, world.ErrRefused)
		want += n
		require.Equal(t, want, p.Rejected())
		require.Equal(t, want, f.stats().Rejected)
	}
	mustCount(1, f.hit.Send(p, h, Hit{}))
	mustCount(1, f.hit.SendShard(p, 0, Hit{}))
	mustCount(shards, f.hit.Broadcast(p, Hit{}))
	mustCount(1, chat.Call(p, h, 1))
	var answer world.Answer[int]
	mustCount(1, who.Ask(p, h, 1, &answer))
	mustCount(1, d.RefusedAtPort(p, f.hit)) // as for a timer
	mustCount(3, p.Batch(func() error {
		require.NoError(t, f.health.Set(p, h, Health{7}))
		require.NoError(t, f.health.Set(p, h, Health{8}))
		require.ErrorIs(t, chat.Call(p, h, 1), world.ErrRefused)
		require.ErrorIs(t, chat.Call(p, h, 1), world.ErrRefused, "the batch is given up already")
		return nil
	}))
	f.Refresh()
	f.mustHave(1)(h)
	require.Zero(t, f.stats().Refused, "that counts what a refresh refuses")

	wrong := errors.New("wrong")
	mustNotCount := func(want error, n uint64, err error) {
		t.Helper()
		require.ErrorIs(t, err, want)
		require.Equal(t, n, p.Rejected())
	}
	mustNotCount(wrong, want, p.Batch(func() error { return wrong }))
	mustNotCount(errCause, want, p.Batch(func() error {
		_ = engine.NewRequests(d, "x", func(handle.Handle, *int) engine.Outcome { return engine.Applied }).Refuse(p, errCause)
		require.ErrorIs(t, chat.Call(p, h, 1), errCause, "as every later request of the batch")
		return nil
	}))
	p.Close()
	mustNotCount(world.ErrClosed, want, chat.Call(p, h, 1))
}

// TestBatchRefusedAtOnce has a batch refused before it begins: the Completion of a request under
// way is not made free by that.
func TestBatchRefusedAtOnce(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, QueueRequests: 2})
	h, p := f.newUnit(1), f.port()
	var done world.Completion
	require.NoError(t, f.health.Set(p.Notify(&done), h, Health{2}))
	fail := errors.New("no")
	for range 3 { // uses up what may be taken back until the refresh
		_ = p.Batch(func() error { _, _ = f.unit.Create(p, Unit{}); return fail })
	}
	require.PanicsWithValue(t, "world: Completion is still waiting for an earlier request; use one for each request under way",
		func() { _ = p.Notify(&done).Batch(func() error { return nil }) })
	require.ErrorIs(t, p.Batch(func() error { return nil }), world.ErrFull)
	f.Refresh()
	require.Equal(t, world.Applied, done.Outcome())
}
