package scheduler_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// laddered is a world whose ticks take as long as the test says.
type laddered struct {
	*fixture
	heavy atomic.Bool
	runs  int // of the optional system
	turns int // entities that had their turn
	seen  []scheduler.Report
	tick  func(r scheduler.Report)
	chat  *world.Func[int]
}

const ladderTick = 2 * time.Millisecond

func newLaddered(t *testing.T) *laddered {
	x := &laddered{}
	w := world.MustNew(world.Options{Shards: 1, TickInterval: ladderTick})
	x.chat = world.RegisterFunc(w, "chat", func(*world.EntityContext, int) {})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	x.fixture = &fixture{t: t, w: w, movers: world.NewBundle[Mover](w), push: world.RegisterMessage[Push](w, "push")}
	x.Scheduler = scheduler.New(w, scheduler.Options{
		Workers: 1, Overrun: scheduler.Skip,
		Ladder: []scheduler.Rung{scheduler.SkipOptional(), scheduler.Stretch(4), scheduler.Refuse(x.chat, x.push), scheduler.Slow(8)},
		OnTick: func(r scheduler.Report) {
			x.seen = append(x.seen, r)
			if x.tick != nil {
				x.tick(r)
			}
		},
	})
	x.MustAdd("work", func(*world.Build) func(*world.Context) {
		return func(*world.Context) {
			if x.heavy.Load() {
				time.Sleep(3 * ladderTick)
			}
		}
	})
	x.MustAdd("weather", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { x.runs++ }
	}, scheduler.Optional())
	x.MustAdd("think", func(b *world.Build) func(*world.Context) {
		vel := world.Write[Velocity](b)
		q := b.Query(vel, world.Turns(b, 2))
		return func(*world.Context) {
			x.turns = q.Count()
			for ch := range q.Chunks() {
				for i := range vel.Slice(ch) {
					vel.Slice(ch)[i].X += q.Delta()
				}
			}
		}
	})
	return x
}

// TestLadder goes up while ticks take too long, and down when they do not, and a replay on Step
// goes the same way.
func TestLadder(t *testing.T) {
	x := newLaddered(t)
	h, err := x.movers.Create(x.w, Mover{})
	require.NoError(t, err)
	require.NoError(t, x.movers.CreateN(x.w, 199, nil))
	p, err := x.w.OpenPort()
	require.NoError(t, err)
	var log bytes.Buffer
	recorder, err := inputlog.NewRecorder(x.w, &log, inputlog.Options{NoHash: true})
	require.NoError(t, err)
	hasher := state.NewHasher(x.w, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	turns := map[int]int{}
	refused := map[int]bool{}
	down := 0
	x.heavy.Store(true)
	runs := 0
	x.tick = func(r scheduler.Report) {
		require.NoError(t, recorder.Hash(hasher))
		turns[r.Rung] = x.turns
		if r.Rung > 0 {
			require.Equal(t, runs, x.runs, "rung %d", r.Rung)
		}
		runs = x.runs
		if err := x.chat.Call(p, h, 1); err != nil {
			require.ErrorIs(t, err, world.ErrRefused)
			require.ErrorIs(t, x.push.SendShard(p, 0, Push{}), world.ErrRefused)
			refused[r.Rung] = true
		}
		switch {
		case r.Rung == 4 && x.heavy.Load():
			x.heavy.Store(false)
		case !x.heavy.Load() && r.Rung < 4:
			if down++; down > 10 {
				stop()
			}
		}
	}
	require.NoError(t, x.Run(ctx))
	require.Equal(t, map[int]bool{3: true, 4: true}, refused)
	require.InDelta(t, 100, turns[1], 8)
	require.InDelta(t, 25, turns[2], 8)
	require.InDelta(t, 25, turns[4], 8)
	require.NoError(t, x.chat.Call(p, h, 1), "a Run that is over refuses nothing")
	p.Close()
	require.NoError(t, recorder.Close())
	rungs := make([]int, 0, len(x.seen))
	for i, r := range x.seen {
		rungs = append(rungs, r.Rung)
		if i > 0 {
			require.LessOrEqual(t, max(r.Rung, rungs[i-1])-min(r.Rung, rungs[i-1]), 1)
		}
	}

	y := newLaddered(t)
	_, err = y.movers.Create(y.w, Mover{})
	require.NoError(t, err)
	require.NoError(t, y.movers.CreateN(y.w, 199, nil))
	played, err := inputlog.Open(&log)
	require.NoError(t, err)
	player, err := played.Play(y.w, nil)
	require.NoError(t, err)
	again := state.NewHasher(y.w, nil)
	for player.Next() {
		y.step(1)
		_, err := player.Verify(again)
		require.NoError(t, err)
	}
	require.NoError(t, player.Err())
	for i, r := range y.seen {
		require.Equal(t, rungs[i], r.Rung, "tick %d", i)
	}
}

// TestLadderMisuse panics with what is wrong.
func TestLadderMisuse(t *testing.T) {
	w, other := world.MustNew(world.Options{}), world.MustNew(world.Options{})
	foreign := world.RegisterMessage[Push](other, "push")
	for what, ladder := range map[string][]scheduler.Rung{
		"scheduler: Ladder, rung 0: it is a zero Rung; use SkipOptional, Stretch, Refuse or Slow":           {{}},
		"scheduler: Ladder, rung 1: Stretch(3); want a power of two, from 2 to 65536":                       {scheduler.SkipOptional(), scheduler.Stretch(3)},
		"scheduler: Ladder, rung 0: Slow(1); want something to refuse, or to go 2 to 1024 times slower":     {scheduler.Slow(1)},
		"scheduler: Ladder, rung 0: Refuse of 0; want something to refuse, or to go 2 to 1024 times slower": {scheduler.Refuse()},
		"scheduler: Ladder, rung 0: Refuse of 1 has a nil request; pass what Register returned":             {scheduler.Refuse(nil)},
		"scheduler: Ladder, rung 0: Refuse of 1: \"push\" belongs to another world":                         {scheduler.Refuse(foreign)},
		"scheduler: Ladder has 64 rungs, want 63 or fewer":                                                  make([]scheduler.Rung, 64),
	} {
		require.PanicsWithValue(t, what, func() { scheduler.New(w, scheduler.Options{Ladder: ladder}) })
	}
}
