package world_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/world"
)

// TestPortMany creates, sets and destroys many by one call each, of bundles with pointers and
// without: all is done by the next refresh, in the order sent.
func TestPortMany(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 17, 64, 100, 1000, 4000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 3, QueueBytes: 1 << 24, QueueRequests: 1 << 16})
			p := f.port()
			var made, set, died world.Completion
			hs, err := f.creature.AppendN(nil, p.Notify(&made), n, func(i int, c *Creature) {
				require.Zero(t, *c)
				*c = Creature{Health: Health{int64(i)}, Name: Name{fmt.Sprint(i)}}
			})
			require.NoError(t, err)
			units, err := f.unit.AppendN(nil, p, n, nil)
			require.NoError(t, err)
			values := make([]Health, n)
			for i := range values {
				values[i] = Health{int64(1000 + i)}
			}
			require.NoError(t, f.health.SetN(p.Notify(&set), units, values))
			clear(values)
			require.Equal(t, 3*n, p.Waiting())
			f.Refresh()
			require.Equal(t, []world.Outcome{world.Applied, world.Applied}, []world.Outcome{made.Outcome(), set.Outcome()})
			names, health := world.Read[Name](f.World), world.Read[Health](f.World)
			owners := map[int]bool{}
			for i, h := range hs {
				owner, _ := f.Owner(h)
				owners[owner] = true
				require.Equal(t, fmt.Sprint(i), names.Get(h).Text)
				require.Equal(t, Health{int64(i)}, *health.Get(h))
				require.Equal(t, Health{int64(1000 + i)}, *health.Get(units[i]))
			}
			require.Len(t, owners, min(3, (n+15)/16), "in equal runs of 16 at the least")
			require.NoError(t, p.Notify(&died).DestroyN(units))
			require.NoError(t, p.DestroyN(hs))
			clear(units)
			f.Refresh()
			require.Equal(t, world.Applied, died.Outcome())
			require.Zero(t, f.Count())
			require.EqualValues(t, 5*n, f.stats().Applied)
		})
	}
}

// TestPortManyOutcome has some of many requests fail: the others are done, and the Completion
// learns the first that was not.
func TestPortManyOutcome(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	p := f.port()
	there := f.newUnits(200)
	statue, err := f.statue.Create(f.World, Statue{})
	require.NoError(t, err)
	dead := f.newUnit(1)
	require.True(t, f.Destroy(dead))
	f.Refresh()
	for _, test := range []struct {
		name string
		hs   []handle.Handle
		want world.Outcome
	}{
		{"all", there, world.Applied},
		{"one missing", append(there[:90:90], statue), world.Missing},
		{"missing first", append([]handle.Handle{statue, dead}, there...), world.Missing},
		{"gone first", append([]handle.Handle{there[0], dead, statue, handle.None}, there...), world.Gone},
		{"twice the same", []handle.Handle{there[3], there[3]}, world.Applied},
		{"nobody", []handle.Handle{math.MaxUint64, handle.None}, world.Gone},
	} {
		var done world.Completion
		values := make([]Health, len(test.hs))
		for i := range values {
			values[i] = Health{int64(i + 7)}
		}
		require.NoError(t, f.health.SetN(p.Notify(&done), test.hs, values))
		f.Refresh()
		require.Equal(t, test.want, done.Outcome(), test.name)
		last := len(test.hs) - 1
		if v := world.Read[Health](f.World).Get(test.hs[last]); v != nil {
			require.Equal(t, int64(last+7), v.Points, test.name)
		}
	}
	var set, first, second world.Completion
	require.NoError(t, p.Notify(&first).DestroyN(append([]handle.Handle{there[0]}, there[50:60]...)))
	require.NoError(t, f.health.SetN(p.Notify(&set), there[59:61], make([]Health, 2)))
	require.NoError(t, p.Notify(&second).DestroyN(there[:100]))
	f.Refresh()
	require.Equal(t, []world.Outcome{world.Applied, world.Gone, world.Gone}, []world.Outcome{first.Outcome(), set.Outcome(), second.Outcome()})
	require.Equal(t, 101, f.Count())

	var own world.Completion // who is created and destroyed by the same refresh
	hs, err := f.mover.AppendN(nil, p, 100, nil)
	require.NoError(t, err)
	require.NoError(t, p.Notify(&own).DestroyN(hs[:70]))
	f.Refresh()
	require.Equal(t, world.Applied, own.Outcome())
	require.Equal(t, 131, f.Count())
	require.Equal(t, []world.Status{world.Stale, world.Alive}, []world.Status{f.Status(hs[69]), f.Status(hs[70])})
}

