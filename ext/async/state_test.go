package async_test

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// saved returns what saves and loads the asks of a game.
func (g *game) saved() extend.Saved {
	x, err := form.StateOf(engine.Of(g.World).Survey().Extensions()[0], nil, true)
	require.NoError(g.t, err)
	return x.(extend.Saved)
}

// TestHostile loads what was cut off and altered at each byte: it is an error, or a state that can
// be saved, runs, and is given a Pool.
func TestHostile(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{Ticks: 50}, o.run)
	h := g.create(1)
	for i := range 5 {
		g.ask(h, Ask{N: kinds * i, Text: "text"})
		g.until(8)
	}
	whole, image := g.saved().AppendSaved(nil), g.save()
	try := func(body []byte) {
		x := newGame(t, 1, 1, async.Options{Ticks: 50, Rerun: true}, o.run)
		if x.saved().LoadSaved(body) == nil {
			x.saved().AppendSaved(nil)
			_ = x.hash()
			p := x.attach(async.PoolOptions{Workers: 1})
			x.until(3)
			x.close(p)
		}
	}
	for at := range whole {
		try(whole[:at])
		for _, flip := range []byte{1, 0x80, 0xff} {
			body := bytes.Clone(whole)
			body[at] ^= flip
			try(body)
		}
	}
	forged := newGame(t, 1, 1, async.Options{}, o.run)
	forged.call.Repeat(forged.ask(forged.create(1), Ask{}))
	require.ErrorContains(t, newGame(t, 1, 1, async.Options{}, o.run).saved().LoadSaved(forged.saved().AppendSaved(nil)), "an ask is there that repeats")
	again := newGame(t, 1, 1, async.Options{Ticks: 50}, o.run).load(image)
	require.Equal(t, whole, again.saved().AppendSaved(nil))
	require.Equal(t, g.hash(), again.hash())
	require.Equal(t, g.until(60), again.until(60))
	require.Equal(t, g.hash(), again.hash())
}

// TestNotTheSame refuses to load to a Call that is another, and takes other limits.
func TestNotTheSame(t *testing.T) {
	var o outside
	g := newGame(t, 2, 1, async.Options{}, o.run)
	h := g.create(1)
	for range 3 {
		g.ask(h, Ask{})
	}
	body := g.saved().AppendSaved(nil)
	other := newGame(t, 1, 1, async.Options{}, o.run)
	require.ErrorContains(t, other.saved().LoadSaved(body), `"calls" has 2 wheels, and was saved with 3`)
	less := newGame(t, 2, 1, async.Options{Pending: 2}, o.run)
	h = less.create(1)
	require.NoError(t, less.saved().LoadSaved(body))
	require.Equal(t, 3, less.call.Len())
	_, err := less.call.Go(less.World, h, Ask{})
	require.ErrorIs(t, err, async.ErrPending)
}

// TestFork goes on without what is outside, until the fork is given a Pool of its own.
func TestFork(t *testing.T) {
	var o outside
	options := async.Options{Ticks: 20, Rerun: true}
	g := newGame(t, 3, 2, options, o.run)
	p := g.attach(async.PoolOptions{})
	h := g.create(1)
	id := g.ask(h, Ask{N: waits})
	g.step()
	require.Eventually(t, func() bool { return o.called(waits) == 1 }, time.Minute, time.Millisecond)
	captured, err := snapshot.Capture(g.World, snapshot.Options{Scheduler: g.s})
	require.NoError(t, err)
	defer captured.Release()
	fork := func() *game {
		x := newGame(t, 3, 5, options, o.run)
		require.NoError(t, captured.Load(x.World, snapshot.Options{Scheduler: x.s}))
		require.Equal(t, g.hash(), x.hash())
		return x
	}
	alone, other := fork(), fork()
	require.Equal(t, "[20:TimedOut 0]", alone.until(30))
	require.Equal(t, 1, o.called(waits))
	other.attach(async.PoolOptions{})
	require.Eventually(t, func() bool { return o.called(waits) == 2 }, time.Minute, time.Millisecond)
	require.Equal(t, result{ID: id, Status: async.TimedOut}, other.next())
	require.Equal(t, "[20:TimedOut 0]", g.until(30))
	require.NoError(t, p.Close(t.Context()))
}

