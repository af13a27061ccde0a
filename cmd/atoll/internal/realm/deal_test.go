package realm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// bags reads the inventories. No tick may be running.
func (g *game) bags() *hierarchy.Reader { return g.Inventory.Read(g.World) }

// item makes an item that lies on the ground for long.
func (g *game) item(worth int32) handle.Handle {
	g.t.Helper()
	it, err := g.CreateItem(worth, 1000)
	require.NoError(g.t, err)
	return it
}

// give puts items in the guest's inventory.
func (g *guest) give(items ...handle.Handle) {
	g.g.t.Helper()
	require.NoError(g.g.t, g.g.Inventory.AddChildren(g.g.World, g.avatar, items...))
}

// sound checks that each item is in one place.
func (g *game) sound() {
	g.t.Helper()
	where := g.Possessions(nil)
	require.Empty(g.t, where.Wrong)
	require.Equal(g.t, g.Census().Alive[realm.Items], where.Total())
}

// two makes a game of two islands with a guest on each, who acts after the other.
func two(t *testing.T) (g *game, a, b *guest) {
	g = newGame(t, realm.Options{Shards: 2}, 1)
	a, b = g.guest(), g.guest()
	g.step(1)
	islandA, _ := g.World.Owner(a.avatar)
	islandB, _ := g.World.Owner(b.avatar)
	if islandA > islandB { // the first island's requests come first
		a, b = b, a
	}
	return g, a, b
}

// TestTakeOnce lets avatars of two islands want the same item in one tick.
func TestTakeOnce(t *testing.T) {
	g, a, b := two(t)
	it := g.item(42)
	for _, c := range []*guest{a, b} {
		c.command(realm.Command{Verb: realm.Take, Target: it})
		c.command(realm.Command{Verb: realm.Take, Target: it})
	}
	g.step(3)
	busy := realm.Reply{Seq: 2, Verb: realm.Take, Outcome: world.Applied, Busy: true}
	require.Equal(t, busy, a.reply())
	require.Equal(t, busy, b.reply())
	require.Equal(t, realm.Reply{Seq: 1, Verb: realm.Take, Outcome: world.Applied, Item: it, Worth: 42, Items: 1}, a.reply())
	require.Equal(t, realm.Reply{Seq: 1, Verb: realm.Take, Outcome: world.Applied}, b.reply())
	require.Equal(t, a.avatar, g.bags().Parent(it))
	g.step(1000)
	require.True(t, g.World.Alive(it), "what is carried does not expire")
	for i, target := range []handle.Handle{it, b.avatar, handle.None} { // its own, no item, nothing near
		a.command(realm.Command{Verb: realm.Take, Target: target})
		g.step(3)
		require.Equal(t, realm.Reply{Seq: uint32(3 + i), Verb: realm.Take, Outcome: world.Applied, Items: 1}, a.reply())
	}
	g.sound()
}

// TestTakeExpiring takes an item in the last tick in which it can be, and in that in
// which it goes.
func TestTakeExpiring(t *testing.T) {
	for _, c := range []struct {
		after uint64
		taken bool
	}{{1, false}, {2, true}} {
		g, a, _ := two(t)
		it, err := g.CreateItem(1, g.World.Tick()+c.after)
		require.NoError(t, err)
		a.command(realm.Command{Verb: realm.Take, Target: it})
		g.step(2) // asked; the request meets the end of the item, or not
		require.Equal(t, c.taken, g.World.Alive(it))
		g.step(1)
		want := realm.Reply{Seq: 1, Verb: realm.Take, Outcome: world.Applied}
		if c.taken {
			want.Item, want.Worth, want.Items = it, 1, 1
		}
		require.Equal(t, want, a.reply())
		g.sound()
	}
}

// TestTakeFull fills an inventory.
func TestTakeFull(t *testing.T) {
	g, a, _ := two(t)
	for range 8 {
		a.give(g.item(1))
	}
	it := g.item(1)
	a.command(realm.Command{Verb: realm.Take, Target: it})
	g.step(2)
	require.Equal(t, realm.Reply{Seq: 1, Verb: realm.Take, Outcome: world.Applied, Full: true, Items: 8}, a.reply())
	a.command(realm.Command{Verb: realm.Stack})
	g.step(4)
	require.EqualValues(t, 7, a.reply().Items)
	a.command(realm.Command{Verb: realm.Take, Target: it})
	g.step(3)
	require.EqualValues(t, 8, a.reply().Items)
	g.sound()
}

