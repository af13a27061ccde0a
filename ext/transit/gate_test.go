package transit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// carryAll brings everything from a town to another, and the answers back, until nothing is under way.
func carryAll(t testing.TB, x, y *town) {
	t.Helper()
	a := arrived(t, y, transit.Packet{From: x.roads.World(), To: y.roads.World()})
	for {
		p := turned(t, x, a)
		a = arrived(t, y, p)
		if p.Items == "" && x.roads.Channel(y.roads.World()).Items == 0 {
			x.step(t)
			y.step(t)
			return
		}
	}
}

// ship makes a ship with three things in it.
func (x *town) ship(t testing.TB, serial, called uint64, things int) handle.Handle {
	h, err := x.launch(serial, called, things, false)
	require.NoError(t, err)
	x.step(t)
	return h
}

// has checks that a town has things, and no others.
func (x *town) has(t testing.TB, serials ...uint64) map[uint64]thing {
	t.Helper()
	all, problem := x.things(true)
	require.Empty(t, problem)
	by := map[uint64]thing{}
	for _, v := range all {
		by[v.serial] = v
	}
	require.Len(t, all, len(serials))
	for _, s := range serials {
		require.Contains(t, by, s)
	}
	return by
}

// TestSend sends a ship with all aboard there and back.
func TestSend(t *testing.T) {
	x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
	ship := x.ship(t, 10, 7, 4)
	x.has(t, 10, 11, 12, 13, 14)
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{5}))
	to, n, ok := x.roads.Away(x.World, ship)
	require.Equal(t, []any{transit.World(2), uint64(1), true}, []any{to, n, ok})
	x.step(t)
	x.has(t)
	require.Zero(t, x.bells.Len())
	require.Equal(t, 5, x.Count())
	name, _ := x.called.NameOf(ship)
	require.EqualValues(t, 7, name)
	require.Len(t, x.in.Read(x.World).Children(ship), 2)

	carryAll(t, x, y)
	require.Zero(t, x.Count())
	require.False(t, x.Alive(ship))
	there := y.has(t, 10, 11, 12, 13, 14)
	require.EqualValues(t, 105, there[10].gold)
	require.Equal(t, 1, y.bells.Len())
	require.NoError(t, y.gate.Send(y.World, there[10].handle, 1, Pass{6}))
	carryAll(t, y, x)
	back := x.has(t, 10, 11, 12, 13, 14)
	require.EqualValues(t, 111, back[10].gold)
	require.NotEqual(t, ship, back[10].handle)
}

// TestSendRefused gives back ships under the same handles, for each reason.
func TestSendRefused(t *testing.T) {
	x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
	named, _ := x.launch(10, 7, 4, false)
	odd, _ := x.launch(20, 0, 1, true)
	secret, _ := x.launch(30, 0, 0, false)
	_, _ = y.launch(40, 7, 0, false)
	x.step(t)
	y.step(t)
	before := x.has(t, 10, 11, 12, 13, 14, 20, 21, 30)
	require.NoError(t, x.gate.Send(x.World, named, 2, Pass{5}))
	require.NoError(t, x.gate.Send(x.World, odd, 2, Pass{0}))
	require.NoError(t, x.secret.Send(x.World, secret, 2, Secret{0}))
	x.step(t)
	why := map[handle.Handle]transit.Reason{}
	x.told = func(h handle.Handle, r transit.Reason) { why[h] = r }
	carryAll(t, x, y)
	require.Equal(t, map[handle.Handle]transit.Reason{named: transit.Taken, odd: transit.Differs, secret: transit.Unknown}, why)
	after := x.has(t, 10, 11, 12, 13, 14, 20, 21, 30)
	for s, v := range after {
		require.Equal(t, before[s].handle, v.handle)
		require.Equal(t, before[s].fixed, v.fixed)
	}
	require.EqualValues(t, 105, after[10].gold)
	require.Equal(t, 3, x.bells.Len())
	y.has(t, 40)

	require.NoError(t, y.roads.Close(y.World))
	require.NoError(t, x.gate.Send(x.World, secret, 2, Pass{0}))
	carryAll(t, x, y)
	require.Equal(t, transit.Closed, why[secret])
}

// TestHusk looks at what can be done to what is away, and what becomes of that.
func TestHusk(t *testing.T) {
	x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
	dock := x.ship(t, 1, 0, 0)
	ship := x.ship(t, 10, 7, 2)
	require.NoError(t, x.in.AddChild(x.World, dock, ship))
	inside := x.in.Read(x.World).Children(ship)[0]
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{}))

	require.ErrorIs(t, x.gate.Send(x.World, ship, 2, Pass{}), transit.ErrAway)
	require.ErrorIs(t, x.gate.Send(x.World, inside, 2, Pass{}), transit.ErrAway)
	require.ErrorIs(t, x.gate.Send(x.World, dock, 1, Pass{}), transit.ErrNowhere)
	require.False(t, x.Destroy(ship))
	_, err := x.dies.Run(x.World, ship)
	require.ErrorIs(t, err, world.ErrStale, "it has no purse")
	x.Query().Destroy() // all, directly
	x.step(t)
	require.False(t, x.Alive(dock))
	require.Equal(t, 3, x.Count())
	require.Equal(t, handle.None, x.in.Read(x.World).Parent(ship), "it is a root now")
	require.Equal(t, ship, x.in.Read(x.World).Parent(inside))
	x.Clear()
	require.Equal(t, 3, x.Count())

	x.openPort(t)
	done := new(world.Completion)
	require.NoError(t, x.port.Notify(done).Destroy(ship))
	x.step(t)
	require.Equal(t, world.Refused, done.Outcome())
	thief := x.ship(t, 90, 0, 0)
	require.Error(t, x.called.Bind(x.World, thief, 7), "the name is reserved")
	require.NoError(t, x.in.AddChild(x.World, inside, thief))
	require.NoError(t, x.purse.Add(x.World, ship, Purse{Gold: 3}))

	_, err = x.roads.Resolve(t.Context(), x.World, 2, transit.Return)
	require.NoError(t, err)
	x.step(t)
	require.Equal(t, inside, x.in.Read(x.World).Parent(thief))
	require.NoError(t, x.in.RemoveChild(x.World, thief, 0))
	all := x.has(t, 10, 11, 12, 90)
	require.Equal(t, ship, all[10].handle)
	require.EqualValues(t, 3, x.gold(ship))
	_, _, ok := x.roads.Away(x.World, ship)
	require.False(t, ok)

	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{}))
	require.NoError(t, x.in.AddChild(x.World, ship, thief))
	carryAll(t, x, y)
	x.has(t, 90)
	require.Equal(t, handle.None, x.in.Read(x.World).Parent(thief), "it did not follow, and lives on")
	y.has(t, 10, 11, 12)
}
