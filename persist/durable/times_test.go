package durable_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Seen is when a client was last seen.
	Seen struct {
		Last  time.Time
		In    [2]struct{ At time.Time }
		Idle  time.Duration
		Clock int // how many times with a monotonic reading were found: a log has none
	}
	// More is added.
	More struct{ At time.Time }

	ping    struct{ At [1]time.Time }
	visitor struct{ Seen }
	both    struct {
		Seen
		More
	}
)

// clocks is a world that gets times.
type clocks struct {
	*world.World
	s      *scheduler.Scheduler
	seen   *world.Component[Seen]
	more   *world.Component[More]
	client *world.Bundle[visitor]
	both   *world.Bundle[both]
	ping   *world.Message[ping]
	touch  *world.Func[time.Time]
	since  *world.Question[time.Time, time.Duration]
	timers *timer.Timers[ping]
	call   *async.Call[int, time.Time]
	fetch  *world.Func[int]
	kind   *prefab.Prefab
	stored *world.Resource[More]
	codecs *state.Codecs
	began  time.Time // with a monotonic reading, the same in a replay
	h      handle.Handle
}

// clock is 1 if a time has a monotonic reading.
func clock(at time.Time) int { return strings.Count(at.String(), "m=") }

func (s *Seen) touch(at time.Time) {
	s.Idle, s.Last = at.Sub(s.Last), at
	s.Clock += clock(at)
}

var processBegan = time.Now()

func newClocks(t *testing.T) *clocks {
	w := world.MustNew(world.Options{Shards: 2, VersionsEach: 1000})
	x := &clocks{World: w, seen: world.Register[Seen](w, "seen"), more: world.Register[More](w, "more"), codecs: new(state.Codecs), began: processBegan}
	x.client, x.both = world.NewBundle[visitor](w), world.NewBundle[both](w)
	x.ping = world.RegisterMessage[ping](w, "ping")
	x.stored = world.RegisterResource[More](w, "stored", More{})
	x.touch = world.RegisterFunc(w, "touch", func(self *world.EntityContext, at time.Time) { x.seen.Write(self).touch(at) })
	x.since = world.RegisterQuestion(w, "since", func(self *world.EntityContext, at time.Time) time.Duration {
		x.seen.Write(self).touch(at)
		return x.seen.Read(self).Idle
	})
	x.timers = timer.New(w, "pings", x.ping, timer.Options{})
	done := world.RegisterMessage[async.Result[time.Time]](w, "done")
	x.call = async.New(w, "now", done, func(context.Context, int) (time.Time, error) { return time.Now(), nil }, async.Options{})
	x.fetch = world.RegisterFunc(w, "fetch", func(self *world.EntityContext, n int) { _, _ = x.call.Go(self, self.Handle(), n) })
	x.kind = prefab.New(w, "kind", prefab.With(x.seen, Seen{Last: x.began}))
	x.s = scheduler.New(w, scheduler.Options{Workers: 2})
	x.s.MustAdd("see", func(b *world.Build) func(*world.Context) {
		seen, pings, dones, stored := world.Write[Seen](b), world.Receive[ping](b), world.Receive[async.Result[time.Time]](b), world.ReadResource[More](b)
		all, more := b.Query(seen), world.Read[More](b)
		return func(c *world.Context) {
			for _, m := range pings.All() {
				seen.Get(m.To).touch(m.Body.At[0])
			}
			for _, m := range dones.All() {
				if m.Body.Status == async.Done {
					seen.Get(m.To).touch(m.Body.Value)
				}
			}
			for h, l := range all.Entities() {
				s := seen.At(l)
				s.Clock += clock(s.Last) + clock(s.In[1].At) + clock(stored.Get().At)
				if m := more.Get(h); m != nil {
					s.Clock += clock(m.At)
				}
				if c.Tick()%4 == 0 {
					_ = x.seen.Set(c, h, Seen{Last: x.began, Clock: s.Clock})
				}
				if c.Tick()%4 == 1 {
					_ = x.ping.Send(c, h, ping{[1]time.Time{x.began}})
					_, _ = x.timers.After(c, h, 2, ping{[1]time.Time{x.began}})
				}
			}
		}
	})
	return x
}

