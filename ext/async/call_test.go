package async_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestStatuses has what becomes of functions, of one after another.
func TestStatuses(t *testing.T) {
	var o outside
	g := newGame(t, 2, 2, async.Options{}, o.run)
	g.attach(async.PoolOptions{Workers: 1})
	h := g.create(1)
	for range 3 { // the worker whose goroutine has ended has another
		for _, x := range []struct {
			n    int
			want result
		}{
			{returns, result{Status: async.Done, Value: Reply{returns, "text!"}}},
			{fails, result{Status: async.Failed, Value: Reply{fails, "text!"}}},
			{panics, result{Status: async.Panicked}},
			{exits, result{Status: async.Panicked}},
		} {
			x.want.ID = g.ask(h, Ask{x.n, "text"})
			require.Equal(t, x.want, g.next())
		}
	}
	require.Zero(t, g.call.Len())
	require.Equal(t, "Lost", async.Lost.String())
	require.Equal(t, "Status(9)", async.Status(9).String())
}

// TestNotRefused delivers results while ports may not send their message.
func TestNotRefused(t *testing.T) {
	var o outside
	g := newGame(t, 2, 2, async.Options{}, o.run)
	g.attach(async.PoolOptions{Workers: 1})
	h := g.create(1)
	_, ok := engine.Of(g.World).RefuseAtPorts(g.replies, 1)
	require.True(t, ok)
	want := result{Status: async.Done, Value: Reply{returns, "text!"}}
	want.ID = g.ask(h, Ask{returns, "text"})
	require.Equal(t, want, g.next())
}

// TestTimeout has the result when its ticks are over, and ends the context then.
func TestTimeout(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{Ticks: 5}, o.run)
	g.attach(async.PoolOptions{Workers: 1})
	h := g.create(1)
	g.ask(h, Ask{N: waits})
	g.ask(h, Ask{N: kinds + waits}) // does not even begin, maybe
	g.step()
	require.Eventually(t, func() bool { return o.called(waits) == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, "[5:TimedOut 0 5:TimedOut 0]", g.until(20))
	require.Eventually(t, func() bool { return o.running() == 0 }, time.Minute, time.Millisecond)
	require.Equal(t, "[]", g.until(20))
	require.Zero(t, o.called(kinds+waits), "who has waited for the worker until then is not run")
}

// TestWithoutPool times out in the tick that it says, and is refused below two ticks.
func TestWithoutPool(t *testing.T) {
	for _, ticks := range []int{2, 3, 63, 64, 65, 600} {
		var o outside
		g := newGame(t, 1, 1, async.Options{Ticks: ticks}, o.run)
		g.until(7)
		h := g.create(1)
		g.ask(h, Ask{})
		g.until(ticks)
		require.Equal(t, 1, len(g.heard()))
		require.Equal(t, uint64(7+ticks+1), g.Tick())
		require.Zero(t, o.called(0))
	}
}

// TestResultBeforeTimeout prefers a result in the refresh in which the time is out.
func TestResultBeforeTimeout(t *testing.T) {
	var began atomic.Int32
	end := make(chan bool, 2)
	g := newGame(t, 1, 1, async.Options{Ticks: 3}, func(context.Context, Ask) (Reply, error) {
		began.Add(1)
		<-end
		return Reply{}, nil
	})
	g.attach(async.PoolOptions{Workers: 1})
	h := g.create(1)
	id, late := g.ask(h, Ask{}), g.ask(h, Ask{})
	g.until(2)
	end <- true
	require.Eventually(t, func() bool { return began.Load() == 2 }, time.Minute, time.Millisecond) // so the first is sent
	g.until(2)
	end <- true
	require.Len(t, g.got[0], 2)
	require.Equal(t, result{ID: id}, g.got[0][0].Body)
	require.Equal(t, result{ID: late, Status: async.TimedOut}, g.got[0][1].Body)
}

// TestDeath ends the context, and delivers nothing.
func TestDeath(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{Ticks: 1 << 30}, o.run)
	g.attach(async.PoolOptions{})
	h := g.create(1)
	for range 5 {
		g.ask(h, Ask{N: waits})
	}
	g.step()
	require.Eventually(t, func() bool { return o.running() == 5 }, time.Minute, time.Millisecond)
	g.Destroy(h)
	require.Equal(t, "[]", g.until(65))
	require.Zero(t, g.call.Len())
	require.Eventually(t, func() bool { return o.running() == 0 }, time.Minute, time.Millisecond)
	require.Equal(t, "[]", g.until(5))
	_, err := g.call.Go(g.World, h, Ask{})
	require.ErrorIs(t, err, world.ErrStale)
}

