package timer_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// saved returns what saves and loads the timers of a game.
func (g *game) saved() extend.Saved {
	x, err := form.StateOf(engine.Of(g.World).Survey().Extensions()[0], nil, true)
	require.NoError(g.t, err)
	return x.(extend.Saved)
}

// TestHostile loads what was cut off and altered at each byte: it is an error, or a state that can
// be saved and runs.
func TestHostile(t *testing.T) {
	g := newGame(t, 1, 1, timer.Options{})
	h := g.create(1)
	for i := range 9 {
		g.must(g.timers.After(g.World, h, 2+30*i, Ping{N: i, Text: "text"}))
	}
	g.until(40)
	g.must(g.timers.Every(g.World, h, 2, Ping{N: 9}))
	whole, image := g.saved().AppendSaved(nil), g.save()
	try := func(body []byte) {
		x := newGame(t, 1, 1, timer.Options{})
		if x.saved().LoadSaved(body) == nil {
			x.saved().AppendSaved(nil)
			_ = x.hash()
			x.until(3)
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
	again := loaded(t, image, 1, 1)
	require.Equal(t, whole, again.saved().AppendSaved(nil))
	require.Equal(t, g.until(300), again.until(300))
	require.Equal(t, g.hash(), again.hash())
}

// TestNotTheSame refuses to load to timers that are others.
func TestNotTheSame(t *testing.T) {
	g := newGame(t, 2, 1, timer.Options{})
	h := g.create(1)
	for range 5 {
		g.must(g.timers.After(g.World, h, 2, Ping{}))
	}
	body := g.saved().AppendSaved(nil)
	require.ErrorContains(t, newGame(t, 1, 1, timer.Options{}).saved().LoadSaved(body), `"pings" has 2 wheels, and was saved with 3`)
	less := newGame(t, 2, 1, timer.Options{Max: 4}) // what is beyond the limit stays
	h = less.create(1)
	require.NoError(t, less.saved().LoadSaved(body))
	require.Equal(t, 5, less.timers.Len())
	_, err := less.timers.After(less.World, h, 1, Ping{})
	require.ErrorIs(t, err, timer.ErrMax)
}

// TestPlan loads messages without a field if that is declared, once for the message and its timers,
// and takes another Max.
func TestPlan(t *testing.T) {
	g := newGame(t, 1, 1, timer.Options{Max: 7})
	g.must(g.timers.After(g.World, g.create(1), 2, Ping{}))
	image := g.save()
	require.Equal(t, "[2:0]", loaded(t, image, 1, 1).until(4))

	w := world.MustNew(world.Options{Shards: 1, Seed: 5})
	world.Register[Body](w, "body")
	type Ping struct{ N int }
	timer.New(w, "pings", world.RegisterMessage[Ping](w, "ping"), timer.Options{})
	plan, err := snapshot.PlanLoad(bytes.NewReader(image), w, snapshot.Options{Changes: []snapshot.Change{snapshot.Dropped("ping", "Text")}})
	require.NoError(t, err)
	require.Contains(t, plan.String(), `loads    extension "pings" (timers, Max 7 → timers, Max 1048576): has other options, which count from now on: what is beyond its limits stays
loads    payload "pings", field Text (string): is dropped, WHICH LOSES IT IN 1 TIMER
`)
	require.ErrorContains(t, snapshot.Load(bytes.NewReader(image), w, snapshot.Options{}), `payload "pings", field Text (string): is not in this world: say RenamedField("ping", "Text", …), or give a Migrated; Dropped("ping", "Text") LOSES IT IN 1 TIMER`)
	require.NoError(t, w.Err())
}

// TestNeedsCodec tells which message lacks a codec.
func TestNeedsCodec(t *testing.T) {
	w := world.MustNew(world.Options{})
	timer.New(w, "calls", world.RegisterMessage[func()](w, "call"), timer.Options{})
	_, err := state.StateHash(w, nil)
	require.ErrorIs(t, err, state.ErrNoCodec)
	require.ErrorIs(t, snapshot.Write(new(bytes.Buffer), w, snapshot.Options{}), state.ErrNoCodec)
}

// TestRecorded plays what ports have asked for again, from a fork.
func TestRecorded(t *testing.T) {
	g := newGame(t, 3, 2, timer.Options{})
	for i := range 20 {
		g.must(g.timers.Every(g.World, g.create(i), 1+i, Ping{N: i}))
	}
	g.until(10)
	fork := newGame(t, 3, 5, timer.Options{})
	captured, err := snapshot.Capture(g.World, snapshot.Options{Scheduler: g.s})
	require.NoError(t, err)
	defer captured.Release()
	var file bytes.Buffer
	r, err := inputlog.NewRecorder(g.World, &file, inputlog.Options{})
	require.NoError(t, err)
	port, err := g.OpenPort()
	require.NoError(t, err)
	for i := range 100 {
		h, err := g.units.Create(port, unit{Body{i}})
		require.NoError(t, err)
		_, err = g.timers.Every(port, h, 1+i%7, Ping{N: 100 + i})
		require.NoError(t, err)
		g.step()
	}
	require.NoError(t, r.Close())
	require.NoError(t, captured.Load(fork.World, snapshot.Options{Scheduler: fork.s}))
	log, err := inputlog.Open(&file)
	require.NoError(t, err)
	p, err := log.Play(fork.World, nil)
	require.NoError(t, err)
	for p.Next() {
		require.NoError(t, p.Make(func() error { return fork.s.Step(t.Context()) }))
	}
	require.NoError(t, p.Err())
	require.Equal(t, g.got, fork.got)
	require.Equal(t, fmt.Sprint(g.timers.Len()), fmt.Sprint(fork.timers.Len()))
}

// TestGrow sets so many timers that there are more slots, and has each at its tick, in order.
func TestGrow(t *testing.T) {
	g := newGame(t, 2, 2, timer.Options{})
	h := g.create(1)
	dice := rand.New(rand.NewPCG(1, 1))
	want := map[uint64][]int{}
	var ids []timer.ID
	const timers = 70_000
	for i := range timers {
		ticks := 1 + dice.IntN(3000)
		ids = append(ids, g.must(g.timers.After(g.World, h, ticks, Ping{N: i})))
		want[uint64(ticks)] = append(want[uint64(ticks)], i)
	}
	g = loaded(t, g.save(), 2, 1)
	for i := timers - 1; i >= 0; i -= 10 {
		require.NoError(t, g.timers.Cancel(g.World, ids[i]))
	}
	g.step()
	for tick := uint64(1); tick <= 3000; tick++ {
		var left []int
		for _, n := range want[tick] {
			if (timers-1-n)%10 != 0 {
				left = append(left, n)
			}
		}
		require.Equal(t, left, g.heard())
	}
	require.Zero(t, g.timers.Len())
}

// TestAllocates nothing in a tick once warm.
func TestAllocates(t *testing.T) {
	g := newGame(t, 2, 1, timer.Options{})
	for i := range 100 {
		h := g.create(i)
		g.must(g.timers.Every(g.World, h, 1+i%3, Ping{N: i}))
	}
	var id [2]timer.ID
	h := g.create(1)
	g.systems = func(c *world.Context) {
		_ = g.timers.Cancel(c, id[1-c.Shard()])
		id[c.Shard()], _ = g.timers.After(c, h, 10, Ping{})
	}
	g.until(200)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = g.s.Step(t.Context()) }))
}

// TestLargeMessages keeps memory for the messages that are there, and not for all below the
// highest.
func TestLargeMessages(t *testing.T) {
	type large struct{ Bytes [16 << 10]byte }
	newWorld := func() (*world.World, handle.Handle, *timer.Timers[large]) {
		w := world.MustNew(world.Options{Shards: 1})
		world.Register[Body](w, "body")
		h, err := world.NewBundle[unit](w).Create(w, unit{})
		require.NoError(t, err)
		return w, h, timer.New(w, "large", world.RegisterMessage[large](w, "large"), timer.Options{})
	}
	w, h, timers := newWorld()
	const n = 4000
	var ids []timer.ID
	for range n {
		id, err := timers.After(w, h, 100, large{})
		require.NoError(t, err)
		ids = append(ids, id)
	}
	for _, id := range ids[:n-1] {
		require.NoError(t, timers.Cancel(w, id))
	}
	body := (&game{t: t, World: w}).saved().AppendSaved(nil)
	require.Less(t, len(body), 100<<10)
	w, _, timers = newWorld()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, (&game{t: t, World: w}).saved().LoadSaved(body))
	runtime.ReadMemStats(&after)
	require.Equal(t, 1, timers.Len())
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "all of them are 64 MB")
}
