package world_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestPortCreate creates through a port: the handle is good at once, its entity
// alive after the refresh.
func TestPortCreate(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	p := f.port()
	given := map[handle.Handle]Creature{}
	for i := range 1000 {
		c := Creature{Position{float64(i), 0}, Health{int64(i)}, Name{"n"}}
		h, err := f.creature.Create(p, c)
		require.NoError(t, err)
		require.NotContains(t, given, h)
		require.Equal(t, uint32(3), h.Home(), "at home outside")
		given[h] = c
		require.Equal(t, world.Pending, p.Status(h))
		require.False(t, p.Alive(h))
		require.Nil(t, world.Read[Health](f.World).Get(h))
		require.Equal(t, len(given), p.Waiting())
	}
	require.Zero(t, f.Count())
	f.Refresh()
	require.Zero(t, p.Waiting())
	require.Equal(t, 1000, f.Count())
	evenly(t, f.perShard(), 16)
	position, health, name := world.Read[Position](f.World), world.Read[Health](f.World), world.Read[Name](f.World)
	for h, c := range given {
		require.Equal(t, world.Alive, p.Status(h))
		require.Equal(t, c, Creature{*position.Get(h), *health.Get(h), *name.Get(h)})
		require.NoError(t, p.Destroy(h))
		require.True(t, p.Alive(h))
	}
	f.Refresh()
	require.Zero(t, f.Count())
	for h := range given {
		require.Equal(t, world.Stale, p.Status(h))
	}
}

// TestPortOutcomes asks for everything in every way and looks at the outcomes.
func TestPortOutcomes(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p, earlier, later := f.port(), f.port(), f.port()
	p, earlier = earlier, p // by number: earlier, p, later
	require.Less(t, earlier.Number(), p.Number())

	unit := func() handle.Handle { return f.newUnit(1) }
	request := func() handle.Handle {
		h, err := f.unit.Create(later, Unit{Health{1}})
		require.NoError(t, err)
		return h
	}
	for _, test := range []struct {
		name string
		make func() handle.Handle
		with func(h handle.Handle) // what others ask in the same refresh
		do   func(by *world.Port, h handle.Handle) error
		want world.Outcome
		then func(h handle.Handle)
	}{
		{"set", unit, nil, f.setTo(5), world.Applied, f.mustHave(5)},
		{"set missing", unit, nil, func(by *world.Port, h handle.Handle) error { return f.name.Set(by, h, Name{"x"}) }, world.Missing, f.mustHave(1)},
		{"set after an earlier port's", unit, func(h handle.Handle) { _ = f.setTo(6)(earlier, h) }, f.setTo(5), world.Applied, f.mustHave(5)},
		{"set before a later port's", unit, func(h handle.Handle) { _ = f.setTo(6)(later, h) }, f.setTo(5), world.Applied, f.mustHave(6)},
		{"set after an earlier port's destroy", unit, func(h handle.Handle) { _ = earlier.Destroy(h) }, f.setTo(5), world.Gone, f.mustBeStale},
		{"set before a later port's destroy", unit, func(h handle.Handle) { _ = later.Destroy(h) }, f.setTo(5), world.Applied, f.mustBeStale},
		{"set what a later port creates", request, nil, f.setTo(5), world.Applied, f.mustHave(5)},
		{"set what the world has marked", unit, func(h handle.Handle) { f.Destroy(h) }, f.setTo(5), world.Gone, f.mustBeStale},
		{"destroy", unit, nil, (*world.Port).Destroy, world.Applied, f.mustBeStale},
		{"destroy what a later port creates", request, nil, (*world.Port).Destroy, world.Applied, f.mustBeStale},
		{"destroy, too, after an earlier port", unit, func(h handle.Handle) { _ = earlier.Destroy(h) }, (*world.Port).Destroy, world.Gone, f.mustBeStale},
		{"destroy, too, before a later port", unit, func(h handle.Handle) { _ = later.Destroy(h) }, (*world.Port).Destroy, world.Applied, f.mustBeStale},
		{"destroy what the world has marked", unit, func(h handle.Handle) { f.Destroy(h) }, (*world.Port).Destroy, world.Gone, f.mustBeStale},
		{"destroy nothing", func() handle.Handle { return handle.None }, nil, (*world.Port).Destroy, world.Gone, func(handle.Handle) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := test.make()
			if test.with != nil {
				test.with(h)
			}
			var done world.Completion
			require.NoError(t, test.do(p.Notify(&done), h))
			require.Equal(t, world.Undecided, done.Outcome())
			f.Refresh()
			require.Equal(t, test.want, done.Outcome())
			test.then(h)
			f.Refresh()
			require.Equal(t, test.want, done.Outcome())
		})
	}
}

func (f *fixture) setTo(points int64) func(*world.Port, handle.Handle) error {
	return func(by *world.Port, h handle.Handle) error { return f.health.Set(by, h, Health{points}) }
}

func (f *fixture) mustHave(points int64) func(handle.Handle) {
	return func(h handle.Handle) {
		require.Equal(f.t, world.Alive, f.Status(h))
		require.Equal(f.t, points, world.Read[Health](f.World).Get(h).Points)
	}
}

func (f *fixture) mustBeStale(h handle.Handle) { require.Equal(f.t, world.Stale, f.Status(h)) }

