package inputlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Tag is a component whose codec panics for "bad", and ends its goroutine for "gone".
type Tag struct{ Text string }

type tagged struct {
	Body
	Tag
}

func tagCodecs() *state.Codecs {
	c := new(state.Codecs)
	state.Register(c, state.Codec[Tag]{
		Append: func(dst []byte, v *Tag) []byte {
			switch v.Text {
			case "bad":
				panic("the codec does not like it")
			case "gone":
				runtime.Goexit()
			}
			return append(dst, v.Text...)
		},
		Read: func(src []byte, v *Tag) error { v.Text = string(src); return nil },
	})
	state.Register(c, bidCodec)
	return c
}

// harbor is a world whose ticks are sealed.
type harbor struct {
	*world.World
	s      *scheduler.Scheduler
	hasher *state.Hasher
	body   *world.Component[Body]
	tag    *world.Component[Tag]
	all    *world.Bundle[tagged]
	during func(tick uint64)
	hooked atomic.Int32
}

func newHarbor(workers int) *harbor {
	w := world.MustNew(world.Options{Shards: 2, QueueRequests: 1 << 14})
	x := &harbor{World: w, body: world.Register[Body](w, "body"), tag: world.Register[Tag](w, "tag")}
	x.all = world.NewBundle[tagged](w)
	w.Observe("count", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		world.Read[Body](b)
		return func(_ *world.Context, _ world.Event, hs []handle.Handle) { x.hooked.Add(int32(len(hs))) }
	})
	x.s = scheduler.New(w, scheduler.Options{Workers: workers})
	x.s.MustAdd("during", func(b *world.Build) func(*world.Context) {
		body := world.Write[Body](b)
		all := b.Query(body)
		return func(c *world.Context) {
			if c.Shard() == 0 && x.during != nil {
				done := make(chan struct{})
				go func() { // a port belongs to a goroutine outside
					defer close(done)
					x.during(c.Tick())
				}()
				<-done
			}
			for ch := range all.Chunks() {
				for i := range body.Slice(ch) {
					body.Slice(ch)[i].Sum = body.Slice(ch)[i].Sum*31 + uint64(body.Slice(ch)[i].Small)
				}
			}
		}
	})
	x.hasher = state.NewHasher(w, tagCodecs())
	x.hasher.Add("systems", x.s.AppendState)
	return x
}

// record begins a log whose Commit is the given one.
func (x *harbor) record(t testing.TB, log *bytes.Buffer, commit func() error, failed func(error)) *inputlog.Recorder {
	t.Helper()
	r, err := inputlog.NewRecorder(x.World, log, inputlog.Options{Codecs: tagCodecs(), Commit: commit, OnFailed: failed})
	require.NoError(t, err)
	return r
}

// replay plays a log, and compares the hashes in it.
func replay(t testing.TB, log []byte, workers int) *harbor {
	t.Helper()
	y := newHarbor(workers)
	y.replay(t, log)
	return y
}

// replay plays a log, and compares the hashes in it. Transactions may panic.
func (x *harbor) replay(t testing.TB, log []byte) {
	t.Helper()
	l, err := inputlog.Open(bytes.NewReader(log))
	require.NoError(t, err)
	p, err := l.Play(x.World, tagCodecs())
	require.NoError(t, err)
	for p.Next() {
		require.NoError(t, p.Make(func() error { return x.step(t) }))
		_, err := p.Verify(x.hasher)
		require.NoError(t, err)
	}
	require.NoError(t, p.Err())
}

// step makes a tick, in which transactions may panic and nothing else.
func (x *harbor) step(t testing.TB) error {
	err := x.s.Step(t.Context())
	var failed *world.PanicError
	if errors.As(err, &failed) && failed.In == "transaction" {
		return nil
	}
	return err
}

