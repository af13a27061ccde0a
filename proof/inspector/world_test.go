package inspector

import (
	"context"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	token = "a token of the tests"
	ships = 2000
	towns = 40
)

// The components of the harbour.
type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }
	Hull     struct {
		Left    int32
		Leaks   bool
		Painted string
	}
	Course struct{ To handle.Handle }
	Cargo  struct{ Tons float32 }

	Ship struct {
		Position
		Velocity
		Hull
		Course
	}
	Town struct {
		Position
		Cargo
	}
)

// harbour is a live world with an inspector: ships that sail between towns, some of which sink.
type harbour struct {
	t     *testing.T
	w     *world.World
	s     *scheduler.Scheduler
	ships []handle.Handle
	towns []handle.Handle
	stall atomic.Bool // the next tick takes longer than its budget
	addr  string
	serve *http.Server
	by    http.Handler
}

func newHarbour(t *testing.T, o inspect.Options) *harbour {
	h := idleHarbour(t, o, 4)
	h.run()
	return h
}

// idleHarbour is one that nobody runs yet.
func idleHarbour(t *testing.T, o inspect.Options, shards int) *harbour {
	h := &harbour{t: t, w: world.MustNew(world.Options{Shards: shards, TickInterval: 25 * time.Millisecond})}
	t.Cleanup(func() { h.w.Close() })
	world.Register[Position](h.w, "Position")
	world.Register[Velocity](h.w, "Velocity")
	world.Register[Hull](h.w, "Hull")
	world.Register[Course](h.w, "Course")
	world.Register[Cargo](h.w, "Cargo")
	h.s = scheduler.New(h.w, scheduler.Options{Workers: 2})
	h.settle()
	h.s.MustAdd("steer", h.steer).MustAdd("sail", h.sail).MustAdd("trade", h.trade).MustAdd("watch", h.watch, scheduler.Global(), scheduler.In(scheduler.PostUpdate))
	h.s.MustAdd("build", h.build(world.NewBundle[Ship](h.w)), scheduler.In(scheduler.PostUpdate), scheduler.Every(4, 0))
	o.Name = "Harbour"
	x, err := inspect.New(h.s, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	h.by = x
	h.listen("127.0.0.1:0")
	return h
}

// settle makes the first towns and ships.
func (h *harbour) settle() {
	ring := func(i, n int, wide float64) Position {
		a := 2 * math.Pi * float64(i) / float64(n)
		r := wide * (1 + .25*math.Sin(7*a))
		return Position{r * math.Cos(a), r * math.Sin(a)}
	}
	var err error
	h.towns, err = world.NewBundle[Town](h.w).AppendN(nil, h.w, towns, func(i int, t *Town) { *t = Town{ring(i, towns, 400), Cargo{float32(i)}} })
	require.NoError(h.t, err)
	h.ships, err = world.NewBundle[Ship](h.w).AppendN(nil, h.w, ships, func(i int, s *Ship) {
		*s = Ship{ring(i, ships, 100+float64(i%7)*60), Velocity{}, Hull{int32(50 + i%50), i%9 == 0, "red"}, Course{h.towns[i%towns]}}
	})
	require.NoError(h.t, err)
	captains, fleet := names.New[string](h.w, "captains", names.Options{}), hierarchy.New(h.w, "fleet", hierarchy.Options{})
	require.NoError(h.t, captains.Bind(h.w, h.ships[0], "Anna"))
	require.NoError(h.t, fleet.AddChild(h.w, h.ships[0], h.ships[1]))
	h.w.Refresh()
}

// steer turns ships to their towns, whichever shard these are in, and sends those that arrive to
// another.
func (h *harbour) steer(b *world.Build) func(*world.Context) {
	pos, vel, course, town := world.Read[Position](b), world.Write[Velocity](b), world.Write[Course](b), world.ReadForeign[Position](b)
	q := b.Query(pos, vel, course)
	return func(ctx *world.Context) {
		for c := range q.Chunks() {
			ps, vs, to := pos.Slice(c), vel.Slice(c), course.Slice(c)
			for i := range ps {
				if at, ok := town.Get(to[i].To); ok {
					dx, dy := at.X-ps[i].X, at.Y-ps[i].Y
					d := math.Hypot(dx, dy) + 1
					if d < 20 {
						to[i].To = h.towns[(int(ctx.Tick())+i)%towns]
					}
					vs[i] = Velocity{.98*vs[i].X + .05*dx/d, .98*vs[i].Y + .05*dy/d}
				}
			}
		}
	}
}

func (h *harbour) sail(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Read[Velocity](b)
	q := b.Query(pos, vel)
	return func(*world.Context) {
		for c := range q.Chunks() {
			ps, vs := pos.Slice(c), vel.Slice(c)
			for i := range ps {
				ps[i].X += vs[i].X
				ps[i].Y += vs[i].Y
			}
		}
	}
}

func (h *harbour) trade(b *world.Build) func(*world.Context) {
	cargo := world.Write[Cargo](b)
	q := b.Query(cargo)
	return func(*world.Context) {
		for c := range q.Chunks() {
			for i := range cargo.Slice(c) {
				cargo.Slice(c)[i].Tons += .25
			}
		}
	}
}

// watch takes too long once it is told to.
func (h *harbour) watch(*world.Build) func(*world.Context) {
	return func(*world.Context) {
		if h.stall.Swap(false) {
			time.Sleep(60 * time.Millisecond)
		}
	}
}

// build sinks a ship of each shard now and then, and makes another.
func (h *harbour) build(ship *world.Bundle[Ship]) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		old := b.Query(world.With[Hull](b))
		b.Creates(ship)
		return func(c *world.Context) {
			for ch := range old.Chunks() {
				last := ch.Handle(ch.Len() - 1)
				_ = c.Destroy(last) // of the own shard, so it is never refused
				at := float64(c.Tick() % 400)
				_, _ = ship.Create(c, Ship{Position{at, -at}, Velocity{}, Hull{100, false, "blue"}, Course{h.towns[c.Tick()%towns]}}) // or the shard is full
				return
			}
		}
	}
}

// run makes ticks until the test ends.
func (h *harbour) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.s.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		require.NoError(h.t, <-done)
	})
}

// listen serves the inspector, at the address that it had before or at a free one.
func (h *harbour) listen(addr string) {
	l, err := net.Listen("tcp", addr)
	require.NoError(h.t, err)
	s := &http.Server{Handler: h.by, ReadHeaderTimeout: time.Second}
	h.addr, h.serve = l.Addr().String(), s
	go func() { _ = s.Serve(l) }() // until it is closed
	h.t.Cleanup(func() { _ = s.Close() })
}

func (h *harbour) url(hash string) string { return "http://" + h.addr + "/" + hash }