// fill is what the idle world does before the first tick.
func (x *clocks) fill(t *testing.T) {
	var err error
	now := func() time.Time { return x.began } // the same in a replay
	x.h, err = x.client.Create(x.World, visitor{Seen{Last: now()}})
	require.NoError(t, err)
	require.NoError(t, x.client.CreateN(x.World, 3, func(_ int, v *visitor) { v.Last = now() }))
	require.NoError(t, x.seen.Set(x.World, x.h, Seen{Last: now()}))
	require.NoError(t, x.more.Add(x.World, x.h, More{now()}))
	require.NoError(t, x.both.Set(x.World, x.h, both{Seen{Last: now()}, More{now()}}))
	require.NoError(t, x.both.Add(x.World, x.h, both{Seen{Last: now()}, More{now()}}))
	require.NoError(t, x.touch.Call(x.World, x.h, now()))
	require.NoError(t, x.ping.Send(x.World, x.h, ping{[1]time.Time{now()}}))
	_, err = x.timers.After(x.World, x.h, 2, ping{[1]time.Time{now()}})
	require.NoError(t, err)
	_, err = x.kind.Create(x.World)
	require.NoError(t, err)
	x.stored.Set(More{now()})
}

// timed are the requests of a port that carry a time.
var timed = map[string]func(x *clocks, p *world.Port, at time.Time) error{
	"Create": func(x *clocks, p *world.Port, at time.Time) error {
		_, err := x.client.Create(p, visitor{Seen{Last: at, In: [2]struct{ At time.Time }{{at}, {at}}}})
		return err
	},
	"CreateN": func(x *clocks, p *world.Port, at time.Time) error {
		return x.client.CreateN(p, 5, func(_ int, v *visitor) { v.Last = at })
	},
	"AppendN": func(x *clocks, p *world.Port, at time.Time) error {
		_, err := x.client.AppendN(nil, p, 1, func(_ int, v *visitor) { v.Last = at })
		return err
	},
	"Set": func(x *clocks, p *world.Port, at time.Time) error { return x.seen.Set(p, x.h, Seen{Last: at}) },
	"SetN": func(x *clocks, p *world.Port, at time.Time) error {
		return x.seen.SetN(p, []handle.Handle{x.h, x.h}, []Seen{{}, {In: [2]struct{ At time.Time }{{}, {at}}}})
	},
	"Add": func(x *clocks, p *world.Port, at time.Time) error { return x.more.Add(p, x.h, More{at}) },
	"Bundle.Set": func(x *clocks, p *world.Port, at time.Time) error {
		return x.client.Set(p, x.h, visitor{Seen{Last: at}})
	},
	"Bundle.Add": func(x *clocks, p *world.Port, at time.Time) error {
		return x.both.Add(p, x.h, both{Seen{Last: at}, More{at}})
	},
	"Send": func(x *clocks, p *world.Port, at time.Time) error { return x.ping.Send(p, x.h, ping{[1]time.Time{at}}) },
	"Call": func(x *clocks, p *world.Port, at time.Time) error { return x.touch.Call(p, x.h, at) },
	"Question": func(x *clocks, p *world.Port, at time.Time) error {
		return x.since.Ask(p, x.h, at, new(world.Answer[time.Duration]))
	},
	"timer": func(x *clocks, p *world.Port, at time.Time) error {
		_, err := x.timers.After(p, x.h, 1, ping{[1]time.Time{at}})
		return err
	},
	"async": func(x *clocks, p *world.Port, at time.Time) error { return x.fetch.Call(p, x.h, 1) },
	"prefab": func(x *clocks, p *world.Port, at time.Time) error {
		_, err := x.kind.Create(p, prefab.With(x.seen, Seen{Last: at}))
		return err
	},
	"Batch": func(x *clocks, p *world.Port, at time.Time) error {
		return p.Batch(func() error { return x.touch.Call(p, x.h, at) })
	},
}

