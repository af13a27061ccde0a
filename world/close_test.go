package world_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestCloseDestroysAll closes a world with entities in all states.
func TestCloseDestroysAll(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	all := f.newUnits(1000)
	moved, dying := all[0], all[1]
	require.NoError(t, world.Move(f.World, moved, 2))
	p := f.port()
	made, err := f.creature.Create(p, Creature{Name: Name{"who"}})
	require.NoError(t, err)
	f.Refresh()
	pending, err := f.unit.Create(p, Unit{})
	require.NoError(t, err)
	f.Destroy(dying)
	all = append(all, made, pending)
	health, space := world.Read[Health](f.World), f.Query(world.Read[Health](f.World))
	require.NoError(t, f.Err())

	f.Close()
	f.Close()
	require.Error(t, f.Err())
	for _, h := range all {
		require.False(t, f.Alive(h))
		require.Equal(t, world.Stale, f.Status(h), h)
		require.False(t, p.Alive(h))
		require.Equal(t, world.Stale, p.Status(h))
		require.Nil(t, health.Get(h))
		require.Nil(t, health.At(f.Locate(h)))
		require.False(t, f.Has(h, f.health))
		require.False(t, f.Destroy(h))
		_, ok := f.Owner(h)
		require.False(t, ok)
	}
	require.Zero(t, p.Waiting())
	p.Close()
	p.Close()
	require.Equal(t, uint64(2), f.Tick(), "closing is a refresh")
	require.Equal(t, 3, f.Shards())
	mustPanic(t, []string{"Query.Count of a closed world"}, func() { space.Count() })
}

// TestCloseFailsFurtherUse calls everything there is.
func TestCloseFailsFurtherUse(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	h, p, q := f.newUnit(1), f.port(), f.Query(world.Read[Health](f.World))
	weather := world.RegisterResource(f.World, "weather", 1)
	f.Refresh()
	f.Close()
	errs := map[string]func() error{
		"OpenPort":               func() error { _, err := f.OpenPort(); return err },
		"Copy":                   func() error { _, err := world.Copy(f.World, h); return err },
		"Reserve":                func() error { return f.unit.Reserve(f.World, 1) },
		"CreateN":                func() error { return f.unit.CreateN(f.World, 1, nil) },
		"CreateRows":             func() error { return f.unit.CreateRows(f.World, 1, func(world.Chunk) {}) },
		"Component.AddTo":        func() error { return f.name.AddTo(q, nil) },
		"Query.Remove":           func() error { return q.Remove(f.health) },
		"Bundle.AddTo":           func() error { return f.mover.AddTo(q, nil) },
		"Bundle.AddTo, removing": func() error { return f.mover.AddTo(q, nil, f.unit) },
		"Destroy by Port":        func() error { return p.Destroy(h) },
		"World.Create placed":    func() error { return f.unit.CreateN(f.World, 2, nil) },
		"AppendN":                func() error { _, err := f.unit.AppendN(nil, f.World, 1, nil); return err },
		"notified, and not kept": func() error { var done world.Completion; return p.Notify(&done).Destroy(h) },
	}
	errs["Batch"] = func() error { return p.Batch(func() error { return p.Destroy(h) }) }
	errs["Batch that hides it"] = func() error { return p.Batch(func() error { _ = p.Destroy(h); return nil }) }
	errs["CreateN by Port"] = func() error { return f.unit.CreateN(p, 3, nil) }
	errs["Within"] = func() error { return p.Within(t.Context()).Destroy(h) }
	errs["Ask"] = func() error { return f.health.Ask(p, h, new(world.Answer[Health])) }
	for name, by := range map[string]world.Actor{"World": f.World, "Port": p} {
		for call, run := range map[string]func() error{
			"Create":               func() error { _, err := f.unit.Create(by, Unit{}); return err },
			"Set":                  func() error { return f.health.Set(by, h, Health{}) },
			"Add":                  func() error { return f.name.Add(by, h, Name{}) },
			"Remove":               func() error { return f.health.Remove(by, h) },
			"Bundle.Add":           func() error { return f.mover.Add(by, h, Mover{}) },
			"Bundle.Add, removing": func() error { return f.mover.Add(by, h, Mover{}, f.unit) },
			"Send":                 func() error { return f.hit.Send(by, h, Hit{}) },
			"Move":                 func() error { return world.Move(by, h, 1) },
			"Call":                 func() error { return f.do(by, h, func(*world.EntityContext) {}) },
			"AddFlags":             func() error { return world.AddFlags(by, h, 1) },
			"Bundle.Set":           func() error { return f.unit.Set(by, h, Unit{}) },
		} {
			errs[call+" by "+name] = run
		}
	}
	for call, run := range errs {
		t.Run(call, func(t *testing.T) { require.ErrorIs(t, run(), world.ErrClosed) })
	}
	for call, run := range map[string]func(){
		"World.Failure": func() { _ = f.Failure() }, "a survey": func() { engine.Of(f.World).Survey() },
		"World.Refresh": f.Refresh, "World.Clear": f.Clear, "World.Count": func() { f.Count() }, "World.Stats": func() { f.stats() },
		"a new tick": func() { engine.Of(f.World).BeginTick() }, "building a system": func() { engine.Of(f.World).NewBuild(0, "late") },
		"World.Query": func() { f.Query() }, "Query.Count": func() { q.Count() }, "Query.Destroy": func() { q.Destroy() },
		"Query.Chunks": func() {
			for range q.Chunks() {
				t.Error("walked")
			}
		},
		"world.Register": func() { world.Register[Unknown](f.World, "x") }, "world.NewBundle": func() { world.NewBundle[Unit](f.World) },
		"world.RegisterMessage":  func() { world.RegisterMessage[Unknown](f.World, "x") },
		"world.RegisterResource": func() { world.RegisterResource(f.World, "x", "") },
		"Resource.Get":           func() { weather.Get() }, "Resource.Set": func() { weather.Set(1) },
		"world.Read": func() { world.Read[Health](f.World) }, "Bundle.PlaceBy": func() { f.unit.PlaceBy(nil) },
	} {
		t.Run(call, func(t *testing.T) {
			mustPanic(t, []string{call + " of a closed world", "make another with world.New"}, run)
		})
	}
}

