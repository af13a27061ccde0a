package timer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestIdle sets timers of each kind by the idle world.
func TestIdle(t *testing.T) {
	g := newGame(t, 2, 1, timer.Options{})
	h := g.create(1)
	g.must(g.timers.After(g.World, h, 1, Ping{N: 1}))
	g.must(g.timers.After(g.World, h, 3, Ping{N: 2}))
	g.must(g.timers.After(g.World, h, -7, Ping{N: 3}))
	g.must(g.timers.At(g.World, h, 0, Ping{N: 4}))
	g.must(g.timers.At(g.World, h, 4, Ping{N: 5}))
	every := g.must(g.timers.Every(g.World, h, 2, Ping{N: 6}))
	g.must(g.timers.After(g.World, h, 5000, Ping{N: 7}))
	require.Equal(t, 7, g.timers.Len())
	require.Equal(t, "[1:1 1:3 1:4 2:6 3:2 4:5 4:6]", g.until(5))
	require.NoError(t, g.timers.Reset(g.World, every, 3))
	require.Equal(t, "[8:6 10:6]", g.until(6))
	require.NoError(t, g.timers.Cancel(g.World, every))
	require.NoError(t, g.timers.Cancel(g.World, every))
	require.ErrorIs(t, g.timers.Reset(g.World, every, 3), timer.ErrGone)
	require.Equal(t, 1, g.timers.Len())
	require.Equal(t, "[5000:7]", g.until(5000))
	require.Zero(t, g.timers.Len())
}

// TestBehindMessages delivers what is due behind the messages of requests.
func TestBehindMessages(t *testing.T) {
	g := newGame(t, 1, 1, timer.Options{})
	h := g.create(1)
	g.must(g.timers.After(g.World, h, 2, Ping{N: 1}))
	port, err := g.OpenPort()
	require.NoError(t, err)
	g.step()
	require.NoError(t, g.pings.Send(port, h, Ping{N: 2}))
	require.Equal(t, "[2:2 2:1]", g.until(2))
}

// TestSystems sets, resets and cancels timers of systems, also those of other shards.
func TestSystems(t *testing.T) {
	g := newGame(t, 2, 2, timer.Options{})
	var hs [2]handle.Handle
	for h := g.create(1); hs[0] == 0 || hs[1] == 0; h = g.create(1) {
		shard, _ := g.Owner(h)
		hs[shard] = h
	}
	var ids [3][4]timer.ID
	set := func(c *world.Context, home int) {
		for i := range ids[home] {
			ids[home][i] = g.must(g.timers.After(c, hs[1-home%2], 3+i, Ping{N: 10*home + i}))
		}
	}
	g.systems = func(c *world.Context) { set(c, c.Shard()) }
	g.global = func(c *world.Context) { set(c, 2) }
	require.Equal(t, "[]", g.until(1))
	g.systems = func(c *world.Context) {
		require.NoError(t, g.timers.Cancel(c, ids[c.Shard()][0]))
		require.NoError(t, g.timers.Cancel(c, ids[1-c.Shard()][1]), "another's")
		require.NoError(t, g.timers.Reset(c, ids[c.Shard()][2], 1))
		require.NoError(t, g.timers.Reset(c, ids[1-c.Shard()][3], 1))
		if c.Shard() == 1 {
			require.NoError(t, g.timers.Cancel(c, ids[2][1]))
			require.NoError(t, g.timers.Reset(c, ids[2][2], 2))
		}
	}
	g.global = func(c *world.Context) { require.NoError(t, g.timers.Cancel(c, ids[2][0])) }
	g.step()
	g.systems, g.global = nil, nil
	require.Equal(t, "[2:12 2:13 2:2 2:3 3:22 6:23]", g.until(9))
	require.Zero(t, g.timers.Len())
}

// TestOrder delivers by the tick in which timers were set, the shards that set them, and the calls.
func TestOrder(t *testing.T) {
	g := newGame(t, 3, 2, timer.Options{})
	h := g.create(0)
	g.systems = func(c *world.Context) {
		for i := range 2 {
			g.must(g.timers.At(c, h, 10, Ping{N: int(c.Tick())*100 + c.Shard()*10 + i}))
		}
	}
	g.until(3)
	g.systems = nil
	g.until(7)
	require.Equal(t, []int{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121, 200, 201, 210, 211, 220, 221}, g.heard())
}

