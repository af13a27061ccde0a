package worldtest_test

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/worldtest"
)

// Score is a component of the tests.
type Score struct{ Points int64 }

type player struct {
	Age
	Score
}

type bonus struct{ Points int64 }

// village is a world whose players age, score, are born and die, and that has a fault, or none.
type village struct {
	w       *world.World
	s       *scheduler.Scheduler
	players *world.Bundle[player]
	later   *timer.Timers[bonus]
	give    *world.Transaction[bonus, int]
	known   []handle.Handle
	dice    *rand.Rand
	options durable.Options
}

// fault returns what a system of a shard adds to each score.
type fault func(b *world.Build) func(c *world.Context, at int) int64

func newVillage(o scheduler.Options, wrong fault) *village {
	v := &village{w: world.MustNew(world.Options{Shards: 4, Seed: 9}), dice: rand.New(rand.NewPCG(1, 2))}
	world.Register[Age](v.w, "age")
	world.Register[Score](v.w, "score")
	bonuses := world.RegisterMessage[bonus](v.w, "bonus")
	v.players = world.NewBundle[player](v.w)
	v.later = timer.New(v.w, "later", bonuses, timer.Options{})
	v.give = world.RegisterTransaction(v.w, "give", func(tx *world.Tx, x bonus) (int, error) {
		h, err := v.players.Create(tx, player{Score: Score{x.Points}})
		return int(h.Index()), err
	})
	v.s = scheduler.New(v.w, o).MustAdd("live", v.live).MustAdd("wrong", func(b *world.Build) func(*world.Context) {
		scores := world.Write[Score](b)
		all, received := b.Query(scores), world.Receive[bonus](b)
		add := wrong(b)
		return func(c *world.Context) {
			for _, e := range received.All() {
				if s := scores.Get(e.To); s != nil {
					s.Points += e.Body.Points
				}
			}
			at := 0
			for ch := range all.Chunks() {
				for i := range scores.Slice(ch) {
					scores.Slice(ch)[i].Points += add(c, at)
					at++
				}
			}
		}
	})
	v.options.New = func(w *world.World) error {
		return v.players.CreateN(w, 40, func(i int, p *player) { p.Age.Ticks = -i })
	}
	return v
}

// live ages everybody. The old die, and have children.
func (v *village) live(b *world.Build) func(*world.Context) {
	ages := world.Write[Age](b)
	all := b.Query(ages)
	b.Creates(v.players)
	return func(c *world.Context) {
		for ch := range all.Chunks() {
			for i, h := range ch.Handles() {
				if ages.Slice(ch)[i].Ticks++; ages.Slice(ch)[i].Ticks == 30 {
					_ = c.Destroy(h)
					_, _ = v.players.Create(c, player{Age{c.Rand().IntN(9)}, Score{}})
				}
			}
		}
	}
}

// play is the script.
func (v *village) play(tick uint64, port *world.Port) {
	h, _ := v.players.Create(port, player{Score: Score{int64(tick)}})
	v.known = append(v.known, h)
	old := v.known[v.dice.IntN(len(v.known))]
	_, _ = v.later.After(port, old, 5, bonus{7})
	_ = v.give.Call(port, bonus{3})
	if tick%5 == 0 {
		_ = port.Destroy(old)
	}
}

func (v *village) game() worldtest.Game {
	return worldtest.Game{Scheduler: v.s, Options: v.options, Script: v.play}
}

// runs counts what a package keeps, from run to run.
var runs atomic.Int64

