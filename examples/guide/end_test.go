package guide_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const patience = 5 * time.Second

// server is a small one, of all parts.
type server struct {
	world     *world.World
	systems   *scheduler.Scheduler
	store     *durable.Store
	pool      *async.Pool
	frames    *world.View
	views     *interest.Clients
	inspector *inspect.Inspector
	ships     *world.Bundle[Ship]
	playing   context.Context    // ends when clients are to go
	hangUp    context.CancelFunc // ends it
	clients   sync.WaitGroup
	left      world.Outcome // of the last request of the client
}

func newServer(path string, systems ...scheduler.System) (x *server, err error) {
	w := world.MustNew(world.Options{VersionsEach: 10_000, TickInterval: time.Millisecond})
	x = &server{world: w, systems: scheduler.New(w, scheduler.Options{})}
	position := world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Hull](w, "hull")
	x.ships = world.NewBundle[Ship](w)
	async.New(w, "load", world.RegisterMessage[async.Result[Row]](w, "loaded"), find, async.Options{Rerun: true})
	index := near.New(w, func(p Position) near.Point { return near.Point{X: p.X, Y: p.Y} },
		near.Options{Max: near.Point{X: 1000, Y: 1000}, Cell: 50})
	x.views = interest.New(w, index, interest.Options{}, interest.Encode(appendPosition))
	if x.frames, err = w.NewView(index, position); err != nil {
		return nil, err
	}
	for i, system := range systems {
		x.systems.MustAdd(fmt.Sprint("system ", i), system)
	}
	x.playing, x.hangUp = context.WithCancel(context.Background())
	if x.store, err = durable.Open(context.Background(), path, w, x.systems, durable.Options{}); err != nil {
		return nil, err
	}
	if x.inspector, err = inspect.New(x.systems, inspect.Options{}); err != nil {
		return nil, err
	}
	x.pool, err = async.Attach(w, async.PoolOptions{Gate: x.store.Wait})
	return x, err
}

// serve serves until ctx ends, or the ticks do, and then ends all parts in order.
func (x *server) serve(ctx context.Context, l net.Listener) error {
	var failed error
	ran := make(chan struct{}) // closed when no tick comes any more
	go func() {
		defer close(ran)
		failed = x.systems.Run(context.Background()) // not ctx: clients need ticks to leave
	}()
	var beside sync.WaitGroup
	looking, endLooking := context.WithCancel(context.Background())
	beside.Go(func() { _ = x.views.Run(looking, x.frames, 0, 1, nil) })
	beside.Go(func() { _ = x.inspector.Serve(looking, l) })

	select {
	case <-ctx.Done():
	case <-ran: // a system panicked
	}
	// 1. What looks at the world. From here on nobody pauses it.
	endLooking()
	_ = x.inspector.Close()
	beside.Wait()
	// 2. Clients, while there are ticks: a paused world makes none.
	x.systems.Resume()
	x.hangUp()
	left := make(chan struct{})
	go func() {
		x.clients.Wait()
		close(left)
	}()
	select {
	case <-left:
	case <-ran:
	case <-time.After(patience): // World.Close wakes those that wait
	}
	// 3. The ticks. From here on the world is ours.
	x.systems.Stop()
	<-ran
	// 4. Work outside, and a tick that applies its results.
	late, done := context.WithTimeout(context.Background(), patience)
	defer done()
	err := errors.Join(failed, x.pool.Close(late), x.systems.Step(context.Background()))
	// 5. The world is saved, and ends.
	err = errors.Join(err, x.store.Close())
	x.world.Close()
	x.clients.Wait()
	return err
}

// client is what the goroutine of a client does. It must not begin when hangUp was called.
func (x *server) client(in chan<- struct{}) {
	ctx := context.Background() // World.Close ends each wait
	port, err := x.world.OpenPort()
	if err != nil {
		return
	}
	defer port.Close()
	var done world.Completion
	me, _ := x.ships.Create(port.Notify(&done), Ship{})
	_, _ = done.Wait(ctx)
	view := x.views.Open(interest.ClientOptions{Entity: me, Radius: 50, Write: func([]byte) {}})
	defer view.Close()
	close(in)
	<-x.playing.Done()
	_ = port.Notify(&done).Destroy(me)
	x.left, _ = done.Wait(ctx)
}

// play starts a server for one client, does what happens then, and ends it. It returns whether the
// world came back from a clean end, and how the client left.
func play(path string, happens func(x *server, end context.CancelFunc), systems ...scheduler.System) (clean bool, left world.Outcome, err error) {
	x, err := newServer(path, systems...)
	if err != nil {
		return false, 0, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false, 0, err
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	in := make(chan struct{})
	x.clients.Go(func() { x.client(in) })
	go func() {
		<-in
		happens(x, end)
	}()
	err = x.serve(ctx, l)
	return x.store.Recovered().Clean, x.left, err
}

func Example_ending() {
	path, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(path) }()

	fmt.Println(play(path, func(_ *server, end context.CancelFunc) { end() }))
	fmt.Println(play(path, func(x *server, end context.CancelFunc) {
		x.systems.Pause()
		end()
	}))
	// Output:
	// false applied <nil>
	// true applied <nil>
}

// A server whose ticks end by a panic ends, too: its client is told by the last Step, or by
// World.Close.
func TestEndingByPanic(t *testing.T) {
	var sink atomic.Bool
	sinks := func(*world.Build) func(*world.Context) {
		return func(*world.Context) {
			if sink.Load() {
				panic("sunk")
			}
		}
	}
	_, left, err := play(t.TempDir(), func(*server, context.CancelFunc) { sink.Store(true) }, sinks)
	var panicked *world.PanicError
	if !errors.As(err, &panicked) || panicked.Value != "sunk" {
		t.Errorf("the server ends with %v", err)
	}
	if left != world.Applied && left != world.Closed {
		t.Errorf("the client left %v", left)
	}
}
