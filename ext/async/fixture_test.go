package async_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Ask is what functions are given, and Reply what they return.
type (
	Ask struct {
		N    int
		Text string
	}
	Reply struct {
		N    int
		Text string
	}
	result = async.Result[Reply]
)

// Body is what entities are.
type (
	Body struct{ N int }
	unit struct{ Body }
)

// game is a world whose systems note what is delivered, and call what a test sets.
type game struct {
	t testing.TB
	*world.World
	s       *scheduler.Scheduler
	units   *world.Bundle[unit]
	replies *world.Message[result]
	call    *async.Call[Ask, Reply]
	act     *world.Func[int]
	got     [][]world.Envelope[result] // by shard, in this tick

	systems  func(c *world.Context)
	global   func(c *world.Context)
	function func(self *world.EntityContext, n int)
	hook     func(c *world.Context, h handle.Handle)
}

type run = func(ctx context.Context, x Ask) (Reply, error)

func newGame(t testing.TB, shards, workers int, o async.Options, f run) *game {
	return newGameIn(t, world.Options{Shards: shards, Seed: 5, VersionsEach: 10_000}, workers, o, f)
}

func newGameIn(t testing.TB, wo world.Options, workers int, o async.Options, f run) *game {
	if o.Ticks == 0 {
		o.Ticks = 1 << 20 // however slow the machine is
	}
	w := world.MustNew(wo)
	world.Register[Body](w, "body")
	g := &game{t: t, World: w, units: world.NewBundle[unit](w), replies: world.RegisterMessage[result](w, "reply"), got: make([][]world.Envelope[result], w.Shards())}
	g.call = async.New(w, "calls", g.replies, f, o)
	g.act = world.RegisterFunc(w, "act", func(self *world.EntityContext, n int) { g.function(self, n) })
	w.Observe("created", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			for _, h := range hs {
				if g.hook != nil {
					g.hook(c, h)
				}
			}
		}
	})
	g.s = scheduler.New(w, scheduler.Options{Workers: workers})
	g.s.MustAdd("receive", func(b *world.Build) func(*world.Context) {
		in := world.Receive[result](b)
		return func(c *world.Context) {
			g.got[c.Shard()] = append(g.got[c.Shard()][:0], in.All()...)
			if g.systems != nil {
				g.systems(c)
			}
		}
	})
	g.s.MustAdd("global", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if g.global != nil {
				g.global(c)
			}
		}
	}, scheduler.Global())
	t.Cleanup(w.Close)
	return g
}

func (g *game) create(n int) handle.Handle {
	h, err := g.units.Create(g.World, unit{Body{n}})
	require.NoError(g.t, err)
	return h
}

// attach gives the game a Pool until the test ends.
func (g *game) attach(o async.PoolOptions) *async.Pool {
	g.t.Helper()
	p, err := async.Attach(g.World, o)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { g.close(p) })
	return p
}

// close closes a Pool, whose functions must end.
func (g *game) close(p *async.Pool) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Close(ended)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(g.t, p.Close(ctx))
}

func (g *game) step() {
	g.t.Helper()
	require.NoError(g.t, g.s.Step(context.Background()))
}

// heard makes a tick, and returns what was delivered in it, by shard.
func (g *game) heard() (all []string) {
	g.t.Helper()
	at := g.Tick()
	g.step()
	for _, got := range g.got {
		for _, e := range got {
			all = append(all, fmt.Sprintf("%d:%v %d", at, e.Body.Status, e.Body.Value.N))
		}
	}
	return all
}

// until returns what is heard in so many ticks.
func (g *game) until(ticks int) string {
	g.t.Helper()
	var all []string
	for range ticks {
		all = append(all, g.heard()...)
	}
	return fmt.Sprint(all)
}

// next makes ticks until something is delivered, and returns it.
func (g *game) next() result {
	g.t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
		g.step()
		for _, got := range g.got {
			if len(got) > 0 {
				require.Len(g.t, got, 1)
				return got[0].Body
			}
		}
	}
	g.t.Fatal("nothing is delivered")
	return result{}
}

// ask asks by the idle world.
func (g *game) ask(h handle.Handle, x Ask) async.ID {
	g.t.Helper()
	return g.must(g.call.Go(g.World, h, x))
}

// must returns an ID, which there must be.
func (g *game) must(id async.ID, err error) async.ID {
	g.t.Helper()
	require.NoError(g.t, err)
	require.NotEqual(g.t, async.None, id)
	return id
}

func (g *game) hash() state.Hash {
	g.t.Helper()
	h, err := state.StateHash(g.World, nil)
	require.NoError(g.t, err)
	return h
}

func (g *game) save() []byte {
	g.t.Helper()
	var b bytes.Buffer
	require.NoError(g.t, snapshot.Write(&b, g.World, snapshot.Options{Scheduler: g.s}))
	return b.Bytes()
}

// load makes a new game what was saved.
func (g *game) load(image []byte) *game {
	g.t.Helper()
	require.NoError(g.t, snapshot.Load(bytes.NewReader(image), g.World, snapshot.Options{Scheduler: g.s}))
	return g
}

var errFailed = errors.New("it fails")

// What a function does, by Ask.N modulo kinds.
const (
	returns = iota
	fails
	panics
	exits
	waits // for the end of its context
	sleeps
	kinds
)

// outside is what is called, and counts.
type outside struct {
	mu    sync.Mutex
	calls map[int]int // by Ask.N
	runs  int         // now
}

func (o *outside) run(ctx context.Context, x Ask) (Reply, error) {
	o.count(x.N, 1)
	defer o.count(x.N, -1)
	r := Reply{N: x.N, Text: x.Text + "!"}
	switch x.N % kinds {
	case fails:
		return r, errFailed
	case panics:
		panic(x.N)
	case exits:
		runtime.Goexit()
	case waits:
		<-ctx.Done()
		return r, ctx.Err()
	case sleeps:
		time.Sleep(time.Duration(x.N%7) * time.Millisecond)
	}
	return r, nil
}

func (o *outside) count(n, by int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls == nil {
		o.calls = map[int]int{}
	}
	if by > 0 {
		o.calls[n]++
	}
	o.runs += by
}

func (o *outside) called(n int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[n]
}

func (o *outside) running() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runs
}
