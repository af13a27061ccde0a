package inputlog_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// guesser is a world whose systems, functions and hooks look at handles that a client has guessed,
// while ports draw. All that they see goes into the body of the one unit.
type guesser struct {
	*world.World
	s      *scheduler.Scheduler
	hasher *state.Hasher
	body   *world.Component[Body]
	unit   handle.Handle
	plain  *world.Bundle[Plain]
	look   *world.Func[int]
	during func() // runs while systems do; nil in a replay
	seen   string // the statuses that the system saw
}

// guesses are handles of ports: in pages that are there from the first draw on, and in pages that
// come later; never used ones, and next ones.
func guesses() (all []handle.Handle) {
	for _, i := range []uint32{0, 3, 15, 16, 40, 1000, 1023, 1024, 1500, 2047, 2048, 3000, 5000, 20_000, 1 << 16} {
		all = append(all, handle.New(2, i, 1), handle.New(2, i, 2), handle.New(2, i, 3), handle.New(1, i+100, 1))
	}
	return all
}

func newGuesser(t testing.TB, workers int) *guesser {
	x := emptyGuesser(t, workers)
	var err error
	x.unit, err = x.plain.Create(x.World, Plain{})
	require.NoError(t, err)
	return x
}

// emptyGuesser makes one in which nothing was created.
func emptyGuesser(t testing.TB, workers int) *guesser {
	w := world.MustNew(world.Options{Shards: 2, IndexMax: 1 << 16})
	x := &guesser{World: w, body: world.Register[Body](w, "body")}
	x.plain = world.NewBundle[Plain](w)
	x.look = world.RegisterFunc(w, "look", func(self *world.EntityContext, salt int) {
		p := x.body.Write(self)
		for _, h := range guesses() {
			o := reference.Own(self, h, nil)
			weak := reference.To(self, h)
			p.Sum = p.Sum*31 + uint64(self.Status(h))*8 + uint64(o.Shares())*2 + is(weak.Destroy()) + uint64(salt)
			o.Release()
		}
	})
	x.s = scheduler.New(w, scheduler.Options{Workers: workers})
	x.s.MustAdd("look", func(b *world.Build) func(*world.Context) {
		body := world.Write[Body](b)
		all := b.Query(body)
		return func(c *world.Context) {
			if c.Shard() != int(x.unit.Home()) {
				return
			}
			switch { // ports draw before it looks, or afterwards
			case x.during == nil:
			case c.Tick()%2 == 0:
				x.during()
			default:
				defer x.during()
			}
			x.seen = ""
			for _, h := range guesses() {
				var text reference.Weak
				require.NoError(t, text.UnmarshalText([]byte(h.String())))
				o, weak := reference.Own(c, h, nil), reference.To(c, h)
				bound := text.Bind(c)
				status := c.Status(h)
				x.seen += fmt.Sprintln(h, status)
				for ch := range all.Chunks() {
					for i := range body.Slice(ch) {
						p := &body.Slice(ch)[i]
						p.Sum = p.Sum*31 + uint64(status)*32 + is(c.Alive(h))*16 + uint64(o.Shares())*8 + is(weak.Destroy())*4 + is(bound)*2 + is(text.String() != "none")
					}
				}
				o.Release()
			}
		}
	})
	w.Observe("look", world.OnCreate, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		body := world.Write[Body](b)
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			for _, created := range hs {
				if p := body.Get(created); p != nil {
					for _, h := range guesses() {
						p.Sum = p.Sum*31 + uint64(c.Status(h))
					}
				}
			}
		}
	})
	x.hasher = state.NewHasher(w, nil)
	return x
}

func is(x bool) uint64 {
	if x {
		return 1
	}
	return 0
}

func (x *guesser) step(t testing.TB) {
	t.Helper()
	require.NoError(t, x.s.Step(t.Context()))
}

// record makes ticks in which a port draws more and more while a system runs: some of it is sent,
// some is taken back, and some dies.
func (x *guesser) record(t testing.TB, ticks int, after func(tick int)) {
	t.Helper()
	p, err := x.OpenPort()
	require.NoError(t, err)
	defer p.Close()
	var mine []handle.Handle
	for tick := range ticks {
		x.during = func() {
			done := make(chan struct{})
			go func() { // a port belongs to a goroutine outside
				defer close(done)
				mine, err = x.plain.AppendN(mine, p, 100*(1+tick), nil)
				require.NoError(t, err)
				taken := fmt.Errorf("taken back")
				require.ErrorIs(t, p.Batch(func() error { _ = x.plain.CreateN(p, 50, nil); return taken }), taken)
				require.NoError(t, x.look.Call(p, x.unit, tick))
				if tick%3 == 2 {
					require.NoError(t, p.DestroyN(mine[:len(mine)/2]))
					mine = mine[len(mine)/2:]
				}
			}()
			<-done
		}
		x.step(t)
		after(tick)
	}
	x.during = nil
}

// TestGuessedHandles plays a log in which systems, functions and hooks look at guessed handles
// while ports draw: in the replay no port draws, and all see the same, on any number of workers.
func TestGuessedHandles(t *testing.T) {
	ticks := 12
	if check.Enabled {
		ticks = 4
	}
	for _, workers := range []int{1, 2, 5} {
		x := newGuesser(t, workers)
		var log bytes.Buffer
		r, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{})
		require.NoError(t, err)
		saved, seen := make([]bytes.Buffer, ticks), make([]string, ticks)
		x.record(t, ticks, func(tick int) {
			require.NoError(t, r.Hash(x.hasher))
			require.NoError(t, snapshot.Write(&saved[tick], x.World, snapshot.Options{}))
			seen[tick] = x.seen
		})
		require.NoError(t, r.Close())

		y := newGuesser(t, 1)
		l, err := inputlog.Open(&log)
		require.NoError(t, err)
		p, err := l.Play(y.World, nil)
		require.NoError(t, err)
		tick := 0
		for p.Next() {
			y.step(t)
			require.Equal(t, seen[tick], y.seen, "tick %d", tick)
			verified, err := p.Verify(y.hasher)
			require.NoError(t, err)
			require.True(t, verified)
			tick++
		}
		require.NoError(t, p.Err())
		require.Equal(t, ticks, tick)
	}
}

// TestGuessedHandlesLoaded loads what was saved while ports had drawn more: a system sees the same
// in both worlds in the next tick.
func TestGuessedHandlesLoaded(t *testing.T) {
	for ticks := range 6 {
		x := newGuesser(t, 1)
		x.record(t, 1+ticks, func(int) {})
		require.NoError(t, x.plain.Reserve(x.World, 9000)) // slots that no image has
		var saved bytes.Buffer
		p, err := x.OpenPort()
		require.NoError(t, err)
		require.Error(t, p.Batch(func() error {
			require.NoError(t, x.plain.CreateN(p, 900, nil))
			return fmt.Errorf("taken back")
		}))
		require.NoError(t, snapshot.Write(&saved, x.World, snapshot.Options{}))
		y := emptyGuesser(t, 1)
		y.unit = x.unit
		require.NoError(t, snapshot.Load(&saved, y.World, snapshot.Options{}))
		for range 3 {
			x.step(t)
			y.step(t)
			require.Equal(t, x.seen, y.seen)
			mine, err := x.hasher.StateHash()
			require.NoError(t, err)
			its, err := y.hasher.StateHash()
			require.NoError(t, err)
			require.Equal(t, mine, its)
		}
	}
}