// TestPortManyMoved has a request before many take rows to other tables.
func TestPortManyMoved(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	p := f.port()
	there := f.newUnits(100)
	for _, h := range there[10:50] {
		require.NoError(t, f.name.Add(p, h, Name{"x"}))
	}
	values := make([]Health, len(there))
	for i := range values {
		values[i] = Health{int64(i)}
	}
	require.NoError(t, f.health.SetN(p, there, values))
	require.NoError(t, p.DestroyN(there[40:60]))
	f.Refresh()
	for i, h := range there {
		if i >= 40 && i < 60 {
			require.Equal(t, world.Stale, f.Status(h))
		} else {
			require.Equal(t, Health{int64(i)}, *world.Read[Health](f.World).Get(h))
		}
	}
}

// TestPortManyLimits counts many requests as each alone.
func TestPortManyLimits(t *testing.T) {
	f := newFixture(t, world.Options{QueueRequests: 100})
	p := f.port()
	hs := f.newUnits(101)
	var done world.Completion
	require.ErrorIs(t, p.Notify(&done).DestroyN(hs), world.ErrTooLarge)
	require.NoError(t, p.DestroyN(hs[:60]))
	require.ErrorIs(t, p.Notify(&done).DestroyN(hs[:41]), world.ErrFull)
	require.ErrorIs(t, f.health.SetN(p, hs[:41], make([]Health, 41)), world.ErrFull)
	require.ErrorIs(t, f.unit.CreateN(p, math.MaxInt, nil), world.ErrTooLarge)
	require.NotContains(t, f.unit.CreateN(p, math.MaxInt/2+1, nil).Error(), "bytes: 0", "more than a number holds")
	require.NoError(t, p.Notify(&done).DestroyN(nil), "no request")
	require.NoError(t, f.health.SetN(p, nil, nil))
	require.Equal(t, world.Applied, done.Outcome(), "all of nothing")
	require.NoError(t, p.DestroyN(hs[60:100]))
	require.Equal(t, 100, p.Waiting())
	require.Equal(t, uint64(101+41+41)+math.MaxInt+math.MaxInt/2+1, p.Rejected())
	require.PanicsWithValue(t, `world: Component.SetN of "health": 2 handles and 1 values; want a value for each handle`,
		func() { _ = f.health.SetN(p, hs[:2], make([]Health, 1)) })
	f.Refresh()
	require.Equal(t, 1, f.Count())
	p.Close()
	require.ErrorIs(t, p.DestroyN(hs), world.ErrClosed)
	require.ErrorIs(t, f.health.SetN(p, hs[:1], make([]Health, 1)), world.ErrClosed)
}

// TestPortManyGivenBack closes a port that is kept, with requests in its queue: they are applied,
// and then the collector gets the queue.
func TestPortManyGivenBack(t *testing.T) {
	f := newFixture(t, world.Options{})
	p := f.port()
	var done world.Completion
	require.NoError(t, f.unit.CreateN(p.Notify(&done), 100, nil))
	p.Close()
	require.Equal(t, 100, p.Waiting())
	queue := world.QueueOf(p)
	f.Refresh()
	require.Equal(t, 100, f.Count())
	require.Equal(t, world.Applied, done.Outcome())
	require.Zero(t, p.Waiting())
	require.ErrorIs(t, f.unit.CreateN(p, 100, nil), world.ErrClosed)
	f.Refresh()
	runtime.GC()
	require.Nil(t, queue.Value())
	runtime.KeepAlive(p)
}

// TestPortManyIndexes creates as many as there are indexes, again and again, and one more.
func TestPortManyIndexes(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, IndexMax: 99})
	p := f.port()
	_, err := f.unit.AppendN(nil, p, 101, nil)
	require.ErrorIs(t, err, world.ErrIndexes)
	for range 3 {
		hs, err := f.creature.AppendN(nil, p, 100, nil)
		require.NoError(t, err)
		f.Refresh()
		require.Equal(t, 100, f.Count())
		require.NoError(t, p.DestroyN(hs))
		f.Refresh()
	}
}

// TestPortManyPlaced has PlaceBy choose for each of many.
func TestPortManyPlaced(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) / 3 % 4 })
	p := f.port()
	hs, err := f.unit.AppendN(nil, p, 500, func(i int, u *Unit) { u.Points = int64(i * i) })
	require.NoError(t, err)
	f.Refresh()
	for i, h := range hs {
		require.Equal(t, Health{int64(i * i)}, *world.Read[Health](f.World).Get(h))
		owner, _ := f.Owner(h)
		require.Equal(t, i*i/3%4, owner)
	}
}

