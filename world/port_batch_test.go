package world_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestPortBatch sends many kinds of requests in one step: nothing of it is under
// way before its end, and then all of it.
func TestPortBatch(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	p := f.port()
	there := f.newUnits(10)
	var done [4]world.Completion
	var made handle.Handle
	err := p.Batch(func() (err error) {
		made, err = f.creature.Create(p.Notify(&done[0]), Creature{Health: Health{5}, Name: Name{"n"}})
		require.NoError(t, err)
		require.NoError(t, f.health.Set(p.Notify(&done[1]), made, Health{6}))
		require.NoError(t, f.name.Add(p.Notify(&done[2]), there[0], Name{"added"}))
		for _, h := range there[1:] {
			require.NoError(t, p.Destroy(h))
		}
		require.NoError(t, f.hit.Send(p.Notify(&done[3]), there[0], Hit{1}))
		require.Zero(t, p.Waiting(), "held back")
		f.Refresh()
		require.Equal(t, 10, f.Count())
		require.Equal(t, world.Pending, p.Status(made))
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 13, p.Waiting())
	f.Refresh()
	for i := range done {
		require.Equal(t, world.Applied, done[i].Outcome(), "%d", i)
	}
	f.mustHave(6)(made)
	require.Equal(t, Name{"added"}, *world.Read[Name](f.World).Get(there[0]))
	require.Equal(t, 2, f.Count())

	require.NoError(t, p.Batch(func() error { return nil }), "an empty one")
	require.Zero(t, p.Waiting())
	require.NoError(t, p.Destroy(made), "and one alone")
	require.Equal(t, 1, p.Waiting())
}

// TestPortBatchRefused has batches refused, by the caller's error, by a panic, or
// for want of room or of indexes: nothing of them was sent, the handles given in
// them are stale, and the port goes on.
func TestPortBatchRefused(t *testing.T) {
	errMine := errors.New("mine")
	for _, test := range []struct {
		name     string
		options  world.Options
		rejected int // of 4 creates, a Set and what f does
		f        func(f *fixture, p *world.Port) error
		want     error
	}{
		{"by the caller", world.Options{}, 0, func(*fixture, *world.Port) error { return errMine }, errMine},
		{"by a panic", world.Options{}, 0, func(*fixture, *world.Port) error { panic(errMine) }, errMine},
		{"for want of room", world.Options{QueueRequests: 7}, 8, func(f *fixture, p *world.Port) error {
			err := f.unit.CreateN(p, 3, nil)
			require.ErrorIs(f.t, err, world.ErrTooLarge, "with an empty queue")
			require.ErrorIs(f.t, p.Destroy(1), world.ErrTooLarge, "as all that follow")
			return nil
		}, world.ErrTooLarge},
		{"for want of indexes", world.Options{Shards: 1, IndexMax: 5}, 0, func(f *fixture, p *world.Port) error {
			err := f.unit.CreateN(p, 3, nil)
			require.ErrorIs(f.t, err, world.ErrIndexes)
			return nil
		}, world.ErrIndexes},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, test.options)
			p := f.port()
			var created, set world.Completion
			var given []handle.Handle
			for round := range 3 {
				err := func() (err error) {
					defer func() {
						if v := recover(); v != nil {
							err = v.(error)
						}
					}()
					return p.Batch(func() (err error) {
						given, err = f.creature.AppendN(given[:0], p.Notify(&created), 4, nil)
						require.NoError(t, err)
						require.NoError(t, f.name.Set(p.Notify(&set), given[0], Name{"x"}))
						return test.f(f, p)
					})
				}()
				require.ErrorIs(t, err, test.want)
				require.Zero(t, p.Waiting())
				require.Equal(t, uint64((round+1)*test.rejected), p.Rejected())
				require.Equal(t, world.Undecided, created.Outcome())
				o, err := set.Wait(t.Context())
				require.NoError(t, err, "nobody is left waiting")
				require.Equal(t, world.Undecided, o)
				f.Refresh()
				require.Zero(t, f.Count())
				for _, h := range given {
					require.Equal(t, world.Stale, f.Status(h), "its handle was told, so it is used up")
				}
				h, err := f.unit.Create(p.Notify(&created), Unit{Health{9}})
				require.NoError(t, err)
				f.Refresh()
				require.Equal(t, world.Applied, created.Outcome())
				f.mustHave(9)(h)
				require.True(t, f.Destroy(h))
				f.Refresh()
			}
		})
	}
}

// TestPortBatchMisuse does within a batch what must not be done there.
func TestPortBatchMisuse(t *testing.T) {
	f := newFixture(t, world.Options{})
	p := f.port()
	require.NoError(t, p.Batch(func() error {
		mustPanic(t, []string{"Port.Batch within a batch of port 0", "do not nest"}, func() { _ = p.Batch(func() error { return nil }) })
		mustPanic(t, []string{"Port.Close within a batch of port 0", "after the batch"}, p.Close)
		return p.Destroy(f.newUnit(1))
	}))
	f.Refresh()
	require.Zero(t, f.Count())
	p.Close()
	require.ErrorIs(t, p.Batch(func() error { return p.Destroy(1) }), world.ErrClosed)
}

// TestPortCreateN creates in one step, and with an init that panics takes all
// back.
func TestPortCreateN(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	p := f.port()
	all, err := f.creature.AppendN(nil, p, 1000, func(i int, c *Creature) {
		require.Equal(t, Creature{}, *c, "zero before")
		*c = Creature{Health: Health{int64(i)}, Name: Name{"n"}}
	})
	require.NoError(t, err)
	require.Len(t, all, 1000)
	require.Equal(t, 1000, p.Waiting())
	f.Refresh()
	for i, h := range all {
		f.mustHave(int64(i))(h)
	}
	evenly(t, f.perShard(), 16)

	require.PanicsWithValue(t, "init", func() {
		_ = f.unit.CreateN(p, 5, func(i int, _ *Unit) {
			if i == 3 {
				panic("init")
			}
		})
	})
	require.NoError(t, f.unit.CreateN(p, 0, nil))
	require.Zero(t, p.Waiting())
	require.NoError(t, f.unit.CreateN(p, 2, nil))
	f.Refresh()
	require.Equal(t, 1002, f.Count())
}

// TestPortBatchWhole sends batches from several goroutines while refreshes run:
// whoever looks after one sees all of a batch or nothing.
func TestPortBatchWhole(t *testing.T) {
	const senders, size = 3, 20
	f := newFixture(t, world.Options{Shards: 3})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % 3 })
	var over atomic.Int32
	var wg sync.WaitGroup
	for range senders {
		p := f.port()
		wg.Go(func() {
			defer over.Add(1)
			var all []handle.Handle
			for range iterations(500) {
				var err error
				if all, err = f.unit.AppendN(all[:0], p.Within(t.Context()), size, func(i int, u *Unit) { u.Points = int64(i) }); err != nil {
					t.Error(err)
					return
				}
				err = p.Within(t.Context()).Batch(func() error {
					for _, h := range all {
						if err := p.Destroy(h); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for over.Load() < senders {
		f.Refresh()
		require.Zero(t, f.Count()%size)
	}
	wg.Wait()
	f.Refresh()
	require.Zero(t, f.Count())
}