// TestReplayed attaches no Pool while a log is played, and plays no log while there is one.
func TestReplayed(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{}, o.run)
	var file bytes.Buffer
	r, err := inputlog.NewRecorder(g.World, &file, inputlog.Options{})
	require.NoError(t, err)
	g.step()
	require.NoError(t, r.Close())
	back := newGame(t, 1, 1, async.Options{}, o.run)
	open := func() *inputlog.Log {
		log, err := inputlog.Open(bytes.NewReader(file.Bytes()))
		require.NoError(t, err)
		return log
	}
	p := back.attach(async.PoolOptions{})
	_, err = open().Play(back.World, nil)
	require.ErrorContains(t, err, "16 ports are open")
	require.NoError(t, p.Close(t.Context()))

	back = newGame(t, 1, 1, async.Options{}, o.run)
	player, err := open().Play(back.World, nil)
	require.NoError(t, err)
	_, err = async.Attach(back.World, async.PoolOptions{})
	require.ErrorContains(t, err, "a log is replayed")
	player.Close()
	back.attach(async.PoolOptions{})
}

// TestInsert leaves the asks of a piece where they are.
func TestInsert(t *testing.T) {
	var o outside
	g, piece := newGame(t, 1, 1, async.Options{}, o.run), newGame(t, 1, 1, async.Options{}, o.run)
	piece.ask(piece.create(1), Ask{})
	x, err := snapshot.Insert(g.World, piece.World, snapshot.InsertOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, x.Len())
	require.Zero(t, g.call.Len())
	require.Equal(t, 1, piece.call.Len())
}

// TestLoadBehindAttach refuses a world that has a Pool: it would run nothing of what is loaded.
func TestLoadBehindAttach(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{}, o.run)
	g.ask(g.create(1), Ask{})
	image := g.save()
	back := newGame(t, 1, 1, async.Options{}, o.run)
	p := back.attach(async.PoolOptions{})
	err := snapshot.Load(bytes.NewReader(image), back.World, snapshot.Options{Scheduler: back.s})
	require.ErrorContains(t, err, "close the Pool, and attach one after the load")
	require.NoError(t, p.Close(t.Context()))
}

// TestForgets the arguments of what has ended.
func TestForgets(t *testing.T) {
	var o outside
	g := newGame(t, 1, 1, async.Options{Ticks: 5}, o.run)
	h, dead := g.create(1), g.create(2)
	ids := []async.ID{g.ask(h, Ask{Text: "answered"}), g.ask(h, Ask{Text: "times out"}), g.ask(dead, Ask{Text: "dies"})}
	for _, id := range ids {
		require.NotZero(t, g.call.Args(id))
	}
	g.call.Answer(0, ids[0], async.Done, Reply{})
	g.Destroy(dead)
	g.until(6)
	for _, id := range ids {
		require.Zero(t, g.call.Args(id))
	}
}

// TestNeedsCodec tells which arguments or results lack a codec.
func TestNeedsCodec(t *testing.T) {
	w := world.MustNew(world.Options{})
	m := world.RegisterMessage[async.Result[int]](w, "number")
	async.New(w, "calls", m, func(context.Context, func()) (int, error) { return 0, nil }, async.Options{})
	_, err := state.StateHash(w, nil)
	require.ErrorIs(t, err, state.ErrNoCodec)
	require.ErrorIs(t, snapshot.Write(new(bytes.Buffer), w, snapshot.Options{}), state.ErrNoCodec)

	w = world.MustNew(world.Options{})
	of := world.RegisterMessage[async.Result[func()]](w, "function")
	async.New(w, "others", of, func(context.Context, int) (func(), error) { return nil, nil }, async.Options{})
	_, err = inputlog.NewRecorder(w, new(bytes.Buffer), inputlog.Options{})
	require.ErrorIs(t, err, state.ErrNoCodec)
	require.ErrorContains(t, err, `extension "others" cannot be recorded`)
}

// TestPoolAllocates no more than a context for each ask.
func TestPoolAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("it counts what the race detector and checks allocate")
	}
	g := newGame(t, 1, 1, async.Options{Ticks: 1 << 30}, at)
	g.attach(async.PoolOptions{Workers: 1})
	h := g.create(1)
	const asks = 100
	round := func() {
		for range asks {
			_, _ = g.call.Go(g.World, h, Ask{})
		}
		for g.call.Len() > 0 {
			_ = g.s.Step(t.Context())
			runtime.Gosched()
		}
	}
	for range 10 {
		round()
	}
	require.Less(t, testing.AllocsPerRun(50, round), 2.5*asks)
}

// TestAllocates nothing in a tick once warm, for what is asked, has a result, and times out.
func TestAllocates(t *testing.T) {
	var o outside
	g := newGame(t, 2, 1, async.Options{Ticks: 10}, o.run)
	h := g.create(1)
	var ids [2]async.ID
	g.systems = func(c *world.Context) {
		g.call.Answer(c.Shard(), ids[c.Shard()], async.Done, Reply{})
		ids[c.Shard()], _ = g.call.Go(c, h, Ask{})
		_, _ = g.call.Go(c, h, Ask{})
	}
	g.until(200)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = g.s.Step(t.Context()) }))
}