// TestSealed looks at a tick from inside: its record is written before systems run, Commit is called
// after them, and outcomes come after Commit. What is sent meanwhile belongs to the next tick.
func TestSealed(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		x := newHarbor(workers)
		var log bytes.Buffer
		var first, second world.Completion
		var p *world.Port
		var made handle.Handle
		length, systems := 0, false
		r := x.record(t, &log, func() error {
			if x.Tick() > 0 {
				return nil
			}
			require.True(t, systems, "systems have run")
			require.Equal(t, world.Undecided, first.Outcome())
			require.False(t, x.Alive(made))
			return nil
		}, nil)
		length = log.Len()
		var err error
		p, err = x.OpenPort()
		require.NoError(t, err)
		made, err = x.all.Create(p.Notify(&first), tagged{Body{Small: 3}, Tag{"one"}})
		require.NoError(t, err)
		x.during = func(tick uint64) {
			if tick > 0 {
				return
			}
			require.Greater(t, log.Len(), length, "the record is written")
			systems = true
			require.NoError(t, x.tag.Set(p.Notify(&second), made, Tag{"two"}))
		}
		require.NoError(t, x.s.Step(t.Context()))
		require.NoError(t, r.Hash(x.hasher))
		require.Equal(t, world.Applied, first.Outcome())
		require.Equal(t, world.Undecided, second.Outcome())
		require.Equal(t, "one", world.Read[Tag](x.World).Get(made).Text)
		require.NoError(t, x.s.Step(t.Context()))
		require.Equal(t, world.Applied, second.Outcome())
		require.Equal(t, "two", world.Read[Tag](x.World).Get(made).Text)
		require.NoError(t, r.Hash(x.hasher))
		x.Refresh() // a refresh of the idle world is sealed, too
		require.NoError(t, r.Hash(x.hasher))
		require.NoError(t, r.Close())
		replay(t, log.Bytes(), 6-workers)
	}
}

// TestSealedFails sends values that the codec cannot encode, alone, in batches and many at a time:
// these requests fail, in the replay too, and all others are done.
func TestSealedFails(t *testing.T) {
	x := newHarbor(2)
	var log bytes.Buffer
	var told []error
	r := x.record(t, &log, func() error { return nil }, func(err error) { told = append(told, err) })
	p, err := x.OpenPort()
	require.NoError(t, err)
	q, err := x.OpenPort()
	require.NoError(t, err)
	var outcomes [8]world.Completion
	good, err := x.all.Create(p.Notify(&outcomes[0]), tagged{Body{Small: 1}, Tag{"good"}})
	require.NoError(t, err)
	bad, err := x.all.Create(p.Notify(&outcomes[1]), tagged{Body{Small: 2}, Tag{"bad"}})
	require.NoError(t, err)
	var some []handle.Handle
	require.NoError(t, q.Batch(func() error {
		_, err := x.all.Create(q.Notify(&outcomes[2]), tagged{Tag: Tag{"gone"}})
		require.NoError(t, err)
		some, err = x.all.AppendN(some, q.Notify(&outcomes[3]), 10, func(i int, row *tagged) {
			if row.Text = "fine"; i == 4 {
				row.Text = "bad"
			}
		})
		require.NoError(t, err)
		return x.body.Set(q.Notify(&outcomes[4]), good, Body{Small: 9})
	}))
	require.NoError(t, x.tag.Set(q.Notify(&outcomes[5]), good, Tag{"bad"}))
	require.NoError(t, x.tag.Set(q.Notify(&outcomes[6]), good, Tag{"better"}))
	require.NoError(t, x.tag.Set(q.Notify(&outcomes[7]), bad, Tag{"late"}))
	require.NoError(t, x.s.Step(t.Context()))
	for i, want := range []world.Outcome{world.Applied, world.Failed, world.Failed, world.Failed, world.Applied, world.Failed, world.Applied, world.Gone} {
		require.Equal(t, want, outcomes[i].Outcome(), "request %d", i)
	}
	require.Equal(t, "better", world.Read[Tag](x.World).Get(good).Text)
	require.Equal(t, 1, x.Count())
	require.Equal(t, world.Stale, x.Status(bad))
	require.Len(t, told, 4)
	require.ErrorContains(t, told[0], "port 0")
	require.ErrorContains(t, told[1], "port 1")
	require.ErrorContains(t, told[1], "runtime.Goexit")
	require.NoError(t, r.Hash(x.hasher))
	for range 30 { // the handles come back
		_, err := x.all.Create(p, tagged{Tag: Tag{"more"}})
		require.NoError(t, err)
	}
	require.NoError(t, x.s.Step(t.Context()))
	require.NoError(t, r.Hash(x.hasher))
	require.NoError(t, r.Close())
	y := replay(t, log.Bytes(), 1)
	var mine, its world.Stats
	x.Stats(&mine)
	y.Stats(&its)
	require.Equal(t, mine.Failed, its.Failed)
	require.EqualValues(t, 13, mine.Failed)
}