// faults are what Same must find: in which run, and by which words. None: it passes.
var faults = []struct {
	name   string
	of     func() fault // for each world that is made
	in     []string
	change func(*village)
}{
	{name: "none", of: func() fault {
		return each(func(c *world.Context, at int) int64 { return c.Rand().Int64N(9) + int64(at) + int64(c.Tick()) })
	}},
	{name: "none, sealed", of: func() fault { return each(func(c *world.Context, _ int) int64 { return c.Rand().Int64N(9) }) },
		change: func(v *village) { v.options.Sync = true }},
	{name: "clock", in: []string{"its inputs are played again", "score", "the clock"}, of: func() fault {
		return each(func(*world.Context, int) int64 { return time.Now().UnixNano() })
	}},
	{name: "clock, sealed", in: []string{"its inputs are played again", "score", "the clock"}, of: func() fault {
		return each(func(*world.Context, int) int64 { return time.Now().UnixNano() })
	}, change: func(v *village) { v.options.Sync = true }},
	{name: "random", in: []string{"its inputs are played again", "Context.Rand"}, of: func() fault {
		return each(func(*world.Context, int) int64 { return rand.Int64N(1000) })
	}},
	{name: "map", in: []string{"a loop over a map"}, of: func() fault {
		loot := map[string]int64{"sword": 1, "bow": 2, "axe": 3, "rope": 4}
		return each(func(_ *world.Context, at int) (last int64) {
			for _, last = range loot {
			}
			return last
		})
	}},
	{name: "package variable", in: []string{"its inputs are played again", "a variable"}, of: func() fault {
		return each(func(*world.Context, int) int64 { return runs.Add(1) })
	}},
	{name: "goroutines", in: []string{"goroutines"}, of: func() fault {
		return each(func(_ *world.Context, at int) (order int64) {
			var mu sync.Mutex
			var done sync.WaitGroup
			for i := range int64(3) {
				done.Go(func() {
					time.Sleep(time.Microsecond)
					mu.Lock()
					defer mu.Unlock()
					order = order*4 + i
				})
			}
			done.Wait()
			return order
		})
	}},
	{name: "shards share a variable", in: []string{"several workers run it", "share something outside the world"}, of: func() fault {
		turn := new(atomic.Int64)
		return each(func(_ *world.Context, at int) int64 { return turn.Add(1) })
	}},
	{name: "lost by a restart", in: []string{"loaded into another world", "state outside the world that a restart loses"}, of: func() fault {
		return func(*world.Build) func(*world.Context, int) int64 {
			ticks := int64(0)
			return func(_ *world.Context, at int) int64 {
				if at == 0 {
					ticks++
				}
				return ticks
			}
		}
	}},
	{name: "filled in another way", in: []string{"its inputs are played again", "where the log begins", "score"}, of: func() fault { return each(func(*world.Context, int) int64 { return 0 }) },
		change: func(v *village) {
			v.options.New = func(w *world.World) error {
				_, err := v.players.Create(w, player{Score: Score{time.Now().UnixNano()}})
				return err
			}
		}},
	{name: "the idle world is changed", in: []string{"Script has changed the idle world"}, of: func() fault { return each(func(*world.Context, int) int64 { return 0 }) },
		change: func(v *village) { v.dice = nil }},
	{name: "other options", in: []string{"pass the options that make is given"}, of: func() fault { return each(func(*world.Context, int) int64 { return 0 }) },
		change: func(v *village) { v.s = scheduler.New(v.w, scheduler.Options{Workers: 3}) }},
}

// each is a fault that all shards have in common.
func each(f func(*world.Context, int) int64) fault {
	return func(*world.Build) func(*world.Context, int) int64 { return f }
}

// TestSame plants each fault in a world: Same finds it and says where, and what it may be.
func TestSame(t *testing.T) {
	for _, test := range faults {
		t.Run(test.name, func(t *testing.T) {
			noLeaks(t)
			f := &told{TB: t}
			same := func() {
				worldtest.Same(f, 45, func(o scheduler.Options) worldtest.Game {
					v := newVillage(o, test.of())
					if test.change != nil {
						test.change(v)
					}
					g := v.game()
					if v.dice == nil {
						g.Script = func(uint64, *world.Port) { _, _ = v.players.Create(v.w, player{}) }
					}
					return g
				})
			}
			if test.in == nil {
				same()
				return
			}
			require.PanicsWithValue(t, f, same)
			for _, part := range test.in {
				require.Contains(t, f.text, part)
			}
			t.Log(f.text)
		})
	}
}

// TestSameExtra keeps a count beside the world: what is saved with it is no fault, but one that
// is not the same is.
func TestSameExtra(t *testing.T) {
	for _, saved := range []bool{true, false} {
		f := &told{TB: t}
		same := func() {
			worldtest.Same(f, 30, func(o scheduler.Options) worldtest.Game {
				count := int64(0)
				v := newVillage(o, each(func(*world.Context, int) int64 { return 1 }))
				v.s.MustAdd("count", func(*world.Build) func(*world.Context) { return func(*world.Context) { count++ } }, scheduler.Global())
				v.options.Snapshot.Extras = []snapshot.Extra{{
					Name:   "count",
					Append: func(dst []byte) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(count)) },
					Read: func(src []byte) error {
						if saved {
							count = int64(binary.LittleEndian.Uint64(src))
						}
						return nil
					},
				}}
				return v.game()
			})
		}
		if saved {
			same()
			continue
		}
		require.PanicsWithValue(t, f, same)
		require.Contains(t, f.text, "extra count")
		require.Contains(t, f.text, "loaded into another world")
	}
}

// TestSamePanics reports a system that panics, with its stack.
func TestSamePanics(t *testing.T) {
	f := &told{TB: t}
	require.PanicsWithValue(t, f, func() {
		worldtest.Same(f, 9, func(o scheduler.Options) worldtest.Game {
			return newVillage(o, each(func(*world.Context, int) int64 { panic("too much") })).game()
		})
	})
	require.Contains(t, f.text, "too much")
	require.Contains(t, f.text, "same_test.go")
}
