package scheduler_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// hostile is an extension and a Recorder that fails in one of its methods.
type hostile struct {
	in   string
	fail func()
}

func (hostile) Name() string { return "hostile" }

func (x hostile) try(method string) {
	if x.in == method {
		x.fail()
	}
}

func (x hostile) Begin()                                    { x.try("Begin") }
func (x hostile) Spare(*extend.DyingSet) bool               { x.try("Spare"); return false }
func (x hostile) Spread(*extend.DyingSet, int)              { x.try("Spread") }
func (x hostile) Settle()                                   { x.try("Settle") }
func (x hostile) Requests(int, int, []queue.PendingRequest) { x.try("Requests") }
func (x hostile) End(*extend.Inputs)                        { x.try("End") }
func (x hostile) Settled()                                  { x.try("Settled") }
func (x hostile) Failed(error)                              {}

// fails are the ways in which code of the user's does not return.
var fails = map[string]func(){"panics": func() { panic(errBroken) }, "exits": runtime.Goexit}

// stepAlone makes a tick on a goroutine of its own, which the tick may end: then there is no
// error.
func stepAlone(t *testing.T, s *scheduler.Scheduler) (err error) {
	var done sync.WaitGroup
	done.Go(func() { err = s.Step(t.Context()) })
	done.Wait()
	return err
}

// TestStepBreaks has an extension fail in a tick with several workers: Step returns what broke
// the world, beside the panics of systems, and so does every later one; no goroutine is left.
func TestStepBreaks(t *testing.T) {
	noLeaks(t)
	for how, fail := range fails {
		for _, in := range []string{"Begin", "Spare", "Spread", "Settle"} {
			for _, workers := range []int{1, 3} {
				t.Run(in+" "+how, func(t *testing.T) {
					f := newFixture(t, 6, workers)
					require.NoError(t, f.movers.CreateN(f.w, 10_000, nil))
					errSystem := errors.New("of a system")
					f.MustAdd("destroys", func(b *world.Build) func(*world.Context) {
						all := b.Query(world.Read[Position](b))
						return func(c *world.Context) {
							for ch := range all.Chunks() {
								for _, h := range ch.Handles() {
									_ = c.Destroy(h)
								}
							}
							panic(errSystem)
						}
					})
					engine.Of(f.w).Extend(hostile{in, fail})
					err := stepAlone(t, f.Scheduler)
					if how == "panics" {
						require.ErrorIs(t, err, world.ErrBroken)
						require.ErrorIs(t, err, errBroken)
						require.Equal(t, in != "Begin", errors.Is(err, errSystem))
					}
					require.ErrorIs(t, f.w.Err(), world.ErrBroken)
					require.ErrorIs(t, f.Step(t.Context()), world.ErrBroken)
					require.ErrorIs(t, f.Run(t.Context()), world.ErrBroken)
					require.ErrorIs(t, f.Add("late", func(*world.Build) func(*world.Context) { return func(*world.Context) {} }), world.ErrBroken)
					f.w.Close()
				})
			}
		}
	}
}

// TestStepRecorderFails has a Recorder fail beside workers: the tick is completed, Step
// says so once, and the world goes on.
func TestStepRecorderFails(t *testing.T) {
	for how, fail := range fails {
		for _, in := range []string{"Begin", "Requests", "End", "Settled"} {
			t.Run(in+" "+how, func(t *testing.T) {
				f := newFixture(t, 6, 3)
				all, err := f.movers.AppendN(nil, f.w, 5_000, nil)
				require.NoError(t, err)
				require.NoError(t, engine.Of(f.w).RecordInputs(hostile{in, fail}, nil))
				for range 3 {
					p, err := f.w.OpenPort()
					require.NoError(t, err)
					for _, h := range all[:1000] {
						require.NoError(t, p.Destroy(h))
					}
				}
				err = f.Step(t.Context())
				failed := new(world.PanicError)
				require.ErrorAs(t, err, &failed)
				require.Equal(t, in, failed.Name)
				require.Equal(t, how == "panics", errors.Is(err, errBroken))
				require.Equal(t, 4000, f.w.Count())
				require.NoError(t, f.Step(t.Context()))
			})
		}
	}
}

// failing is a Balancer that fails.
type failing func()

func (f failing) Balance(_ uint64, _ []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
	f()
	return dst
}

// TestBalancerExits has a Balancer end the goroutine of Step: the tick is completed.
func TestBalancerExits(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 2}, scheduler.Options{Workers: 2, Balancer: failing(runtime.Goexit), IfPanics: scheduler.DisableSystem})
	require.NoError(t, stepAlone(t, f.Scheduler), "it did not return")
	require.Equal(t, uint64(1), f.w.Tick())
	require.NoError(t, f.Step(t.Context()), "it is disabled")
	require.Equal(t, uint64(2), f.w.Tick())
}