// TestSealedLost lets Commit fail: nothing of the tick is seen, no hook is called, what is in the
// record is Unknown, and what came later is Closed.
func TestSealedLost(t *testing.T) {
	for _, how := range []string{"error", "panic", "by hand"} {
		x := newHarbor(2)
		_, err := x.all.Create(x.World, tagged{})
		require.NoError(t, err)
		var log bytes.Buffer
		full := errors.New("the disk is full")
		broken := false
		r := x.record(t, &log, func() error {
			if broken && how == "panic" {
				panic(full)
			}
			if broken {
				return full
			}
			return nil
		}, nil)
		require.NoError(t, x.s.Step(t.Context()))
		p, err := x.OpenPort()
		require.NoError(t, err)
		q, err := x.OpenPort()
		require.NoError(t, err)
		var sealed, later, never world.Completion
		h, err := x.all.Create(p.Notify(&sealed), tagged{})
		require.NoError(t, err)
		x.during = func(uint64) {
			require.NoError(t, p.Notify(&later).Destroy(h))
			_, err := x.all.Create(q.Notify(&never), tagged{})
			require.NoError(t, err)
		}
		broken = true
		if how == "by hand" {
			x.Refresh()
			later, never = world.Completion{}, world.Completion{}
		} else {
			err = x.s.Step(t.Context())
			require.ErrorIs(t, err, world.ErrClosed)
			require.ErrorIs(t, err, full)
			require.Equal(t, world.Closed, later.Outcome())
			require.Equal(t, world.Closed, never.Outcome())
		}
		require.ErrorIs(t, x.Err(), world.ErrClosed)
		require.ErrorIs(t, x.Err(), full)
		require.Equal(t, world.Unknown, sealed.Outcome())
		require.Zero(t, x.hooked.Load(), "no hook is called")
		require.False(t, x.Alive(h))
		require.ErrorIs(t, r.Close(), full)
		_, err = x.all.Create(p, tagged{})
		require.ErrorIs(t, err, world.ErrClosed)
		require.ErrorIs(t, x.s.Step(t.Context()), world.ErrClosed)
		x.Close()
	}
}