// TestDeadBefore runs nothing for who dies in the tick of the ask.
func TestDeadBefore(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{}, o.run)
	p := g.attach(async.PoolOptions{})
	h := g.create(1)
	g.ask(h, Ask{N: returns})
	g.Destroy(h)
	g.step()
	require.Zero(t, g.call.Len())
	g.ask(g.create(2), Ask{N: kinds})
	g.next()
	require.NoError(t, p.Close(t.Context()))
	require.Zero(t, o.called(returns))
}

// TestMove delivers to the shard that has the entity by then.
func TestMove(t *testing.T) {
	var o outside
	g := newGame(t, 3, 2, async.Options{Ticks: 4}, o.run)
	h := g.create(1)
	from, _ := g.Owner(h)
	g.ask(h, Ask{N: 1})
	for to := range 3 { // a time-out, wherever it is
		g.ask(h, Ask{N: to})
	}
	require.NoError(t, world.Move(g.World, h, (from+1)%3))
	g.until(5)
	require.Len(t, g.got[(from+1)%3], 4)
	g.attach(async.PoolOptions{})
	id := g.ask(h, Ask{N: returns})
	require.Equal(t, (from+1)%3, id.Home())
	port, err := g.OpenPort()
	require.NoError(t, err)
	require.NoError(t, world.Move(port, h, (from+2)%3))
	g.step()
	require.Equal(t, result{ID: id, Value: Reply{0, "!"}}, g.next())
	require.Len(t, g.got[(from+2)%3], 1)
}

// TestOwners delivers what one shard has asked to all that have the entities, in order.
func TestOwners(t *testing.T) {
	var o outside
	g := newGame(t, 3, 2, async.Options{Ticks: 3}, o.run)
	var hs []handle.Handle
	for n := range 9 {
		h := g.create(n)
		require.NoError(t, world.Move(g.World, h, (7*n+2)%3))
		hs = append(hs, h)
	}
	var want [3][]async.ID
	g.global = func(c *world.Context) {
		for n, h := range hs {
			want[(7*n+2)%3] = append(want[(7*n+2)%3], g.must(g.call.Go(c, h, Ask{})))
		}
	}
	g.step()
	g.global = nil
	g.until(3)
	for shard, ids := range want {
		require.Len(t, g.got[shard], 3)
		for i, m := range g.got[shard] {
			require.Equal(t, result{ID: ids[i], Status: async.TimedOut}, m.Body)
		}
	}
}

// TestEverywhere asks from all that can.
func TestEverywhere(t *testing.T) {
	var o outside
	g := newGame(t, 2, 2, async.Options{}, o.run)
	g.attach(async.PoolOptions{})
	h := g.create(1)
	port, err := g.OpenPort()
	require.NoError(t, err)
	var id async.ID
	want := func(home int) {
		t.Helper()
		got := g.next()
		require.Equal(t, result{ID: id, Value: Reply{0, "!"}}, got)
		require.Equal(t, home, id.Home())
	}
	owner, _ := g.Owner(h)
	for home := range 2 {
		g.systems = func(c *world.Context) {
			if c.Shard() == home {
				id = g.must(g.call.Go(c, h, Ask{}))
			}
		}
		g.step()
		g.systems = nil
		want(home)
	}
	g.global = func(c *world.Context) { id = g.must(g.call.Go(c, h, Ask{})) }
	g.step()
	g.global = nil
	want(2)
	g.function = func(self *world.EntityContext, _ int) { id = g.must(g.call.Go(self, self.Handle(), Ask{})) }
	require.NoError(t, g.act.Call(port, h, 0))
	g.step()
	want(owner)
	require.NoError(t, g.act.Call(g.World, h, 0))
	want(owner)
	g.hook = func(c *world.Context, h handle.Handle) { id = g.must(g.call.Go(c, h, Ask{})) }
	_, err = g.units.Create(port, unit{})
	require.NoError(t, err)
	g.step()
	g.hook = nil
	want(id.Home())
}

// TestPending refuses what is more than Options.Pending, in each shard and of global systems.
func TestPending(t *testing.T) {
	var o outside
	g := newGame(t, 2, 1, async.Options{Pending: 3, Ticks: 10}, o.run)
	h := g.create(1)
	ask := func(by world.Actor) {
		for range 3 {
			g.must(g.call.Go(by, h, Ask{}))
		}
		_, err := g.call.Go(by, h, Ask{})
		require.ErrorIs(t, err, async.ErrPending)
	}
	g.systems = func(c *world.Context) { ask(c) }
	g.global = func(c *world.Context) { ask(c) }
	g.step()
	g.systems, g.global = nil, nil
	require.Equal(t, 9, g.call.Len())
	require.Len(t, g.until(10), len("[")+9*len("10:TimedOut 0")+8+len("]"))
	require.Zero(t, g.call.Len())
}

