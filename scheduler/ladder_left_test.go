package scheduler_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// climber has one system that takes too long while it is heavy.
type climber struct {
	*scheduler.Scheduler
	w     *world.World
	all   *world.Bundle[struct{ Velocity }]
	chat  *world.Func[int]
	trade *world.Func[int]
	heavy bool                   // the goroutine of Run
	tick  func(scheduler.Report) // after a tick
	delta float64                // of a query with Turns
	met   int                    // by a query with Turns of a hook
}

func newClimber(rungs func(x *climber) []scheduler.Rung) *climber {
	x := &climber{w: world.MustNew(world.Options{Shards: 1, TickInterval: 2 * time.Millisecond}), heavy: true}
	vel := world.Register[Velocity](x.w, "velocity")
	x.chat = world.RegisterFunc(x.w, "chat", func(*world.EntityContext, int) {})
	x.trade = world.RegisterFunc(x.w, "trade", func(*world.EntityContext, int) {})
	x.all = world.NewBundle[struct{ Velocity }](x.w)
	x.w.Observe("meet", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		q := b.Query(world.With[Velocity](b), world.Turns(b, 2))
		return func(*world.Context, world.Event, []handle.Handle) { x.met = q.Count() }
	}, vel)
	x.Scheduler = scheduler.New(x.w, scheduler.Options{Workers: 1, Overrun: scheduler.Skip, Ladder: rungs(x),
		OnTick: func(r scheduler.Report) { x.tick(r) }})
	x.MustAdd("work", func(b *world.Build) func(*world.Context) {
		q := b.Query(world.With[Velocity](b), world.Turns(b, world.TurnsMax))
		return func(*world.Context) {
			x.delta = q.Delta()
			if x.heavy {
				time.Sleep(5 * time.Millisecond)
			}
		}
	})
	return x
}

// TestLadderRefusesTwice leaves a rung that refuses what the one below it refuses, too.
func TestLadderRefusesTwice(t *testing.T) {
	x := newClimber(func(x *climber) []scheduler.Rung {
		return []scheduler.Rung{scheduler.Refuse(x.chat), scheduler.Refuse(x.chat, x.trade)}
	})
	h, err := x.all.Create(x.w, struct{ Velocity }{})
	require.NoError(t, err)
	p, err := x.w.OpenPort()
	require.NoError(t, err)
	x.tick = func(r scheduler.Report) {
		switch {
		case r.Rung == 2:
			x.heavy = false
		case r.Rung == 1 && !x.heavy:
			require.ErrorIs(t, x.chat.Call(p, h, 1), world.ErrRefused)
			require.NoError(t, x.trade.Call(p, h, 1))
			x.Stop()
		}
	}
	require.NoError(t, x.Run(t.Context()))
	require.NoError(t, x.chat.Call(p, h, 1))
}

// TestLadderPaused leaves all rungs when Run pauses.
func TestLadderPaused(t *testing.T) {
	x := newClimber(func(x *climber) []scheduler.Rung { return []scheduler.Rung{scheduler.Refuse(x.chat)} })
	h, err := x.all.Create(x.w, struct{ Velocity }{})
	require.NoError(t, err)
	p, err := x.w.OpenPort()
	require.NoError(t, err)
	up := make(chan error, 1)
	x.tick = func(r scheduler.Report) {
		if r.Rung == 1 {
			up <- x.chat.Call(p, h, 1)
			x.Pause()
		}
	}
	over := make(chan error)
	go func() { over <- x.Run(t.Context()) }()
	require.ErrorIs(t, <-up, world.ErrRefused)
	require.Eventually(t, func() bool { return x.chat.Call(p, h, 1) == nil }, 20*time.Second, time.Millisecond)
	x.Stop()
	require.NoError(t, <-over)
}