// TestSealedIdle tries to change the idle world: each call is refused and changes nothing, wherever
// it stands.
func TestSealedIdle(t *testing.T) {
	x := newHarbor(1)
	h, err := x.all.Create(x.World, tagged{Tag: Tag{"kept"}})
	require.NoError(t, err)
	wreck := world.RegisterTransaction(x.World, "wreck", func(tx *world.Tx, h handle.Handle) (int, error) {
		return 0, tx.Destroy(h)
	})
	var log bytes.Buffer
	r := x.record(t, &log, func() error { return nil }, nil)
	require.NoError(t, x.s.Step(t.Context()))
	before, err := x.hasher.StateHash()
	require.NoError(t, err)
	for name, change := range map[string]func(w *world.World){
		"create":  func(w *world.World) { _, _ = x.all.Create(w, tagged{}) },
		"many":    func(w *world.World) { _ = x.all.CreateN(w, 5, nil) },
		"destroy": func(w *world.World) { w.Destroy(h) },
		"set":     func(w *world.World) { _ = x.tag.Set(w, h, Tag{"new"}) },
		"all":     func(w *world.World) { _ = x.all.Set(w, h, tagged{}) },
		"remove":  func(w *world.World) { _ = x.tag.Remove(w, h) },
		"write":   func(w *world.World) { world.Write[Body](w).Get(h).Sum = 7 },
		"flag":    func(w *world.World) { _ = world.AddFlags(w, h, 1) },
		"move":    func(w *world.World) { owner, _ := w.Owner(h); _ = world.Move(w, h, 1-owner) },
		"pin":     func(w *world.World) { w.Pin(x.tag) },
		"reserve": func(w *world.World) { _ = x.all.Reserve(w, 100) },
		"run":     func(w *world.World) { _, _ = wreck.Run(w, h) },
		"call":    func(w *world.World) { _ = wreck.Call(w, h) },
	} {
		require.Panics(t, func() { change(x.World) }, name)
		done := x.s.Between(change)
		require.NoError(t, x.s.Step(t.Context()), name)
		var failed *world.PanicError
		require.ErrorAs(t, <-done, &failed, name)
		require.ErrorContains(t, failed, "let a Port or a system request it, with world.RegisterTransaction for one")
		_, err := x.hasher.StateHash()
		require.NoError(t, err)
		require.NoError(t, x.Err(), name)
	}
	require.Equal(t, "kept", world.Read[Tag](x.World).Get(h).Text)
	require.NoError(t, r.Hash(x.hasher))
	require.NoError(t, r.Close())
	require.NotZero(t, before)
	_, err = x.all.Create(x.World, tagged{}) // nothing is sealed any more
	require.NoError(t, err)
}

// TestSealedWaits lets Commit take its time: that is neither in the duration of the tick nor an
// overrun, and the statistics have it.
func TestSealedWaits(t *testing.T) {
	const wait = 20 * time.Millisecond
	x := newHarbor(2)
	var log bytes.Buffer
	r := x.record(t, &log, func() error { time.Sleep(wait); return nil }, nil)
	for range 3 {
		require.NoError(t, x.s.Step(t.Context()))
	}
	var stats scheduler.Stats
	x.s.Stats(&stats)
	require.EqualValues(t, 3, stats.Commit.Count())
	require.GreaterOrEqual(t, stats.Commit.Sum(), 3*wait)
	require.Less(t, stats.Time.Sum(), stats.Commit.Sum())
	require.NoError(t, r.Close())
	require.NoError(t, x.s.Step(t.Context()))
	x.s.Stats(&stats)
	require.EqualValues(t, 3, stats.Commit.Count(), "of sealed ticks alone")
}

// TestSealedAllocates makes sealed ticks with requests: they allocate nothing.
func TestSealedAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build allocates")
	}
	x := newHarbor(1)
	r, err := inputlog.NewRecorder(x.World, discard{}, inputlog.Options{Codecs: tagCodecs(), Commit: func() error { return nil }})
	require.NoError(t, err)
	p, err := x.OpenPort()
	require.NoError(t, err)
	var made []handle.Handle
	for i := range 100 {
		h, err := x.all.Create(p, tagged{Tag: Tag{fmt.Sprint(i)}})
		require.NoError(t, err)
		made = append(made, h)
	}
	require.NoError(t, x.s.Step(t.Context()))
	n := allocs.Least(50, func() {
		for _, h := range made {
			_ = x.body.Set(p, h, Body{Small: 4})
		}
		_ = x.s.Step(t.Context())
	})
	require.Zero(t, n)
	require.NoError(t, r.Close())
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