// TestMisuse panics, or returns an error, and changes nothing.
func TestMisuse(t *testing.T) {
	var o outside
	g, other := newGame(t, 1, 1, async.Options{}, o.run), newGame(t, 1, 1, async.Options{}, o.run)
	h := g.create(1)
	before := g.hash()
	port, err := g.OpenPort()
	require.NoError(t, err)
	var nobody context.Context
	for _, x := range []struct {
		want string
		f    func()
	}{
		{`async: Call.Go of "calls" by a *world.Port; call a world.Func`, func() { _, _ = g.call.Go(port, h, Ask{}) }},
		{`belongs to another world`, func() { _, _ = g.call.Go(other.World, h, Ask{}) }},
		{`by a nil`, func() { _, _ = g.call.Go(nil, h, Ask{}) }},
		{`New without a name`, func() { async.New(g.World, "", g.replies, o.run, async.Options{}) }},
		{`New of "calls", a name that is taken`, func() { async.New(g.World, "calls", g.replies, o.run, async.Options{}) }},
		{`New of "x" with a nil function`, func() { async.New[Ask](g.World, "x", g.replies, nil, async.Options{}) }},
		{`New of "x" with a nil Message`, func() { async.New(g.World, "x", nil, o.run, async.Options{}) }},
		{`belongs to another world`, func() { async.New(g.World, "x", other.replies, o.run, async.Options{}) }},
		{`Options.Pending of "x" is -1`, func() { async.New(g.World, "x", g.replies, o.run, async.Options{Pending: -1}) }},
		{`Options.Pending of "x" is 16777217`, func() { async.New(g.World, "x", g.replies, o.run, async.Options{Pending: 1<<24 + 1}) }},
		{`Options.Ticks of "x" is 1; want 2 to`, func() { async.New(g.World, "x", g.replies, o.run, async.Options{Ticks: 1}) }},
		{`PoolOptions.Workers is -1`, func() { _, _ = async.Attach(g.World, async.PoolOptions{Workers: -1}) }},
		{`PoolOptions.Workers is 4097`, func() { _, _ = async.Attach(g.World, async.PoolOptions{Workers: 4097}) }},
		{`Attach to a World without Calls`, func() { _, _ = async.Attach(world.MustNew(world.Options{}), async.PoolOptions{}) }},
		{`Pool.Close with a nil Context`, func() { _ = other.attach(async.PoolOptions{}).Close(nobody) }},
	} {
		func() {
			defer func() { require.Contains(t, recover(), x.want) }()
			x.f()
		}()
	}
	for _, wrong := range []handle.Handle{handle.None, handle.Handle(1 << 40), other.create(1) + 7} {
		_, err := g.call.Go(g.World, wrong, Ask{})
		require.ErrorIs(t, err, world.ErrStale)
	}
	require.Equal(t, before, g.hash())

	type large struct{ Bytes [2 << 20]byte }
	w := world.MustNew(world.Options{})
	m := world.RegisterMessage[async.Result[large]](w, "large")
	require.PanicsWithValue(t, `async: a result of "x" takes 2097184 bytes, and no port sends more than world.Options.QueueBytes = 1048576; raise that, or return a pointer`, func() {
		async.New(w, "x", m, func(context.Context, int) (r large, _ error) { return r, nil }, async.Options{})
	})
}

// TestForged takes answers that only a log can have that was altered.
func TestForged(t *testing.T) {
	var o outside
	g := newGame(t, 2, 1, async.Options{}, o.run)
	h := g.create(1)
	id := g.ask(h, Ask{})
	home := id.Home()
	for _, x := range []struct {
		shard int
		id    async.ID
		s     async.Status
	}{
		{1 - home, id, async.Done}, {home, id, 5}, {home, id + 1, async.Done}, {home, id + 1<<28, async.Done},
		{1, id | 0xfff<<52, async.Done}, {home, async.None, async.Done},
	} {
		require.Equal(t, world.Gone, g.call.Answer(x.shard, x.id, x.s, Reply{}), "%+v", x)
	}
	require.Equal(t, world.Applied, g.call.Answer(home, id, async.Done, Reply{N: 4}))
	require.Equal(t, world.Gone, g.call.Answer(home, id, async.Done, Reply{N: 5}))
	require.Equal(t, "[1:Done 4]", g.until(3))
}

// TestSeveral has Calls of one world that share a message, and one that is made behind Attach.
func TestSeveral(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{}, o.run)
	p := g.attach(async.PoolOptions{})
	h := g.create(1)
	type number int
	late := async.New(g.World, "late", g.replies, func(_ context.Context, n number) (Reply, error) { return Reply{N: int(n)}, nil }, async.Options{})
	id := g.must(late.Go(g.World, h, 77))
	require.Equal(t, result{ID: id, Value: Reply{N: 77}}, g.next())
	id = g.ask(h, Ask{})
	require.Equal(t, result{ID: id, Value: Reply{Text: "!"}}, g.next())
	require.NoError(t, p.Close(t.Context()))
}