// TestPorts sets timers of what a port has just created, and gives the outcomes.
func TestPorts(t *testing.T) {
	g := newGame(t, 2, 1, timer.Options{Max: 1})
	port, err := g.OpenPort()
	require.NoError(t, err)
	h, err := g.units.Create(port, unit{})
	require.NoError(t, err)
	var done, refused, dead world.Completion
	id, err := g.timers.Every(port.Notify(&done), h, 2, Ping{N: 1})
	require.NoError(t, err)
	require.Equal(t, timer.None, id)
	_, err = g.timers.After(port.Notify(&refused), h, 2, Ping{N: 2})
	require.NoError(t, err)
	g.step()
	outcome, _ := done.Wait(t.Context())
	require.Equal(t, world.Applied, outcome)
	outcome, _ = refused.Wait(t.Context())
	require.Equal(t, world.Refused, outcome)
	require.Equal(t, "[2:1 4:1]", g.until(5))
	g.Destroy(h)
	_, err = g.timers.After(port.Notify(&dead), h, 2, Ping{N: 2})
	require.NoError(t, err)
	g.step()
	outcome, _ = dead.Wait(t.Context())
	require.Equal(t, world.Gone, outcome)
	require.Equal(t, "[]", g.until(200))
	require.Zero(t, g.timers.Len())
}

// TestFunctions sets and cancels timers by functions, in the refresh and on the idle world.
func TestFunctions(t *testing.T) {
	g := newGame(t, 2, 1, timer.Options{})
	h := g.create(0)
	var id timer.ID
	g.function = func(self *world.EntityContext, n int) {
		if n == 0 {
			require.NoError(t, g.timers.Cancel(self, id))
		} else {
			id = g.must(g.timers.Every(self, self.Handle(), n, Ping{N: n}))
		}
	}
	port, err := g.OpenPort()
	require.NoError(t, err)
	require.NoError(t, g.act.Call(port, h, 1))
	require.Equal(t, "[1:1 2:1]", g.until(3), "as a message that is sent in the same refresh")
	require.NoError(t, g.act.Call(port, h, 0))
	require.Equal(t, "[3:1]", g.until(2))
	require.NoError(t, g.act.Call(g.World, h, 2))
	require.Equal(t, "[7:2]", g.until(4))
	require.NoError(t, g.act.Call(g.World, h, 0))
	require.Equal(t, "[9:2]", g.until(4), "it was delivered already")
}

// TestMoves delivers to whichever shard has the entity.
func TestMoves(t *testing.T) {
	g := newGame(t, 2, 1, timer.Options{})
	h := g.create(0)
	g.must(g.timers.Every(g.World, h, 1, Ping{N: 1}))
	for range 4 {
		from, _ := g.Owner(h)
		require.NoError(t, world.Move(g.World, h, 1-from))
		require.Equal(t, []int{1}, func() []int { g.step(); return g.heard() }())
		require.Len(t, g.got[1-from], 1)
	}
}

// TestDead drops the timers of the dead, and gives none to an entity that comes to their place.
func TestDead(t *testing.T) {
	g := newGame(t, 1, 1, timer.Options{})
	for i := range 100 {
		g.must(g.timers.After(g.World, g.create(i), 10+1000*(i%2), Ping{N: i}))
	}
	g.Clear()
	for i := range 100 {
		g.create(i)
	}
	require.Equal(t, "[]", g.until(64), "each slot has its turn")
	require.Zero(t, g.timers.Len())
	_, err := g.timers.After(g.World, handle.None, 1, Ping{})
	require.ErrorIs(t, err, world.ErrStale)
}

