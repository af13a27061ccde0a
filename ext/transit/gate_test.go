package transit_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
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

// TestSendWays sends by each actor, and what is put aboard in the same tick goes along.
func TestSendWays(t *testing.T) {
	for name, send := range map[string]func(x *town, v voyage) error{
		"a port":        func(x *town, v voyage) error { return x.gate.Send(x.port, v.Ship, v.To, Pass{v.Fee}) },
		"a function":    func(x *town, v voyage) error { return x.hails.Call(x.port, v.Ship, v) },
		"a transaction": func(x *town, v voyage) error { return x.sails.Call(x.port, v) },
		"a system":      func(x *town, v voyage) error { return x.wants.Send(x.World, v.Ship, v) },
	} {
		t.Run(name, func(t *testing.T) {
			x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
			ship, late := x.ship(t, 10, 7, 1), x.ship(t, 20, 0, 0)
			x.openPort(t)
			other, err := x.OpenPort()
			require.NoError(t, err)
			if name == "a transaction" { // it has its turn
				require.NoError(t, x.in.AddChild(x.port, ship, late))
			}
			require.NoError(t, send(x, voyage{Ship: ship, To: 2, Fee: 1}))
			if name != "a transaction" {
				require.NoError(t, x.in.AddChild(other, ship, late))
			}
			x.step(t)
			carryAll(t, x, y)
			carryAll(t, x, y)
			require.Zero(t, x.Count())
			require.Equal(t, 3, y.Count())
		})
	}
}

// TestSendFull changes nothing if a ship cannot leave.
func TestSendFull(t *testing.T) {
	x := newTown(1, 1, transit.Options{Max: 1})
	small := newTown(1, 1, transit.Options{MaxBytes: 200})
	ship, dead := x.ship(t, 10, 7, 2), x.ship(t, 20, 0, 0)
	tiny := small.ship(t, 10, 7, 2)
	require.True(t, x.Destroy(dead))
	before := x.hash(t)
	require.ErrorIs(t, x.gate.Send(x.World, dead, 2, Pass{}), world.ErrStale)
	require.ErrorIs(t, x.gate.Send(x.World, ship, 0, Pass{}), transit.ErrNowhere)
	require.Equal(t, before, x.hash(t))
	x.step(t)
	require.ErrorIs(t, x.gate.Send(x.World, dead, 2, Pass{}), world.ErrStale)

	before = small.hash(t)
	require.ErrorIs(t, small.gate.Send(small.World, tiny, 2, Pass{}), transit.ErrFull)
	require.Equal(t, before, small.hash(t))
	small.has(t, 10, 11, 12)

	third := x.ship(t, 30, 3, 0)
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{}))
	x.step(t)
	before = x.hash(t)
	require.ErrorIs(t, x.gate.Send(x.World, third, 2, Pass{}), transit.ErrFull)
	require.Equal(t, before, x.hash(t))
	why := map[handle.Handle]transit.Reason{}
	x.told = func(h handle.Handle, r transit.Reason) { why[h] = r }
	x.openPort(t)
	require.NoError(t, x.gate.Send(x.port, third, 2, Pass{}))
	require.NoError(t, x.gate.Send(x.port, ship, 2, Pass{}))
	require.NoError(t, x.gate.Send(x.port, dead, 2, Pass{}))
	x.step(t)
	x.step(t)
	require.Equal(t, map[handle.Handle]transit.Reason{third: transit.Full, ship: transit.Full, handle.None: transit.Full}, why)

	many := newTown(1, 1, transit.Options{})
	root := many.ship(t, 1, 0, 0)
	for range transit.EntitiesMax {
		h, err := many.ships.Create(many.World, hold{})
		require.NoError(t, err)
		require.NoError(t, many.in.AddChild(many.World, root, h))
	}
	before = many.hash(t)
	require.ErrorIs(t, many.gate.Send(many.World, root, 2, Pass{}), transit.ErrTooLarge)
	require.Equal(t, before, many.hash(t))
}

