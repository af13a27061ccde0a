package realm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

func TestCommands(t *testing.T) {
	g := newGame(t, realm.Options{Shards: 2}, 1)
	a := g.guest()
	b := g.guest() // on the other island
	g.step(1)
	a.command(realm.Command{Verb: realm.Steer, X: 0.5, Y: -1})
	a.command(realm.Command{Verb: realm.Where})
	a.command(realm.Command{Verb: realm.Look})
	a.command(realm.Command{Verb: realm.Look, Target: b.avatar})
	a.command(realm.Command{Verb: realm.Look, Target: handle.New(0, 99, 7)})
	a.command(realm.Command{Verb: realm.Attack})
	g.step(1)
	require.Zero(t, a.reply(), "delivered, not yet applied")
	g.step(1)
	steer, where, look, attack := a.reply(), a.reply(), a.reply(), a.reply()
	require.Equal(t, realm.Reply{Seq: 1, Verb: realm.Steer, Outcome: world.Applied, X: 0.5, Y: -1}, steer)
	require.Equal(t, world.Applied, where.Outcome)
	require.Equal(t, realm.Reply{Seq: 3, Verb: realm.Look, Outcome: world.Applied, Self: true, X: where.X, Y: where.Y, Points: 400}, look)
	require.Equal(t, realm.Reply{Seq: 6, Verb: realm.Attack, Outcome: world.Applied}, attack, "nobody is near")
	seen := a.reply()
	require.Equal(t, realm.Avatars, seen.Kind)
	require.Equal(t, b.avatar, seen.Who)
	require.EqualValues(t, 400, seen.Points)
	require.Equal(t, realm.Reply{Seq: 5, Verb: realm.Look, Outcome: world.Applied}, a.reply(), "a forged handle is nobody")

	g.step(1)
	a.command(realm.Command{Verb: realm.Where})
	g.step(2)
	moved := a.reply()
	delta := float32(g.World.Options().TickInterval.Seconds())
	require.InDelta(t, where.X+2*0.5*realm.AvatarSpeed*delta+0.5*realm.AvatarSpeed*delta, moved.X, 0.01)

	held, _, _, ok := g.AvatarOf(a.avatar)
	require.True(t, ok)
	require.EqualValues(t, 7, held.Obeyed)
	require.EqualValues(t, 1+2+3+4+5+6+7, held.Sum)
	require.EqualValues(t, 7, g.Ledger().Obeyed)
}

// TestExactlyOnce checks that an island sees commands that are missing or came
// twice, and applies none twice.
func TestExactlyOnce(t *testing.T) {
	g := newGame(t, realm.Options{Shards: 1}, 1)
	a := g.guest()
	a.command(realm.Command{Verb: realm.Where, Nth: 1})
	a.command(realm.Command{Verb: realm.Where, Nth: 1})
	a.command(realm.Command{Verb: realm.Where, Nth: 4})
	a.command(realm.Command{Verb: realm.Where, Nth: 3})
	g.step(2)
	require.EqualValues(t, 1, a.reply().Seq)
	require.EqualValues(t, 3, a.reply().Seq)
	require.Zero(t, a.reply())
	l := g.Ledger()
	require.EqualValues(t, 2, l.Obeyed)
	require.EqualValues(t, 2, l.Skipped)
	require.EqualValues(t, 2, l.Doubled)
}

// TestDeath kills an avatar that has a deal under way: the islands tell the outcome
// of that, and the world that of commands sent in the tick of its death.
func TestDeath(t *testing.T) {
	g := newGame(t, realm.Options{Shards: 2}, 1)
	a := g.guest()
	it, err := g.CreateItem(1, 1000)
	require.NoError(t, err)
	g.step(1)
	a.command(realm.Command{Verb: realm.Take, Target: it})
	g.step(1)
	require.NoError(t, g.Strike(g.World, handle.None, a.avatar, 1000))
	var late world.Completion
	a.port.Notify(&late)
	a.command(realm.Command{Verb: realm.Where})
	g.step(1)
	require.False(t, g.World.Alive(a.avatar))
	require.Equal(t, world.Gone, late.Outcome())
	require.Equal(t, realm.Reply{Seq: 1, Verb: realm.Take, Outcome: world.Gone}, a.reply())
	require.Equal(t, realm.Reply{Death: true, Who: a.avatar}, a.reply())
	g.step(3)
	require.Zero(t, a.reply())
	require.Equal(t, handle.None, g.bags().Parent(it), "it was never taken")
	l := g.Ledger()
	require.EqualValues(t, 1, l.Destroyed[realm.Avatars])
	require.EqualValues(t, 1, l.Late)
	require.Zero(t, l.Unheard)
	require.Equal(t, []handle.Handle{a.avatar}, g.AppendDead(nil, 1))
}

// TestDeliveredTooLate sends a command and the avatar's end in one tick: the
// command is delivered, and finds nobody.
func TestDeliveredTooLate(t *testing.T) {
	g := newGame(t, realm.Options{}, 1)
	a := g.guest()
	g.step(1)
	var done world.Completion
	a.port.Notify(&done)
	a.command(realm.Command{Verb: realm.Where})
	require.NoError(t, a.port.Destroy(a.avatar))
	g.step(2)
	require.Equal(t, world.Applied, done.Outcome())
	require.Equal(t, realm.Reply{Seq: 1, Verb: realm.Where, Outcome: world.Gone}, a.reply())
	require.EqualValues(t, 1, g.Ledger().Late)
}

// TestMailboxes checks that islands never wait for a client, and that what it
// does not hear is counted.
func TestMailboxes(t *testing.T) {
	g := newGame(t, realm.Options{Shards: 1, ClientsMax: 1}, 1)
	a := g.guest() // its mailbox has room for 8
	_, _, err := g.OpenMailbox(8)
	require.ErrorIs(t, err, realm.ErrMailboxes)
	for range 10 {
		a.command(realm.Command{Verb: realm.Where})
	}
	g.step(2)
	require.EqualValues(t, 2, g.Ledger().Unheard)
	require.EqualValues(t, 10, g.Ledger().Obeyed)
	g.CloseMailbox(a.number)
	a.command(realm.Command{Verb: realm.Where})
	g.step(2)
	require.EqualValues(t, 3, g.Ledger().Unheard)
	number, _, err := g.OpenMailbox(8)
	require.NoError(t, err)
	require.Equal(t, a.number, number)
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]realm.Options{
		"creatures": {Creatures: -1}, "clients": {ClientsMax: -1}, "shards": {Shards: -1}, "tick": {TickInterval: -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := realm.New(o)
			require.Error(t, err)
		})
	}
}
