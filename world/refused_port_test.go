package world_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
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
		return drive.NewRequests(driver.Of(f.World), "x", func(handle.Handle, *int) world.Outcome { return world.Applied }).Refuse(p, errCause)
	}},
	"nothing to do": {fine: true, call: func(f *fixture, p *world.Port, _ handle.Handle) error {
		return drive.NewRequests(driver.Of(f.World), "x", func(handle.Handle, *int) world.Outcome { return world.Applied }).Refuse(p, nil)
	}},
	"none created":  {fine: true, call: func(f *fixture, p *world.Port, _ handle.Handle) error { return f.unit.CreateN(p, 0, nil) }},
	"no such shard": {panics: true, call: func(_ *fixture, p *world.Port, h handle.Handle) error { return world.Move(p, h, 99) }},
	"no such shard for a message": {panics: true, call: func(f *fixture, p *world.Port, _ handle.Handle) error {
		return f.hit.SendShard(p, 99, Hit{})
	}},
	"copied":       {panics: true, call: func(_ *fixture, p *world.Port, h handle.Handle) error { _, err := world.Copy(p, h); return err }},
	"fewer than 0": {panics: true, call: func(f *fixture, p *world.Port, _ handle.Handle) error { return f.unit.CreateN(p, -1, nil) }},
	"placed nowhere": {panics: true, call: func(f *fixture, p *world.Port, _ handle.Handle) error {
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