// TestSendWithin sends what is below something that is away, and something above it.
func TestSendWithin(t *testing.T) {
	x, y, z := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{}), newTown(3, 1, transit.Options{})
	fleet := x.ship(t, 1, 0, 0)
	ship := x.ship(t, 10, 7, 0)
	boat := x.ship(t, 20, 8, 0)
	require.NoError(t, x.in.AddChild(x.World, fleet, ship))
	require.NoError(t, x.in.AddChild(x.World, ship, boat))
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{})) // with the boat
	mate := x.ship(t, 30, 0, 0)
	require.NoError(t, x.in.AddChild(x.World, boat, mate))
	require.NoError(t, x.gate.Send(x.World, mate, 3, Pass{}))
	require.NoError(t, x.gate.Send(x.World, fleet, 3, Pass{})) // alone: the others are away
	carryAll(t, x, z)
	y.has(t)
	all, _ := z.things(false)
	require.Len(t, all, 2)
	require.False(t, x.Alive(fleet))
	require.Equal(t, handle.None, x.in.Read(x.World).Parent(ship))
	require.Equal(t, ship, x.in.Read(x.World).Parent(boat))
	_, err := x.roads.Resolve(t.Context(), x.World, 2, transit.Return)
	require.NoError(t, err)
	x.step(t)
	require.Equal(t, 2, x.Count())
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{}))
	_, err = x.roads.Resolve(t.Context(), x.World, 2, transit.Drop)
	require.NoError(t, err)
	x.step(t)
	require.Zero(t, x.Count())
}

// TestTreeSaved saves a world with travellers under way, and loads it into other numbers of shards, and
// not into a program that cannot put them back.
func TestTreeSaved(t *testing.T) {
	x := newTown(1, 1, transit.Options{})
	ship := x.ship(t, 10, 7, 4)
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{5}))
	x.step(t)
	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, x.World, snapshot.Options{Scheduler: x.s}))
	for _, shards := range []int{1, 2, 3} {
		z, y := newTownOf(1, shards, 1, transit.Options{}), newTown(2, 1, transit.Options{})
		require.NoError(t, snapshot.Load(bytes.NewReader(image.Bytes()), z.World, snapshot.Options{Scheduler: z.s}))
		to, _, ok := z.roads.Away(z.World, ship)
		require.True(t, ok)
		require.EqualValues(t, 2, to)
		require.False(t, z.Destroy(ship))
		if shards == 3 { // it comes back
			require.NoError(t, y.roads.Close(y.World))
			carryAll(t, z, y)
			require.Equal(t, ship, z.has(t, 10, 11, 12, 13, 14)[10].handle)
			continue
		}
		carryAll(t, z, y)
		require.Zero(t, z.Count())
		y.has(t, 10, 11, 12, 13, 14)
	}
	without := world.MustNew(world.Options{Shards: 1})
	require.ErrorContains(t, transit.New(without, "roads", transit.Options{World: 1}).Refuses(x.roads.Save()), "its gate is Unknown")
	differs := world.MustNew(world.Options{Shards: 1})
	world.Register[struct{ Serial string }](differs, "hold")
	r := transit.New(differs, "roads", transit.Options{World: 1})
	transit.RegisterGate[Pass](r, "pass")
	err := r.Refuses(x.roads.Save())
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	for _, name := range []string{"hold", "called", "bells"} {
		require.ErrorContains(t, err, name)
	}
}

// TestHostileTrees refuses what no world has sent.
func TestHostileTrees(t *testing.T) {
	x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
	require.NoError(t, x.gate.Send(x.World, x.ship(t, 10, 7, 2), 2, Pass{5}))
	good := turned(t, x, known(t, y, 1))
	n := 0
	for i := 3; i < len(good.Items); i += 7 {
		b := []byte(good.Items)
		b[i] ^= 0x41
		z := newTown(2, 1, transit.Options{})
		p := good
		p.Items = string(b)
		a, err := ask(t, z, z.roads.Arriving(), p)
		if err == nil && a.Refused != "" {
			n++
			require.Zero(t, z.Count())
		}
	}
	require.Greater(t, n, 10)
}

// TestFallback brings a traveller back whose row was destroyed in a way around transit.
func TestFallback(t *testing.T) {
	x := newTown(1, 1, transit.Options{})
	ship := x.ship(t, 10, 7, 2)
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{5}))
	x.roads.Strip(ship)
	require.True(t, x.Destroy(ship))
	x.step(t)
	_, err := x.roads.Resolve(t.Context(), x.World, 2, transit.Return)
	require.NoError(t, err)
	x.step(t)
	all, problem := x.things(false)
	require.Empty(t, problem)
	require.Len(t, all, 3)
	require.Equal(t, 3, x.Count())
}