// TestCloseTellsWhoWaits closes a world while requests are under way and somebody
// waits for each: none of them is done.
func TestCloseTellsWhoWaits(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	h, p := f.newUnit(1), f.port()
	done := make([]world.Completion, 4)
	made, err := f.creature.Create(p.Notify(&done[0]), Creature{})
	require.NoError(t, err)
	require.NoError(t, f.health.Set(p.Notify(&done[1]), h, Health{2}))
	require.NoError(t, p.Notify(&done[2]).Destroy(h))
	require.NoError(t, world.Move(p.Notify(&done[3]), h, 1))
	var waiting sync.WaitGroup
	for i := range done {
		waiting.Go(func() {
			outcome, err := done[i].Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, world.Closed, outcome)
			require.Equal(t, "closed", outcome.String())
			require.False(t, f.Alive(h), "who hears it finds all dead") // of this goroutine or another
		})
	}
	f.Close()
	waiting.Wait()
	require.Equal(t, world.Stale, p.Status(made))
}

// TestCloseTellsLast looks, while a world is being closed and nobody has died yet, whether
// anybody was told.
func TestCloseTellsLast(t *testing.T) {
	f := newFixture(t, world.Options{})
	h, p, told := f.newUnit(1), f.port(), 0
	var done world.Completion
	f.Observe("last", world.OnDestroy, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) {
			told++
			require.Equal(t, world.Undecided, done.Outcome())
		}
	})
	require.NoError(t, f.health.Set(p.Notify(&done), h, Health{2}))
	f.Close()
	require.Equal(t, 1, told)
	require.Equal(t, world.Closed, done.Outcome())
}

// TestCloseAtItsTime closes where that cannot be.
func TestCloseAtItsTime(t *testing.T) {
	f := newFixture(t, world.Options{})
	f.newUnits(3)
	tick := engine.Of(f.World).BeginTick()
	mustPanic(t, []string{"World.Close while a tick runs"}, f.Close)
	tick.End(serial)
	for range f.Query(world.Read[Health](f.World)).Chunks() {
		mustPanic(t, []string{"World.Close inside a query loop"}, f.Close)
		break
	}
	require.Equal(t, 3, f.Count())
	require.NoError(t, f.Err())
	f.Close()
}

