package realm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/world"
)

// TestCross lets creatures wander over islands: whoever is across a border is on
// the shard of the island there, and the books still agree.
func TestCross(t *testing.T) {
	const creatures = 3000
	g := newGame(t, realm.Options{Creatures: creatures, Seed: 11, Shards: 6}, 2)
	g.step(200)
	var stats world.Stats
	g.World.Stats(&stats)
	require.NotZero(t, stats.Moved)
	pos := world.Read[realm.Position](g.World)
	for ch := range g.World.Query(pos, world.With[realm.Creature](g.World)).Chunks() {
		for i, p := range pos.Slice(ch) {
			owner, ok := g.World.Owner(ch.Handle(i))
			require.True(t, ok)
			x, y := float32(owner%3)*realm.Side, float32(owner/3)*realm.Side // 3 columns, 2 rows
			const margin = 16 + 2                                            // and one step
			require.True(t, p.X > x-margin && p.X < x+realm.Side+margin && p.Y > y-margin && p.Y < y+realm.Side+margin, "%v on island %d", p, owner)
		}
	}
	require.Equal(t, creatures, g.Census().Alive[realm.Creatures])
}

// TestTakeAcross moves an avatar between its asking for an item and the answer.
func TestTakeAcross(t *testing.T) {
	g := newGame(t, realm.Options{Shards: 2}, 1)
	a := g.guest()
	g.step(1)
	from, _ := g.World.Owner(a.avatar)
	for seq, worth := range []int32{42, 0} { // it is given, and then it expires before it is asked for
		expires := uint64(1000)
		if worth == 0 {
			expires = g.World.Tick() + 1
		}
		it, err := g.CreateItem(worth, expires)
		require.NoError(t, err)
		a.command(realm.Command{Verb: realm.Take, Target: it})
		g.step(2) // asked
		require.NoError(t, world.Move(g.World, a.avatar, 1-from))
		var reply realm.Reply
		for range 4 {
			g.step(1)
			if r := a.reply(); r.Seq > 0 {
				reply = r
			}
		}
		require.Equal(t, uint32(seq+1), reply.Seq)
		require.Equal(t, worth > 0, reply.Worth > 0)
		require.False(t, reply.Busy)
	}
}
