package transit_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestManyTimers gives back a ship with more timers than another world takes.
func TestManyTimers(t *testing.T) {
	was := bellsMost
	bellsMost = 10_000
	defer func() { bellsMost = was }()
	x := newTown(1, 1, transit.Options{})
	bellsMost = was
	y := newTown(2, 1, transit.Options{})
	ship := x.ship(t, 10, 0, 0)
	for range 9_000 {
		_, err := x.bells.Every(x.World, ship, 1000, Bell{1})
		require.NoError(t, err)
	}
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{}))
	carryAll(t, x, y)
	require.Zero(t, y.Count())
	x.has(t, 10)
	require.Equal(t, 9_001, x.bells.Len())
}

// TestTimersOfMany gives back ships whose timers together are more than a transaction may set.
func TestTimersOfMany(t *testing.T) {
	type tick struct{}
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Hold](w, "hold")
	ticks := timer.New(w, "ticks", world.RegisterMessage[tick](w, "tick"), timer.Options{Max: 100_000})
	r := transit.New(w, "roads", transit.Options{World: 1})
	gate, ships := transit.RegisterGate[Pass](r, "pass"), world.NewBundle[hold](w)
	for range 2 {
		ship, err := ships.Create(w, hold{})
		require.NoError(t, err)
		for range 9_000 {
			_, err := ticks.After(w, ship, 9, tick{})
			require.NoError(t, err)
		}
		require.NoError(t, gate.Send(w, ship, 2, Pass{}))
	}
	n, err := r.Resolve(t.Context(), w, 2, transit.Return)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, 18_000, ticks.Len())
}

// TestDestroyAfterSend destroys what the same transaction has sent.
func TestDestroyAfterSend(t *testing.T) {
	x := newTown(1, 1, transit.Options{})
	ship := x.ship(t, 10, 7, 1)
	sinks := world.RegisterTransaction(x.World, "sink", func(tx *world.Tx, _ struct{}) (struct{}, error) {
		require.NoError(t, x.gate.Send(tx, ship, 2, Pass{}))
		require.ErrorIs(t, tx.Destroy(ship), transit.ErrAway)
		return struct{}{}, nil
	})
	require.NoError(t, sinks.Call(x.World, struct{}{}))
	x.step(t)
	require.Equal(t, 2, x.Count())
}

// Rune is a component with a type that misbehaves.
type (
	Rune  struct{ R spell }
	spell struct {
		Text string
		none []byte // so that it is not memory alone
	}
	runed struct {
		Hold
		Rune
	}
)

// spellbound is how it does: in MarshalBinary from 1 on, and in UnmarshalBinary from 4 on.
var spellbound int

func misbehave(kind int) error {
	switch kind {
	case 1:
		panic("spell")
	case 2:
		runtime.Goexit()
	case 3:
		return errors.New("spell")
	}
	return nil
}

func (s spell) MarshalBinary() ([]byte, error) { return []byte(s.Text), misbehave(spellbound) }
func (s *spell) UnmarshalBinary(b []byte) error {
	s.Text = string(b)
	return misbehave(spellbound - 3)
}

// newRunes makes a world with a ship.
func newRunes(t *testing.T, number transit.World) (x *town, ship handle.Handle) {
	x = &town{World: world.MustNew(world.Options{Shards: 1})}
	world.Register[Hold](x.World, "hold")
	world.Register[Rune](x.World, "rune")
	x.roads = transit.New(x.World, "roads", transit.Options{World: number})
	x.gate = transit.RegisterGate[Pass](x.roads, "pass")
	ship, err := world.NewBundle[runed](x.World).Create(x.World, runed{})
	require.NoError(t, err)
	x.port, err = x.OpenPort()
	require.NoError(t, err)
	return x, ship
}

// TestCodecs sends what a method of the user's does not write, or not read again: it does not
// leave. What another world's does not read comes back.
func TestCodecs(t *testing.T) {
	defer func() { spellbound = 0 }()
	for spellbound = 1; spellbound <= 6; spellbound++ {
		x, ship := newRunes(t, 1)
		done := new(world.Completion)
		require.NoError(t, x.gate.Send(x.port.Notify(done), ship, 2, Pass{}))
		x.Refresh()
		require.NotEqual(t, world.Undecided, done.Outcome())
		_, _, away := x.roads.Away(x.World, ship)
		require.False(t, away, spellbound)
		require.NotNil(t, world.Read[Hold](x.World).Get(ship), spellbound)
	}
	for kind := 4; kind <= 6; kind++ {
		spellbound = 0
		x, ship := newRunes(t, 1)
		y, _ := newRunes(t, 2)
		require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{}))
		var asked, answered world.Answer[transit.Answers]
		var sent world.Answer[transit.Packet]
		require.NoError(t, y.roads.Arriving().Send(y.port, transit.Packet{From: 1, To: 2}, &asked))
		y.Refresh()
		a, err := asked.Get(t.Context())
		require.NoError(t, err)
		require.NoError(t, x.roads.Turning().Send(x.port, a, &sent))
		x.Refresh()
		p, err := sent.Get(t.Context())
		require.NoError(t, err)
		spellbound = kind
		require.NoError(t, y.roads.Arriving().Send(y.port, p, &answered))
		y.Refresh()
		a, err = answered.Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, string([]byte{1, byte(transit.Malformed)}), a.Refused)
		require.Equal(t, 1, y.Count())
	}
}