// TestPortDestroyedOnce destroys an entity from many ports in one refresh:
// exactly one request is applied, that of the lowest number.
func TestPortDestroyedOnce(t *testing.T) {
	const ports = 130
	f := newFixture(t, world.Options{Shards: 3})
	var opened []*world.Port
	for range ports {
		opened = append(opened, f.port())
	}
	r := newRand(t, 2)
	for range iterations(50) {
		h := f.newUnit(1)
		done := make([]world.Completion, ports)
		senders := r.Perm(ports)[:1+r.IntN(ports-1)]
		lowest := ports
		for _, i := range senders {
			lowest = min(lowest, opened[i].Number())
			require.NoError(t, opened[i].Notify(&done[i]).Destroy(h))
		}
		f.Refresh()
		for _, i := range senders {
			want := world.Gone
			if opened[i].Number() == lowest {
				want = world.Applied
			}
			require.Equal(t, want, done[i].Outcome())
		}
	}
}

// TestPortCreateThenDestroy asks for both before the refresh.
func TestPortCreateThenDestroy(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	var all []handle.Handle
	for range 500 {
		var created, destroyed world.Completion
		h, err := f.unit.Create(p.Notify(&created), Unit{})
		require.NoError(t, err)
		require.NoError(t, p.Notify(&destroyed).Destroy(h))
		f.Refresh()
		require.Equal(t, world.Applied, created.Outcome())
		require.Equal(t, world.Applied, destroyed.Outcome())
		all = append(all, h)
	}
	require.Zero(t, f.Count())
	for _, h := range all {
		require.Equal(t, world.Stale, f.Status(h))
	}
	s := f.stats()
	require.Equal(t, [2]uint64{500, 500}, [2]uint64{s.Created, s.Destroyed})
}

// TestPortCreatedAndDestroyedAtOnce looks, within the refresh, at an entity that it
// creates and destroys: nobody ever sees it alive.
func TestPortCreatedAndDestroyedAtOnce(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	witness, p, q := f.newUnit(1), f.port(), f.port()
	h, err := f.unit.Create(p, Unit{})
	require.NoError(t, err)
	looks := 0
	look := func(*world.EntityContext) {
		looks++
		require.False(t, q.Alive(h))
		require.Equal(t, world.Pending, q.Status(h))
	}
	require.NoError(t, f.do(p, witness, look))
	require.NoError(t, p.Destroy(h))
	require.NoError(t, f.do(p, witness, look))
	f.Refresh()
	require.Equal(t, 2, looks)
	require.Equal(t, world.Stale, q.Status(h))
}

// TestPortSupplied creates without a pause while refreshes give the port the handles
// of the dead: none comes twice, and none is lost.
func TestPortSupplied(t *testing.T) {
	const indexMax = 8191
	f := newFixture(t, world.Options{Shards: 1, QueueRequests: 1 << 12, IndexMax: indexMax})
	p := f.port()
	ever := map[handle.Handle]bool{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := iterations(200_000); n > 0; {
			h, err := f.unit.Create(p, Unit{})
			if err != nil {
				runtime.Gosched()
				continue
			}
			if n--; ever[h] {
				t.Errorf("%v was given before", h)
				return
			}
			ever[h] = true
			for p.Destroy(h) != nil {
				runtime.Gosched()
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		f.Refresh()
	}
	p.Close()
	f.Refresh()
	require.Zero(t, f.Count())
	p = f.port()
	for refused := 0; refused < 10; f.Refresh() {
		if _, err := f.unit.Create(p, Unit{}); err != nil {
			refused++
			continue
		}
		for _, err := f.unit.Create(p, Unit{}); err == nil; {
			_, err = f.unit.Create(p, Unit{})
		}
	}
	require.Equal(t, indexMax+1, f.Count(), "every slot is of use")
}

// TestPortOfTwo uses a port from two goroutines at once: the check build says
// so. Which of them is told is up to chance.
func TestPortOfTwo(t *testing.T) {
	if !check.Enabled {
		t.Skip("checked in the check build only")
	}
	f := newFixture(t, world.Options{})
	p := f.port()
	inside, leave := make(chan struct{}), make(chan struct{})
	f.unit.PlaceBy(func(Unit) int { // keeps one goroutine within Create
		close(inside)
		<-leave
		return 0
	})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = f.unit.Create(p, Unit{}) })
	<-inside
	for _, call := range []func(){
		func() { _ = p.Destroy(handle.None) },
		func() { _ = f.health.Set(p, handle.None, Health{}) },
		func() { _ = f.hit.Send(p, handle.None, Hit{}) },
		func() { _, _ = f.mover.Create(p, Mover{}) },
	} {
		mustPanic(t, []string{"port 0 is used from two goroutines", "open a port for each"}, call)
	}
	close(leave)
	wg.Wait()
	require.NoError(t, p.Destroy(handle.None), "fine again")
}

// TestPortHome checks what the documents say of the home of what ports create: its number is
// that of the shards, and Owner tells the shard.
func TestPortHome(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	p := f.port()
	for range 100 {
		h, err := f.unit.Create(p, Unit{})
		require.NoError(t, err)
		require.Equal(t, uint32(f.Shards()), h.Home())
		f.Refresh()
		shard, ok := f.Owner(h)
		require.True(t, ok)
		require.Less(t, shard, f.Shards())
	}
}

// TestPortSeenFromOutside asks a port how many requests wait and were rejected, while its goroutine
// sends and the world is refreshed.
func TestPortSeenFromOutside(t *testing.T) {
	const most = 4
	w := world.MustNew(world.Options{QueueRequests: most})
	p, err := w.OpenPort()
	require.NoError(t, err)
	var over atomic.Bool
	var others sync.WaitGroup
	others.Go(func() {
		for !over.Load() {
			_ = p.Destroy(handle.None)
		}
	})
	others.Go(func() {
		for !over.Load() {
			w.Refresh()
		}
	})
	rejected := uint64(0)
	for range iterations(200_000) {
		require.LessOrEqual(t, uint(p.Waiting()), uint(most))
		before := rejected
		rejected = p.Rejected()
		require.LessOrEqual(t, before, rejected)
	}
	over.Store(true)
	others.Wait()
}