// TestMax refuses one timer too many, and gives room back.
func TestMax(t *testing.T) {
	g := newGame(t, 1, 1, timer.Options{Max: 3})
	h := g.create(0)
	var ids []timer.ID
	for i := range 3 {
		ids = append(ids, g.must(g.timers.After(g.World, h, 5, Ping{N: i})))
	}
	_, err := g.timers.After(g.World, h, 5, Ping{})
	require.ErrorIs(t, err, timer.ErrMax)
	require.NoError(t, g.timers.Cancel(g.World, ids[1]))
	again := g.must(g.timers.After(g.World, h, 6, Ping{N: 7}))
	require.NotEqual(t, ids[1], again)
	require.ErrorIs(t, g.timers.Reset(g.World, ids[1], 1), timer.ErrGone)
	require.Equal(t, "[5:0 5:2 6:7]", g.until(8))
	require.Equal(t, timer.Options{Max: 3}, g.timers.Options())
	require.Equal(t, "pings", g.timers.Name())
}

// TestMisuse panics with what to do.
func TestMisuse(t *testing.T) {
	g, other := newGame(t, 1, 1, timer.Options{}), newGame(t, 1, 1, timer.Options{})
	h := g.create(0)
	port, err := g.OpenPort()
	require.NoError(t, err)
	var nobody *world.World
	for text, f := range map[string]func(){
		`timer: Timers.Every of "pings" with 0 ticks; want 1 or more`:                                                              func() { _, _ = g.timers.Every(g.World, h, 0, Ping{}) },
		`timer: Timers.Cancel of "pings" by a *world.Port; call a world.Func that does it`:                                         func() { _ = g.timers.Cancel(port, 1) },
		`timer: Timers.Reset of "pings" by a *world.Port; call a world.Func that does it`:                                          func() { _ = g.timers.Reset(port, 1, 1) },
		`timer: New of "x" with a nil Message; pass one of world.RegisterMessage`:                                                  func() { timer.New[Ping](g.World, "x", nil, timer.Options{}) },
		`world: message "ping" belongs to another world; use that world's own`:                                                     func() { timer.New(g.World, "x", other.pings, timer.Options{}) },
		`timer: New without a name; pass one that errors and snapshots can use`:                                                    func() { timer.New(g.World, "", g.pings, timer.Options{}) },
		`timer: New of "pings", a name that is taken in this world; pass another`:                                                  func() { timer.New(g.World, "pings", g.pings, timer.Options{}) },
		`timer: Options.Max of "x" is -1; want 1 to 16777216, or 0 for 1048576`:                                                    func() { timer.New(g.World, "x", g.pings, timer.Options{Max: -1}) },
		`world: a request of extension "pings" by a nil Actor; pass a *World, *Context, *EntityContext, *Tx or *Port`:              func() { _, _ = g.timers.After(nil, h, 1, Ping{}) },
		`world: a request of extension "pings" by a nil *world.World; pass one of a world`:                                         func() { _, _ = g.timers.After(nobody, h, 1, Ping{}) },
		`world: a request: extension "pings" belongs to another world than the *world.World it is used with; use that world's own`: func() { _, _ = g.timers.After(other.World, h, 1, Ping{}) },
	} {
		t.Run(text, func(t *testing.T) { require.PanicsWithValue(t, text, f) })
	}
	for _, id := range []timer.ID{0, 1, 1 << 63, ^timer.ID(0), 1<<28 | 1} {
		require.NoError(t, g.timers.Cancel(g.World, id))
		require.ErrorIs(t, g.timers.Reset(g.World, id, 1), timer.ErrGone)
	}
	g.systems = func(c *world.Context) {
		for _, id := range []timer.ID{0, 1, 1 << 63, ^timer.ID(0), 1<<28 | 1, 1<<52 | 1} {
			require.NoError(t, g.timers.Cancel(c, id))
		}
		require.Panics(t, func() { _, _ = g.timers.After(g.World, h, 1, Ping{}) })
		require.Panics(t, func() { _ = g.timers.Cancel(g.World, 1) })
	}
	g.step()
	g.Close()
	_, err = g.timers.After(g.World, h, 1, Ping{})
	require.ErrorIs(t, err, world.ErrClosed)
	_, err = g.timers.After(port, h, 1, Ping{})
	require.ErrorIs(t, err, world.ErrClosed)
}