// TestCloseUnderFire closes a world while ports send as fast as they can: every
// request that was accepted gets its outcome, and then all are refused.
func TestCloseUnderFire(t *testing.T) {
	for range iterations(200) {
		f := newFixture(t, world.Options{Shards: 2, QueueRequests: 64})
		h := f.newUnit(1)
		var senders, closers sync.WaitGroup
		var sent, closed atomic.Int64
		for range 3 {
			p := f.port()
			senders.Go(func() {
				for {
					var done world.Completion
					made, err := f.unit.Create(p.Notify(&done), Unit{})
					if err == nil {
						sent.Add(1)
						o, failed := done.Wait(t.Context())
						require.NoError(t, failed)
						require.Contains(t, []world.Outcome{world.Applied, world.Closed}, o)
						if o == world.Closed {
							closed.Add(1)
							require.Equal(t, world.Stale, p.Status(made))
						}
						err = f.health.Set(p, h, Health{3}) // nobody waits for it
					}
					if err != nil {
						require.ErrorIs(t, err, world.ErrClosed)
						_, err = f.OpenPort()
						require.ErrorIs(t, err, world.ErrClosed)
						return
					}
				}
			})
		}
		for sent.Load() < 50 {
			f.Refresh()
			runtime.Gosched()
		}
		for range 2 {
			closers.Go(f.Close)
		}
		closers.Wait()
		senders.Wait()
		require.LessOrEqual(t, closed.Load(), int64(3))
		require.False(t, f.Alive(h))
	}
}

// TestCloseWithinSending closes a world when a request is about to be sent, and the
// queues have been emptied: who waits is told all the same.
func TestCloseWithinSending(t *testing.T) {
	f := newFixture(t, world.Options{})
	p := f.port()
	var done world.Completion
	hs, err := f.unit.AppendN(nil, p.Notify(&done), 1, func(int, *Unit) { f.Close() })
	require.NoError(t, err)
	require.Equal(t, world.Closed, done.Outcome())
	require.Equal(t, world.Stale, p.Status(hs[0]))
}

// TestCloseWakesWhoWaitsForRoom closes a world while a port waits until its queue has
// room, alone and within a batch.
func TestCloseWakesWhoWaitsForRoom(t *testing.T) {
	for _, batch := range []bool{false, true} {
		f := newFixture(t, world.Options{QueueRequests: 2})
		h, p := f.newUnit(1), f.port()
		require.NoError(t, p.Destroy(h))
		require.NoError(t, p.Destroy(h))
		var waiting sync.WaitGroup
		waiting.Go(func() {
			err := p.Within(t.Context()).Destroy(h)
			if batch {
				p.Within(t.Context())
				err = p.Batch(func() error { return p.Destroy(h) })
			}
			if err != nil { // or it was in time for the queue that Close has emptied
				require.ErrorIs(t, err, world.ErrClosed)
			}
			require.ErrorIs(t, p.Destroy(h), world.ErrClosed)
		})
		time.Sleep(time.Millisecond)
		f.Close()
		waiting.Wait()
	}
}

// TestWorldsSideBySide runs several worlds at once, and closes one after the other:
// the others do not notice.
func TestWorldsSideBySide(t *testing.T) {
	const worlds = 4
	var all [worlds]*fixture
	var units [worlds][]handle.Handle
	for i := range all {
		all[i] = newFixture(t, world.Options{Shards: 1 + i%2})
		units[i] = all[i].newUnits(200)
	}
	require.Equal(t, units[0], units[2], "worlds of the same options give the same handles")
	var group sync.WaitGroup
	for i, f := range all {
		group.Go(func() {
			health := world.Write[Health](f.World)
			for round := range iterations(50) {
				for k, h := range units[i] {
					if health.Get(h) != nil {
						health.Get(h).Points += int64(i)
					}
					if (k+round)%7 == 0 {
						f.Destroy(h)
					}
				}
				f.Refresh()
			}
			if i%2 == 0 {
				f.Close()
				require.False(t, f.Alive(units[i][0]))
				return
			}
			require.Equal(t, 0, f.Query(world.Without[Health](f.World)).Count())
			f.newUnit(1)
			require.Positive(t, f.Count())
		})
	}
	group.Wait()
	for i, f := range all {
		require.Equal(t, i%2 == 0, f.Err() != nil)
	}
}

// TestCloseGivesMemoryBack keeps a closed world's port, as a connection might.
func TestCloseGivesMemoryBack(t *testing.T) {
	f := newFixture(t, world.Options{})
	require.NoError(t, f.creature.CreateN(f.World, 200_000, nil))
	health, q := world.Read[Health](f.World), f.Query(world.Read[Health](f.World))
	p := f.port()
	before := heap()
	f.Close()
	after := heap()
	require.Less(t, after, before/2)
	require.False(t, p.Alive(handle.New(0, 0, 1)))
	runtime.KeepAlive(health)
	runtime.KeepAlive(q)
}

// TestCloseLeavesNoGoroutine closes worlds on which somebody waits.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	noLeaks(t)
	for range 20 {
		f := newFixture(t, world.Options{})
		p := f.port()
		var done world.Completion
		require.NoError(t, p.Notify(&done).Destroy(f.newUnit(1)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		go func() { _, _ = done.Wait(ctx); cancel() }()
		f.Close()
		<-ctx.Done()
	}
}