// play sends requests in some ticks, and returns how many times with a reading were found.
func (x *clocks) play(t *testing.T, tick func(), send func(x *clocks, p *world.Port, at time.Time) error) (found int) {
	p, err := x.OpenPort()
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, send(x, p, time.Now()))
		tick()
		time.Sleep(100 * time.Microsecond) // for results of the Pool
	}
	p.Close()
	tick()
	tick()
	return x.found()
}

func (x *clocks) found() (n int) {
	seen := world.Read[Seen](x.World)
	for h := range x.Query(seen).Entities() {
		n += seen.Get(h).Clock
	}
	return n
}

// idle returns what the entities have, in order.
func (x *clocks) idle() (all []int64) {
	seen := world.Read[Seen](x.World)
	for h := range x.Query(seen).Entities() {
		s := seen.Get(h)
		all = append(all, int64(h), s.Last.UnixNano(), int64(s.Idle))
	}
	return all
}

// TestTimesInLog sends times with the reading of the monotonic clock, which no log has: a function
// does not see it, so that a replay computes the same.
func TestTimesInLog(t *testing.T) {
	for name, send := range timed {
		t.Run(name, func(t *testing.T) {
			x := newClocks(t)
			x.fill(t)
			var log bytes.Buffer
			r, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{Codecs: x.codecs})
			require.NoError(t, err)
			pool, err := async.Attach(x.World, async.PoolOptions{Workers: 2})
			require.NoError(t, err)
			hasher := state.NewHasher(x.World, x.codecs)
			require.Zero(t, x.play(t, func() {
				require.NoError(t, x.s.Step(t.Context()))
				require.NoError(t, r.Hash(hasher))
			}, send))
			require.NoError(t, pool.Close(t.Context()))
			require.NoError(t, r.Close())

			again := newClocks(t)
			again.fill(t)
			in, err := inputlog.Open(&log)
			require.NoError(t, err)
			player, err := in.Play(again.World, again.codecs)
			require.NoError(t, err)
			hasher = state.NewHasher(again.World, again.codecs)
			for player.Next() {
				require.NoError(t, again.s.Step(t.Context()))
				_, err := player.Verify(hasher)
				require.NoError(t, err)
			}
			require.NoError(t, player.Err())
			require.Equal(t, x.Tick(), again.Tick())
		})
	}
}

// TestTimesAfterCrash sends the same, and changes the idle world, before a crash.
func TestTimesAfterCrash(t *testing.T) {
	for name, send := range timed {
		t.Run(name, func(t *testing.T) {
			path, crash := t.TempDir(), t.TempDir()
			x := newClocks(t)
			x.s.Between(func(*world.World) { _ = x.seen.Set(x.World, x.h, Seen{Last: time.Now()}) })
			store, err := durable.Open(t.Context(), path, x.World, x.s, durable.Options{
				New: func(*world.World) error { x.fill(t); return nil }, Snapshot: snapshot.Options{Codecs: x.codecs},
			})
			require.NoError(t, err)
			pool, err := async.Attach(x.World, async.PoolOptions{Workers: 2})
			require.NoError(t, err)
			require.Zero(t, x.play(t, func() { require.NoError(t, x.s.Step(t.Context())) }, send))
			require.NoError(t, store.Wait(t.Context()))
			require.NoError(t, os.CopyFS(crash, os.DirFS(path)))

			again := newClocks(t)
			next, err := durable.Open(t.Context(), crash, again.World, again.s, durable.Options{Snapshot: snapshot.Options{Codecs: again.codecs}})
			require.NoError(t, err)
			require.Equal(t, x.Tick(), again.Tick())
			require.Equal(t, x.idle(), again.idle())
			require.NoError(t, next.Close())
			require.NoError(t, pool.Close(t.Context()))
			require.NoError(t, store.Close())
		})
	}
}
