package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

var errBroken = errors.New("broken")

// TestPanic lets systems panic on some shards: the tick is completed by all
// others, and the error tells of each, by shard and then by system.
func TestPanic(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			const shards = 5
			f := newFixture(t, shards, workers)
			markers := f.mark()
			f.step(3)
			noLeaks(t)
			ran := make([]int, shards)
			f.MustAdd("first", func(b *world.Build) func(*world.Context) {
				values := world.Write[Value](b)
				return func(c *world.Context) {
					v := values.Get(markers[c.Shard()])
					v.N = 100
					if c.Shard() == 3 || c.Shard() == 1 {
						panic(fmt.Errorf("shard %d: %w", c.Shard(), errBroken))
					}
					v.N = 200
				}
			})
			f.MustAdd("behind a fence", func(b *world.Build) func(*world.Context) {
				values := world.ReadForeign[Value](b)
				return func(c *world.Context) {
					ran[c.Shard()]++
					for shard, h := range markers {
						want := uint64(200)
						if shard == 3 || shard == 1 {
							want = 100 // what it had written stays
						}
						if v, ok := values.Get(h); !ok || v.N != want {
							panic(fmt.Sprintf("shard %d holds %d", shard, v.N))
						}
					}
					if c.Shard() == 3 {
						panic("no error, but text")
					}
				}
			})
			for tick := uint64(3); tick < 5; tick++ {
				err := f.Step(t.Context())
				require.Equal(t, tick+1, f.w.Tick(), "the refresh is done")
				require.ErrorIs(t, err, errBroken)
				var one *world.PanicError
				require.ErrorAs(t, err, &one)
				joined, ok := err.(interface{ Unwrap() []error })
				require.True(t, ok)
				type told struct {
					system string
					shard  int
					tick   uint64
				}
				var got []told
				for _, e := range joined.Unwrap() {
					var se *world.PanicError
					require.ErrorAs(t, e, &se)
					got = append(got, told{se.Name, se.Shard, se.Tick})
					require.Contains(t, string(se.Stack), "panic_test.go")
					require.Contains(t, se.Error(), fmt.Sprintf("system %q panicked on shard %d in tick %d: ", se.Name, se.Shard, se.Tick))
					require.Contains(t, err.Error(), se.Error())
					if se.Name == "first" {
						require.ErrorIs(t, se, errBroken)
						require.Contains(t, se.Error(), fmt.Sprintf("shard %d: broken", se.Shard))
					} else {
						require.NotErrorIs(t, se, errBroken)
						require.Equal(t, "no error, but text", se.Value)
						require.NoError(t, se.Unwrap())
					}
				}
				require.Equal(t, []told{{"first", 1, tick}, {"first", 3, tick}, {"behind a fence", 3, tick}}, got)
			}
			require.Equal(t, []int{2, 2, 2, 2, 2}, ran, "whoever panics goes on in the next tick")
			require.Equal(t, shards, f.w.Count())
		})
	}
}

// TestPanicOfRuntime keeps what the runtime panics with, and misuse of the
// world, as any other.
func TestPanicOfRuntime(t *testing.T) {
	f := newFixture(t, 2, 2)
	f.MustAdd("breaks", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() == 0 {
				var none []int
				none[c.Shard()] = 1
			}
			_, _ = f.movers.Create(c, Mover{})
		}
	})
	err := f.Step(t.Context())
	var re runtime.Error
	require.ErrorAs(t, err, &re)
	require.ErrorContains(t, err, `system "breaks" panicked on shard 0`)
	require.ErrorContains(t, err, `system "breaks" panicked on shard 1`)
	require.ErrorContains(t, err, "call b.Creates in its constructor")
	require.Zero(t, f.w.Count())

	err = f.Step(t.Context())
	require.ErrorAs(t, err, &re, "the next tick tells of its own")
}

// TestPanicHalfway panics in the middle of a loop that creates and destroys: the
// world is whole afterwards.
func TestPanicHalfway(t *testing.T) {
	f := newFixture(t, 4, 2)
	require.NoError(t, f.movers.CreateN(f.w, 4000, nil))
	f.MustAdd("halfway", func(b *world.Build) func(*world.Context) {
		b.Creates(f.movers)
		all := b.Query(world.Read[Position](b))
		return func(c *world.Context) {
			n := 0
			for ch := range all.Chunks() {
				for _, h := range ch.Handles() {
					if n++; n == 500 {
						panic("halfway")
					}
					if c.Destroy(h) != nil || f.movers.CreateN(c, 2, nil) != nil {
						panic("refused")
					}
				}
			}
		}
	})
	require.ErrorContains(t, f.Step(t.Context()), "halfway")
	require.Equal(t, 4000+4*499, f.w.Count())
	var s world.Stats
	f.w.Stats(&s)
	require.Equal(t, uint64(4*499), s.Destroyed)
	require.ErrorContains(t, f.Step(t.Context()), "halfway")
	require.Equal(t, 4000+8*499, f.w.Count())
	n := 0
	for ch := range f.w.Query().Chunks() {
		for _, h := range ch.Handles() {
			require.True(t, f.w.Alive(h))
			n++
		}
	}
	require.Equal(t, f.w.Count(), n)
}

// TestPanicOfAConstructor lets a constructor panic: the panic names the system and the shard,
// and wraps an error. The scheduler is as it was.
func TestPanicOfAConstructor(t *testing.T) {
	f := newFixture(t, 2, 1)
	add := func(v any, options ...scheduler.Option) (recovered any) {
		defer func() { recovered = recover() }()
		_ = f.Add("unlucky", func(b *world.Build) func(*world.Context) {
			if b.Shard() != 0 {
				panic(v)
			}
			return func(*world.Context) {}
		}, options...)
		return nil
	}
	require.Equal(t, `scheduler: the constructor of system "unlucky" panicked on shard 1: bad luck`, add("bad luck"))
	require.Equal(t, `scheduler: the constructor of system "unlucky" panicked: 13`, add(13, scheduler.Global()))
	err, ok := add(errBroken).(error)
	require.True(t, ok)
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, `the constructor of system "unlucky" panicked on shard 1: broken`)
	defer func() {
		require.Contains(t, recover(), `the constructor of system "unasked" panicked on shard 0: world: `)
	}()
	require.Empty(t, f.Systems())
	f.step(1)
	f.MustAdd("unasked", func(*world.Build) func(*world.Context) { panic("world: something") })
}

// TestNilNamed passes nil wherever a user can: the panic names the call.
func TestNilNamed(t *testing.T) {
	f := newFixture(t, 1, 1)
	var none context.Context
	for call, run := range map[string]func(){
		"scheduler.New":   func() { scheduler.New(nil, scheduler.Options{}) },
		"Scheduler.Step":  func() { _ = f.Step(none) },
		"Scheduler.Run":   func() { _ = f.Run(none) },
		"Scheduler.Stats": func() { f.Stats(nil) },
		"a nil Option":    func() { _ = f.Add("x", idle, nil) },
	} {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), call) }()
			run()
		}()
	}
	require.ErrorContains(t, f.Add("x", nil), "needs a name and a constructor")
	f.step(1)
}