// TestMoved tells what has left from what has died, in the hooks of its removal.
func TestMoved(t *testing.T) {
	x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
	var removed, gone []bool
	watch := func(event world.Event, to *[]bool, of world.ComponentSet) {
		x.Observe("watch", event, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(c *world.Context, _ world.Event, hs []handle.Handle) {
				for _, h := range hs {
					_, _, away := x.roads.Away(c, h)
					*to = append(*to, away)
				}
			}
		}, of)
	}
	watch(world.OnRemove, &removed, x.holds)
	ship := x.ship(t, 10, 7, 0)
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{}))
	x.step(t)
	require.Equal(t, []bool{true}, removed)
	x.Observe("gone", world.OnDestroy, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			for _, h := range hs {
				_, _, away := x.roads.Away(c, h)
				gone = append(gone, away)
			}
		}
	})
	carryAll(t, x, y)
	require.Equal(t, []bool{true}, gone, "it has arrived")
}

// TestSpareParent destroys husks in a relation in which children spare their parents.
func TestSpareParent(t *testing.T) {
	make := func(number transit.World) (*world.World, *transit.Roads, *transit.Gate[Pass], *hierarchy.Relation, *world.Bundle[hold]) {
		w := world.MustNew(world.Options{Shards: 1})
		world.Register[Hold](w, "hold")
		in := hierarchy.New(w, "in", hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
		r := transit.New(w, "roads", transit.Options{World: number})
		return w, r, transit.RegisterGate[Pass](r, "pass"), in, world.NewBundle[hold](w)
	}
	w, r, gate, in, ships := make(1)
	ship, _ := ships.Create(w, hold{})
	boat, _ := ships.Create(w, hold{})
	dock, _ := ships.Create(w, hold{})
	require.NoError(t, in.AddChild(w, dock, ship))
	require.NoError(t, gate.Send(w, ship, 2, Pass{}))
	require.NoError(t, in.AddChild(w, ship, boat))
	w.Destroy(dock)
	w.Refresh()
	require.True(t, w.Alive(dock), "its child lives, elsewhere")
	_, err := r.Resolve(t.Context(), w, 2, transit.Drop)
	require.NoError(t, err)
	w.Destroy(dock)
	w.Refresh()
	require.False(t, w.Alive(ship), "what is below it did not go along, and does not spare it")
	require.False(t, w.Alive(dock))
	require.True(t, w.Alive(boat))
	require.Equal(t, handle.None, in.Read(w).Parent(boat))
}

// TestTravelReplayed replays the log of a world that ships leave and come back to, on other numbers of
// workers.
func TestTravelReplayed(t *testing.T) {
	for _, workers := range []int{1, 5} {
		x, y := newTown(1, workers, transit.Options{}), newTown(2, 1, transit.Options{})
		ship, named := x.ship(t, 10, 6, 4), x.ship(t, 20, 7, 2)
		y.ship(t, 30, 7, 0)
		var begin, log bytes.Buffer
		require.NoError(t, snapshot.Write(&begin, x.World, snapshot.Options{Scheduler: x.s}))
		rec, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{})
		require.NoError(t, err)
		x.openPort(t)
		require.NoError(t, x.gate.Send(x.port, ship, 2, Pass{1}))
		require.NoError(t, x.hails.Call(x.port, named, voyage{named, 2, 2, false}))
		x.step(t)
		x.step(t) // what the function has asked for
		require.NoError(t, x.port.Destroy(named))
		carryAll(t, x, y)
		for _, v := range y.has(t, 10, 11, 12, 13, 14, 30) {
			if v.serial == 10 {
				require.NoError(t, y.gate.Send(y.World, v.handle, 1, Pass{3}))
			}
		}
		carryAll(t, y, x)
		x.has(t, 10, 11, 12, 13, 14, 20, 21, 22)
		require.NoError(t, rec.Close())

		replayed := newTown(1, 3-workers/3, transit.Options{})
		require.NoError(t, snapshot.Load(&begin, replayed.World, snapshot.Options{Scheduler: replayed.s}))
		l, err := inputlog.Open(&log)
		require.NoError(t, err)
		player, err := l.Play(replayed.World, nil)
		require.NoError(t, err)
		for player.Next() {
			replayed.step(t)
		}
		require.NoError(t, player.Err())
		player.Close()
		require.Equal(t, x.hash(t), replayed.hash(t))
	}
}