// TestStack stacks what goes together, up to eight on one, and drops it as one.
func TestStack(t *testing.T) {
	g, a, _ := two(t)
	sorts := world.Write[realm.Item](g.World)
	other := g.item(1)
	sorts.Get(other).Sort = 1
	items := []handle.Handle{g.item(1), g.item(1), g.item(1)}
	a.give(items[0], other, items[1], items[2])
	for seq := range uint32(2) {
		a.command(realm.Command{Verb: realm.Stack})
		g.step(4)
		reply := a.reply()
		require.Equal(t, realm.Reply{Seq: seq + 1, Verb: realm.Stack, Outcome: world.Applied, Item: reply.Item, Other: reply.Other, Items: 3 - seq}, reply)
		require.Equal(t, reply.Other, g.bags().Parent(reply.Item))
	}
	a.command(realm.Command{Verb: realm.Stack})
	g.step(4)
	require.Equal(t, realm.Reply{Seq: 3, Verb: realm.Stack, Outcome: world.Applied, Items: 2}, a.reply(), "nothing goes together any more")
	g.sound()
	where := g.Possessions(nil)
	require.Equal(t, 2, where.Held[realm.Avatars])
	require.Equal(t, 2, where.Held[realm.Items])
}

// TestTrade exchanges items so that who is asked loses nothing.
func TestTrade(t *testing.T) {
	g, a, b := two(t)
	mine := []handle.Handle{g.item(5), g.item(30)}
	theirs := []handle.Handle{g.item(20), g.item(40)}
	a.give(mine...)
	b.give(theirs...)
	a.command(realm.Command{Verb: realm.Trade, Target: b.avatar})
	g.step(4)
	want := realm.Reply{Seq: 1, Verb: realm.Trade, Outcome: world.Applied, Item: theirs[0], Worth: 20, Other: mine[1], Items: 2}
	require.Equal(t, want, a.reply())
	require.Zero(t, b.reply())
	require.Equal(t, mine[1], g.bags().Children(b.avatar)[0], "in its place")
	require.Equal(t, theirs[0], g.bags().Children(a.avatar)[1])
	for i, target := range []handle.Handle{b.avatar, a.avatar, theirs[1], handle.None, handle.New(0, 99, 7)} {
		a.command(realm.Command{Verb: realm.Trade, Target: target})
		g.step(4)
		require.Equal(t, realm.Reply{Seq: uint32(2 + i), Verb: realm.Trade, Outcome: world.Applied, Items: 2}, a.reply(), "nothing to be had")
	}
	g.sound()
}

// TestTradeBoth has two offer each other the same items in one tick: the second
// trade undoes the first, and both are told that they got nothing.
func TestTradeBoth(t *testing.T) {
	g, a, b := two(t)
	mine, theirs := g.item(7), g.item(7)
	a.give(mine)
	b.give(theirs)
	a.command(realm.Command{Verb: realm.Trade, Target: b.avatar})
	b.command(realm.Command{Verb: realm.Trade, Target: a.avatar})
	g.step(4)
	for _, c := range []*guest{a, b} {
		require.Equal(t, realm.Reply{Seq: 1, Verb: realm.Trade, Outcome: world.Applied, Items: 1}, c.reply())
	}
	require.Equal(t, a.avatar, g.bags().Parent(mine))
	g.sound()
}

// TestTradeStacked has one stack two items in the tick in which another would trade for
// one of them: neither is on one of another sort after, nor with another than it was
// stacked by.
func TestTradeStacked(t *testing.T) {
	for _, first := range []bool{true, false} { // whose requests come first
		for _, wanted := range []int{0, 1} { // what is traded for: what is to be on top, or below
			for wait := range 2 {
				g, a, b := two(t)
				if !first {
					a, b = b, a
				}
				g.step(wait)
				sorts := world.Write[realm.Item](g.World)
				offer := g.item(7)
				sorts.Get(offer).Sort = 1
				pair := []handle.Handle{g.item(90), g.item(90)}
				sorts.Get(pair[wanted]).Worth = 7
				a.give(pair...)
				b.give(offer)
				a.command(realm.Command{Verb: realm.Stack})
				b.command(realm.Command{Verb: realm.Trade, Target: a.avatar})
				for range 4 {
					g.step(1)
					g.sound()
				}
				bags, stacked, traded := g.bags(), a.reply(), b.reply()
				require.Equal(t, 1, bags.Count(b.avatar))
				if traded.Item != handle.None {
					require.Equal(t, pair[wanted], traded.Item)
					require.Equal(t, b.avatar, bags.Parent(traded.Item))
					require.Equal(t, a.avatar, bags.Parent(offer))
				}
				if stacked.Item != handle.None {
					require.Equal(t, a.avatar, bags.Parent(stacked.Other))
				}
				require.NotEqual(t, stacked.Item == handle.None, traded.Item == handle.None, "one of them came to nothing")
			}
		}
	}
}