// TestLadderSingleTicks makes single ticks in a pause that take too long: none of them is on a
// rung, and Run begins at the foot of the ladder when it goes on. A replay sees the same.
func TestLadderSingleTicks(t *testing.T) {
	x := newLaddered(t)
	h, err := x.movers.Create(x.w, Mover{})
	require.NoError(t, err)
	require.NoError(t, x.movers.CreateN(x.w, 199, nil))
	p, err := x.w.OpenPort()
	require.NoError(t, err)
	var log bytes.Buffer
	recorder, err := inputlog.NewRecorder(x.w, &log, inputlog.Options{})
	require.NoError(t, err)
	const singles = 8
	single, skipped, runs, gone := 0, uint64(0), 0, []int(nil)
	x.heavy.Store(true)
	x.tick = func(r scheduler.Report) {
		switch {
		case single == 0 && r.Rung == 4: // the next ticks begin before Run can stand still
			single = 1
			x.Pause()
			for range singles {
				x.StepOnce()
			}
			skipped = r.Skipped
		case 1 <= single && single <= singles:
			require.Zero(t, r.Rung, "single tick %d", single)
			require.Equal(t, skipped, r.Skipped, "single tick %d", single)
			require.Equal(t, runs+1, x.runs, "single tick %d: the optional system", single)
			require.InDelta(t, 100, x.turns, 8, "single tick %d", single)
			require.NoError(t, x.chat.Call(p, h, 1))
			require.NoError(t, x.push.SendShard(p, 0, Push{}))
			if single++; single > singles {
				x.Resume()
			}
		case single > singles:
			if gone = append(gone, r.Rung); r.Rung == 1 {
				x.Stop()
			}
		}
		runs = x.runs
	}
	require.NoError(t, x.Run(t.Context()))
	require.Equal(t, []int{0, 0, 0, 1}, gone)
	p.Close()
	require.NoError(t, recorder.Close())

	y := newLaddered(t)
	_, err = y.movers.Create(y.w, Mover{})
	require.NoError(t, err)
	require.NoError(t, y.movers.CreateN(y.w, 199, nil))
	played, err := inputlog.Open(&log)
	require.NoError(t, err)
	player, err := played.Play(y.w, nil)
	require.NoError(t, err)
	for player.Next() {
		y.step(1)
	}
	require.NoError(t, player.Err())
	require.Equal(t, len(x.seen), len(y.seen))
	for i, r := range x.seen {
		require.Equal(t, r.Rung, y.seen[i].Rung, "tick %d", i)
	}
}

// TestStretchMost stretches the longest turns.
func TestStretchMost(t *testing.T) {
	x := newClimber(func(*climber) []scheduler.Rung { return []scheduler.Rung{scheduler.Stretch(world.TurnsMax)} })
	deltas := map[int]float64{}
	x.tick = func(r scheduler.Report) {
		if deltas[r.Rung] = x.delta; r.Rung == 1 {
			x.Stop()
		}
	}
	require.NoError(t, x.Run(t.Context()))
	require.Equal(t, deltas[0], deltas[1])
}

// TestStretchIsOver has a hook of the idle world meet as many behind a Run that was late as in a
// world that was loaded.
func TestStretchIsOver(t *testing.T) {
	make := func() *climber {
		x := newClimber(func(*climber) []scheduler.Rung { return []scheduler.Rung{scheduler.Stretch(16)} })
		x.tick = func(r scheduler.Report) {
			if r.Rung == 1 {
				x.Stop()
			}
		}
		return x
	}
	x, y := make(), make()
	hs, err := x.all.AppendN(nil, x.w, 1000, nil)
	require.NoError(t, err)
	require.NoError(t, x.Run(t.Context()))
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, x.w, snapshot.Options{Scheduler: x.Scheduler}))
	require.NoError(t, snapshot.Load(&file, y.w, snapshot.Options{Scheduler: y.Scheduler}))
	for _, x := range []*climber{x, y} {
		x.w.Destroy(hs[0])
		x.w.Refresh()
		require.InDelta(t, 500, x.met, 10)
	}
	require.Equal(t, x.met, y.met)
}

// TestClimbs tells each change of the rung, and the last ones of many.
func TestClimbs(t *testing.T) {
	x := newClimber(func(x *climber) []scheduler.Rung {
		return []scheduler.Rung{scheduler.SkipOptional(), scheduler.Refuse(x.chat, x.trade), scheduler.Slow(2)}
	})
	var reports []scheduler.Report
	pauses := scheduler.ClimbsMax/6 + 1 // each ends all rungs
	x.tick = func(r scheduler.Report) {
		reports = append(reports, r)
		switch {
		case x.Paused(): // in its single tick
			x.Resume()
		case r.Rung < 3:
		case pauses == 0:
			x.Stop()
		default:
			pauses--
			x.Pause()
			x.StepOnce()
		}
	}
	var s scheduler.Stats
	x.Scheduler.Stats(&s)
	require.Empty(t, s.Climbs)
	require.NoError(t, x.Run(t.Context()))
	x.Scheduler.Stats(&s)
	require.Zero(t, testing.AllocsPerRun(10, func() { x.Scheduler.Stats(&s) }))
	require.Len(t, s.Climbs, scheduler.ClimbsMax)
	require.Greater(t, s.Climbed, uint64(scheduler.ClimbsMax))
	what := map[int]string{0: "SkipOptional", 1: "Refuse(chat, trade)", 2: "Slow(2)"}
	rung := s.Climbs[0].From
	for i, c := range s.Climbs {
		require.Equal(t, rung, c.From, "%d", i)
		require.Equal(t, 1, max(c.From, c.To)-min(c.From, c.To))
		require.Equal(t, what[min(c.From, c.To)], c.Rung.String())
		require.WithinDuration(t, time.Now(), c.At, time.Minute)
		if int(c.Tick) < len(reports) && (i+1 == len(s.Climbs) || s.Climbs[i+1].Tick > c.Tick) {
			require.Equal(t, c.To, reports[c.Tick].Rung, "tick %d", c.Tick)
		}
		rung = c.To
	}
	require.Zero(t, rung)
}