// TestHuskPieces copies what is away into other worlds, where it is nothing, and does not let
// anybody take what says that it is away.
func TestHuskPieces(t *testing.T) {
	x, y := newTown(1, 1, transit.Options{}), newTown(3, 1, transit.Options{})
	ship := x.ship(t, 10, 7, 0)
	take := world.RegisterTransaction(x.World, "take", func(tx *world.Tx, sends bool) (struct{}, error) {
		if sends {
			if err := x.gate.Send(tx, ship, 2, Pass{}); err != nil {
				return struct{}{}, err
			}
		}
		_, err := snapshot.Extract(tx, snapshot.ExtractOptions{Take: true}, ship)
		return struct{}{}, err
	})
	_, err := take.Run(x.World, true)
	require.ErrorIs(t, err, transit.ErrAway)
	x.has(t, 10)
	require.NoError(t, x.gate.Send(x.World, ship, 2, Pass{}))
	_, err = take.Run(x.World, false)
	require.ErrorIs(t, err, transit.ErrAway)

	piece, err := snapshot.ExtractAll(x.World, snapshot.ExtractOptions{})
	require.NoError(t, err)
	made, err := snapshot.Insert(y.World, piece, snapshot.InsertOptions{})
	require.NoError(t, err)
	require.Equal(t, ship, made.Handle(ship), "it has the same handle there by chance")
	_, _, away := y.roads.Away(y.World, ship)
	require.False(t, away)
	_, err = x.roads.Resolve(t.Context(), x.World, 2, transit.Return)
	require.NoError(t, err)
	x.step(t)
	x.has(t, 10)
	back := world.RegisterTransaction(x.World, "back", func(tx *world.Tx, _ struct{}) (struct{}, error) {
		return struct{}{}, snapshot.PutBack(tx, piece, snapshot.InsertOptions{})
	})
	_, err = back.Run(x.World, struct{}{})
	require.NoError(t, err)
	_, _, away = x.roads.Away(x.World, ship)
	require.False(t, away)
}

// TestHostileRoot refuses an item with a traveller that is not in its piece.
func TestHostileRoot(t *testing.T) {
	x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
	require.NoError(t, x.gate.Send(x.World, x.ship(t, 10, 7, 2), 2, Pass{5}))
	p := turned(t, x, known(t, y, 1))
	b := []byte(p.Items)
	_, size := binary.Uvarint(b)
	b[size+len("\x02\x04pass")+8] ^= 1 // after the kind, the gate and the form
	p.Items = string(b)
	a, err := ask(t, y, y.roads.Arriving(), p)
	require.NoError(t, err)
	require.Equal(t, string([]byte{1, byte(transit.Malformed)}), a.Refused)
	require.Zero(t, y.Count())
}

// TestForgetAndReturn has two operators resolve the same channel in turns: what is told after the
// one has begun to forget the other world is not lost, since nothing is told.
func TestForgetAndReturn(t *testing.T) {
	x := newTown(1, 1, transit.Options{})
	anna, nobody := x.born(t, 3000), transit.RefOf(2, handle.New(0, 1, 1))
	for range 3000 {
		require.NoError(t, x.coins.Tell(x.World, anna, nobody, Coins{Gold: 1}))
	}
	forget, last, err := x.roads.ResolvePart(2, transit.Forget, 0)
	require.NoError(t, err)
	require.Positive(t, forget)
	_, _, err = x.roads.ResolvePart(2, transit.Return, 0)
	require.NoError(t, err)
	require.ErrorIs(t, x.coins.Tell(x.World, anna, nobody, Coins{Gold: 1}), transit.ErrNowhere)
	left, _, err := x.roads.ResolvePart(2, transit.Forget, last)
	require.NoError(t, err)
	require.Zero(t, left)
	require.Empty(t, x.roads.Peers())
	x.step(t)
	require.EqualValues(t, 6000, x.gold(anna))
}

// TestSendChunks sends a ship for whose parts there are too few chunks: it has all of them still.
func TestSendChunks(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills a world")
	}
	w := world.MustNew(world.Options{Shards: 1, ChunkRowsFirst: 1, ChunkRowsFactor: 1, ChunkRowsMax: 1})
	holds := world.Register[Hold](w, "hold")
	in := hierarchy.New(w, "in", hierarchy.Options{})
	gate := transit.RegisterGate[Pass](transit.New(w, "roads", transit.Options{World: 1}), "pass")
	ships := world.NewBundle[hold](w)
	ship, err := ships.Create(w, hold{})
	require.NoError(t, err)
	for range 4 {
		h, err := ships.Create(w, hold{})
		require.NoError(t, err)
		require.NoError(t, in.AddChild(w, ship, h))
	}
	for w.Count() < 1<<20-1-3 {
		_, err := ships.Create(w, hold{})
		require.NoError(t, err)
	}
	w.Refresh()
	require.ErrorIs(t, gate.Send(w, ship, 2, Pass{}), world.ErrChunks)
	port, err := w.OpenPort()
	require.NoError(t, err)
	require.NoError(t, gate.Send(port, ship, 2, Pass{}))
	w.Refresh()
	for m := range gate.Returned.Waiting() {
		require.Equal(t, transit.Full, m.Body.Why)
	}
	for _, h := range append(in.Read(w).Children(ship), ship) {
		require.True(t, w.Has(h, holds))
	}
}