// TestTradeDying trades in the tick in which one of both is killed: the item that
// was got stays, the other falls to the ground.
func TestTradeDying(t *testing.T) {
	g, a, b := two(t)
	mine, theirs, rest := g.item(7), g.item(7), g.item(9)
	a.give(mine)
	b.give(theirs, rest)
	g.step(int(g.World.Tick() % 2)) // in the next tick but one trades have their turn
	require.NoError(t, g.Strike(b.port, handle.None, b.avatar, 1000))
	a.command(realm.Command{Verb: realm.Trade, Target: b.avatar})
	g.step(2)
	require.False(t, g.World.Alive(b.avatar))
	require.Equal(t, a.avatar, g.bags().Parent(theirs))
	require.Equal(t, handle.None, g.bags().Parent(mine))
	require.Equal(t, handle.None, g.bags().Parent(rest))
	g.sound()
	g.step(1)
	require.Equal(t, theirs, a.reply().Item)
}

// TestDrop kills who carries something, from whatever island: it lies where that one
// stood, can be found and taken there, and goes in its time.
func TestDrop(t *testing.T) {
	g, a, b := two(t)
	items := []handle.Handle{g.item(1), g.item(2), g.item(3), g.item(4)} // of both islands
	a.give(items...)
	at := *world.Read[realm.Position](g.World).Get(a.avatar)
	island, _ := g.World.Owner(a.avatar)
	require.NoError(t, g.Strike(a.port, handle.None, a.avatar, 1000))
	g.step(2)
	require.False(t, g.World.Alive(a.avatar))
	for _, it := range items {
		require.Equal(t, handle.None, g.bags().Parent(it))
		require.Equal(t, at, *world.Read[realm.Position](g.World).Get(it))
		owner, _ := g.World.Owner(it)
		require.Equal(t, island, owner)
	}
	g.step(1)
	require.Contains(t, items, g.NearestItem(island, at))
	b.command(realm.Command{Verb: realm.Take, Target: items[1]})
	g.step(50)
	require.Equal(t, items[1], b.reply().Item)
	g.sound()
	require.Equal(t, 1, g.Census().Alive[realm.Items], "the others expired")
	require.Equal(t, handle.None, g.NearestItem(island, at), "what is carried is nowhere")
}

// TestLeave has who carries something leave: what it has goes soon.
func TestLeave(t *testing.T) {
	g, a, _ := two(t)
	lain, born := g.item(1), g.item(1)
	*world.Write[realm.Litter](g.World).Get(born) = realm.Litter{}
	a.give(lain, born)
	g.step(100)
	require.Equal(t, 2, g.Census().Alive[realm.Items])
	require.NoError(t, a.port.Destroy(a.avatar))
	g.step(1)
	require.Equal(t, handle.None, g.bags().Parent(born))
	g.step(1000)
	require.Zero(t, g.Census().Alive[realm.Items])
	g.sound()
}

// TestInventories looks at every item after each tick of a crowd that fights, takes,
// stacks and trades.
func TestInventories(t *testing.T) {
	g := newGame(t, realm.Options{Creatures: 3000, Seed: 9, Shards: 3}, 2)
	var guests []*guest
	for range 12 {
		guests = append(guests, g.guest())
	}
	g.step(1)
	for _, c := range guests { // so that there is something to stack
		c.give(g.item(50), g.item(60), g.item(70))
	}
	done := map[realm.Verb]int{}
	for tick := range uint32(300) {
		for i, c := range guests {
			if !g.World.Alive(c.avatar) {
				continue
			}
			verb := [...]realm.Verb{realm.Take, realm.Take, realm.Trade, realm.Stack}[(tick+uint32(i))%4]
			target := handle.None
			if verb == realm.Trade && tick%2 == 0 {
				target = guests[(i+1)%len(guests)].avatar
			}
			c.command(realm.Command{Verb: verb, Target: target})
		}
		g.step(1)
		for _, c := range guests {
			for r := c.reply(); r.Seq > 0 || r.Death; r = c.reply() {
				if r.Item != handle.None {
					done[r.Verb]++
				}
			}
		}
		if tick%10 == 0 || !check.Enabled { // else it takes ten seconds
			g.sound()
		}
	}
	for _, verb := range []realm.Verb{realm.Take, realm.Stack, realm.Trade} {
		require.NotZero(t, done[verb], "verb %d", verb)
	}
	require.Zero(t, g.Ledger().Dropped)
}