// TestSetN is SetN by those who need no queue.
func TestSetN(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	hs := f.newUnits(10)
	require.NoError(t, f.health.SetN(f.World, hs, make([]Health, 10)))
	require.Zero(t, *world.Read[Health](f.World).Get(hs[9]))
	err := f.health.SetN(f.World, []handle.Handle{hs[0], handle.None, hs[1]}, []Health{{1}, {2}, {3}})
	require.ErrorIs(t, err, world.ErrStale)
	require.ErrorContains(t, err, "(handle 2 of 3; none is set)")
	require.Zero(t, *world.Read[Health](f.World).Get(hs[0]))
	require.Zero(t, *world.Read[Health](f.World).Get(hs[1]))
}

// TestPortManyKeepsNothing looks whether a queue keeps what many requests pointed to.
func TestPortManyKeepsNothing(t *testing.T) {
	f := newFixture(t, world.Options{})
	type box struct{ P *[64]byte }
	boxes := world.Register[box](f.World, "box")
	bundle := world.NewBundle[struct{ box }](f.World)
	p := f.port()
	var kept []weak.Pointer[[64]byte]
	hs, err := bundle.AppendN(nil, p, 50, func(_ int, v *struct{ box }) {
		v.P = new([64]byte)
		kept = append(kept, weak.Make(v.P))
	})
	require.NoError(t, err)
	runtime.GC()
	require.NotNil(t, kept[0].Value(), "not hidden from the collector")
	f.Refresh()
	require.NoError(t, boxes.SetN(p, hs, make([]box, 50)))
	f.Refresh()
	runtime.GC()
	for _, w := range kept {
		require.Nil(t, w.Value())
	}
}

// TestPortManyAllocs does the same again and again, and allocates nothing.
func TestPortManyAllocs(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	var hs []handle.Handle
	values := make([]Name, 300)
	var done world.Completion
	require.Zero(t, allocs.Least(20, func() {
		hs, _ = f.creature.AppendN(hs[:0], p.Notify(&done), 300, func(i int, c *Creature) { c.Points = int64(i) })
		_ = f.name.SetN(p, hs, values)
		f.Refresh()
		_ = p.DestroyN(hs)
		f.Refresh()
	}))
}

// TestPortManyOfNothing sends what has nothing in it: all of it is done at once, and taken back
// with the batch that it is in.
func TestPortManyOfNothing(t *testing.T) {
	f := newFixture(t, world.Options{})
	p := f.port()
	for name, call := range map[string]func() error{
		"DestroyN": func() error { return p.DestroyN(nil) },
		"SetN":     func() error { return f.health.SetN(p, nil, nil) },
		"CreateN":  func() error { return f.unit.CreateN(p, 0, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var c world.Completion
			p.Notify(&c)
			require.NoError(t, call())
			require.Equal(t, world.Applied, c.Outcome())
			o, err := c.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, world.Applied, o)
			refused := errors.New("refused")
			require.ErrorIs(t, p.Batch(func() error {
				p.Notify(&c)
				require.NoError(t, call())
				return refused
			}), refused)
			require.Equal(t, world.Undecided, c.Outcome())
			require.NoError(t, p.Batch(func() error {
				p.Notify(&c)
				require.NoError(t, call())
				require.Equal(t, world.Undecided, c.Outcome())
				require.PanicsWithValue(t, "world: Completion is still waiting for an earlier request; use one for each request under way",
					func() { _ = f.port().Notify(&c).Destroy(handle.None) }, "it belongs to the batch")
				return nil
			}))
			require.Equal(t, world.Applied, c.Outcome())
		})
	}
	var c world.Completion
	p.Close()
	require.ErrorIs(t, p.Notify(&c).DestroyN(nil), world.ErrClosed)
	require.ErrorIs(t, f.health.SetN(p.Notify(&c), nil, nil), world.ErrClosed)
	require.ErrorIs(t, f.unit.CreateN(p.Notify(&c), 0, nil), world.ErrClosed)
	require.Equal(t, world.Undecided, c.Outcome())
	require.NoError(t, f.health.SetN(f.World, nil, nil))
	require.Panics(t, func() { _ = f.health.SetN(nil, nil, nil) })
	require.Panics(t, func() { _ = f.health.SetN(newFixture(t, world.Options{}).World, nil, nil) }, "of another world")
	f.Close()
	require.ErrorIs(t, f.health.SetN(f.World, nil, nil), world.ErrClosed)
}
