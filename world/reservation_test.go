package world_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Link names another entity.
type Link struct{ To handle.Handle }

// TestReservation reserves handles for entities that name each other, and creates
// those.
func TestReservation(t *testing.T) {
	type Node struct {
		Link
		Health
	}
	f := newFixture(t, world.Options{Shards: 3})
	link := world.Register[Link](f.World, "link")
	nodes := world.NewBundle[Node](f.World)
	p, other := f.port(), f.port()
	r, err := p.Reserve(100)
	require.NoError(t, err)
	require.Equal(t, 100, r.Len())
	require.Zero(t, p.Waiting(), "it is no request")
	seen := map[handle.Handle]bool{}
	for i, h := range r.Handles() {
		require.Equal(t, h, r.Handle(i))
		require.False(t, seen[h])
		seen[h] = true
		require.Equal(t, world.Pending, p.Status(h))
	}
	var early world.Completion
	require.NoError(t, f.health.Set(other.Notify(&early), r.Handle(1), Health{8}))
	for i := range 50 {
		require.NoError(t, nodes.CreateReserved(r, i, Node{Link{r.Handle((i + 1) % 50)}, Health{int64(i)}}))
	}
	f.Refresh()
	require.Equal(t, world.Applied, early.Outcome(), "the create came in time")
	require.Equal(t, 50, f.Count())
	for i := range 50 {
		require.Equal(t, Link{r.Handle((i + 1) % 50)}, *world.Read[Link](f.World).Get(r.Handle(i)))
	}
	require.NoError(t, f.health.Set(other.Notify(&early), r.Handle(60), Health{8}))
	var destroyed world.Completion
	require.NoError(t, p.Notify(&destroyed).Destroy(r.Handle(61)))
	f.Refresh()
	require.Equal(t, world.Gone, early.Outcome(), "nobody there yet")
	require.Equal(t, world.Gone, destroyed.Outcome())
	require.NoError(t, nodes.CreateReserved(r, 60, Node{}), "and still reserved")
	require.NoError(t, nodes.CreateReserved(r, 61, Node{}))
	f.Refresh()
	require.True(t, p.Alive(r.Handle(60)))
	require.True(t, p.Alive(r.Handle(61)))
	_ = link
}

// TestReservationGoesBack has what is not used go back in each way: it is stale
// from the next refresh on, the slot is used again, and what was used lives on.
func TestReservationGoesBack(t *testing.T) {
	const ticks = 50
	for name, end := range map[string]func(f *fixture, p *world.Port, r *world.Reservation){
		"released": func(_ *fixture, _ *world.Port, r *world.Reservation) { r.Release(); r.Release() },
		"closed":   func(_ *fixture, p *world.Port, _ *world.Reservation) { p.Close() },
		"revoked": func(f *fixture, p *world.Port, r *world.Reservation) {
			for range ticks - 1 {
				f.Refresh()
			}
			require.Equal(f.t, world.Pending, p.Status(r.Handle(9)), "not before its time")
			for range 20 { // it is looked for now and then
				f.Refresh()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 1, IndexMax: 15, ReserveTicks: ticks})
			p := f.port()
			for round := range 3 {
				if round > 0 && name == "closed" {
					p = f.port()
				}
				r, err := p.Reserve(10)
				require.NoError(t, err)
				for i := range 5 {
					require.NoError(t, f.unit.CreateReserved(r, i, Unit{Health{int64(i)}}))
				}
				end(f, p, r)
				f.Refresh()
				want := world.ErrRevoked
				if name == "closed" {
					want = world.ErrClosed
				}
				for i, h := range r.Handles() {
					if i < 5 {
						f.mustHave(int64(i))(h)
						require.True(t, f.Destroy(h))
						continue
					}
					require.Equal(t, world.Stale, f.Status(h))
					require.ErrorIs(t, f.unit.CreateReserved(r, i, Unit{}), want)
				}
				require.Equal(t, 5, f.Count())
				f.Refresh()
			}
			last := f.port()
			all, err := f.unit.AppendN(nil, last, 16, nil)
			if err != nil { // what a port lacks it is given at the refresh after it asked
				f.Refresh()
				all, err = f.unit.AppendN(nil, last, 10, nil)
			}
			require.NoError(t, err, "every index is there again")
			f.Refresh()
			require.Equal(t, len(all), f.Count())
		})
	}
}

// TestReservationLimits reserves more than there is: nothing is reserved then, and
// what is there can be.
func TestReservationLimits(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, IndexMax: 99, LaneRequests: 5})
	p := f.port()
	for _, n := range []int{101, 1 << 40} {
		_, err := p.Reserve(n)
		require.ErrorIs(t, err, world.ErrIndexes)
	}
	r, err := p.Reserve(100)
	require.NoError(t, err)
	_, err = p.Reserve(1)
	require.ErrorIs(t, err, world.ErrIndexes)
	none, err := p.Reserve(0)
	require.NoError(t, err)
	require.Zero(t, none.Len())

	for i := range 5 {
		require.NoError(t, f.unit.CreateReserved(r, i, Unit{}))
	}
	require.ErrorIs(t, f.unit.CreateReserved(r, 5, Unit{}), world.ErrFull)
	f.Refresh()
	require.NoError(t, f.unit.CreateReserved(r, 5, Unit{}), "tried again")
	p.Close()
	_, err = p.Reserve(1)
	require.ErrorIs(t, err, world.ErrClosed)
}

// TestReservationBatch creates reserved entities in batches: of one that is not
// sent the handles stay reserved.
func TestReservationBatch(t *testing.T) {
	f := newFixture(t, world.Options{})
	p := f.port()
	r, err := p.Reserve(4)
	require.NoError(t, err)
	create := func(end error) func() error {
		return func() error {
			for i := range 4 {
				require.NoError(t, f.unit.CreateReserved(r, i, Unit{Health{int64(i)}}))
			}
			return end
		}
	}
	require.ErrorIs(t, p.Batch(create(world.ErrStale)), world.ErrStale)
	f.Refresh()
	require.Zero(t, f.Count())
	require.Equal(t, world.Pending, p.Status(r.Handle(0)))
	require.NoError(t, p.Batch(create(nil)))
	f.Refresh()
	require.Equal(t, 4, f.Count())

	again, err := p.Reserve(1)
	require.NoError(t, err)
	err = p.Batch(func() error {
		require.NoError(t, f.unit.CreateReserved(again, 0, Unit{}))
		again.Release() // in the middle
		return world.ErrStale
	})
	require.ErrorIs(t, err, world.ErrStale)
	f.Refresh()
	require.Equal(t, world.Stale, f.Status(again.Handle(0)), "it went back with the batch")
}

// TestReservationMisuse uses reservations as they must not be.
func TestReservationMisuse(t *testing.T) {
	f, other := newFixture(t, world.Options{}), newFixture(t, world.Options{})
	p := f.port()
	r, err := p.Reserve(2)
	require.NoError(t, err)
	require.NoError(t, f.unit.CreateReserved(r, 0, Unit{}))
	mustPanic(t, []string{"handle 0 of a reservation", "is used already", "for one create"}, func() { _ = f.unit.CreateReserved(r, 0, Unit{}) })
	mustPanic(t, []string{"a reservation of port 0 has no handle 2", "only 0 to 1"}, func() { _ = f.unit.CreateReserved(r, 2, Unit{}) })
	mustPanic(t, []string{"has no handle -1"}, func() { _ = f.unit.CreateReserved(r, -1, Unit{}) })
	mustPanic(t, []string{"port 0: cannot reserve -1 handles"}, func() { _, _ = p.Reserve(-1) })
	mustPanic(t, []string{"bundle", "another world"}, func() { _ = other.unit.CreateReserved(r, 1, Unit{}) })
	require.NoError(t, f.unit.CreateReserved(r, 1, Unit{}), "fine again")
	f.Refresh()
	require.Equal(t, 2, f.Count())
}

// TestReservationUnderRefresh reserves, uses, releases and lets be revoked from
// many goroutines while refreshes run: in the end each handle that was created is
// alive and none of the others.
func TestReservationUnderRefresh(t *testing.T) {
	const senders = 6
	f := newFixture(t, world.Options{Shards: 2, ReserveTicks: 20, VersionMax: 1000})
	var over atomic.Int32
	made := make([][]handle.Handle, senders)
	left := make([][]handle.Handle, senders)
	var wg sync.WaitGroup
	for s := range senders {
		p := f.port()
		r := newRand(t, uint64(s))
		wg.Go(func() {
			defer over.Add(1)
			defer p.Close()
			for range iterations(300) {
				n := 1 + r.IntN(20)
				held, err := p.Reserve(n)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range n {
					if r.IntN(3) == 0 {
						left[s] = append(left[s], held.Handle(i))
						continue
					}
					switch err := f.unit.CreateReserved(held, i, Unit{}); err {
					case nil:
						made[s] = append(made[s], held.Handle(i))
					default:
						left[s] = append(left[s], held.Handle(i))
					}
				}
				if r.IntN(2) == 0 {
					held.Release()
				}
			}
		})
	}
	for over.Load() < senders {
		f.Refresh()
	}
	wg.Wait()
	for range 40 {
		f.Refresh()
	}
	n := 0
	for s := range senders {
		n += len(made[s])
		for _, h := range made[s] {
			require.Equal(t, world.Alive, f.Status(h))
		}
		for _, h := range left[s] {
			require.Equal(t, world.Stale, f.Status(h))
		}
	}
	require.Equal(t, n, f.Count())
}
