package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	featureRequests = 1000 // a tick
	featureRest     = 2 * time.Millisecond
	featureClients  = 100
)

var featureCosts = &section{
	name:  "features",
	title: "What features cost in use",
	text: `N entities of 2 components move each tick, and a port sends 1,000 requests to set a component. A world with the feature and one without take turns, tick by tick,
with 2 ms of rest after each tick, in which goroutines of the feature may work. What is shown is the median of ticks by the clock, on two workers, and of the ratios of neighbouring ticks.
"noise" is two worlds without a feature. With "durable" the world is in a directory; with "frames" a goroutine captures both components in each tick; "hook" is told of the 1,000 sets;
with "statistics" the Stats of the scheduler and of the world are read after each tick; with "inspector" a client has its stream of events open; with "near" the world has an index of places,
in which all entities move in each tick; with "interest" 100 clients are told 20 times a second what is near them, too. Command: go run ./bench/compare -full -run '^features/'`,
	quick: 20_000, full: 100_000, weight: 4, cost: 12,
	columns: []column{{"ratio", "ratio"}, {"with_us", "with, µs"}, {"without_us", "without, µs"}},
	alone:   true,
	run:     runFeatures,
}

// feature is put to use in a world before its first tick. fill makes the entities.
type feature struct {
	name string
	use  func(x *featured, fill func(*world.World) error) (after func(), end func())
}

var features = []feature{
	{"noise", useNothing}, {"durable", useDurable}, {"frames", useFrames}, {"hook", useHook},
	{"statistics", useStats}, {"inspector", useInspector}, {"near", useNear}, {"interest", useInterest},
}

// featured is a world that ticks.
type featured struct {
	*atollWorld
	s     *scheduler.Scheduler
	port  *world.Port
	all   []handle.Handle
	after func() // timed with the tick
	end   func()
	ticks int
}

func newFeatured(n int, f feature) *featured {
	x := &featured{atollWorld: newAtollWorld(world.Options{VersionsEach: 10_000})}
	x.s = scheduler.New(x.World, scheduler.Options{})
	x.s.MustAdd("move", func(b *world.Build) func(*world.Context) {
		pos, vel := world.Write[Position](b), world.Read[Velocity](b)
		both := b.Query(pos, vel)
		return func(*world.Context) {
			for ch := range both.Chunks() {
				move(pos.Slice(ch), vel.Slice(ch))
			}
		}
	})
	side := math.Sqrt(float64(n))
	x.after, x.end = f.use(x, func(w *world.World) (err error) {
		r := rand.New(rand.NewPCG(1, 2))
		x.all, err = x.movers.AppendN(nil, w, n, func(_ int, m *atollMover) {
			*m = atollMover{Position{r.Float64() * side, r.Float64() * side}, Velocity{r.Float64() - 0.5, r.Float64() - 0.5}}
		})
		return err
	})
	x.port = must(x.OpenPort())
	return x
}

// tick makes a tick and returns how long it took, without what sends.
func (x *featured) tick() time.Duration {
	for i := range featureRequests {
		check(x.velocity.Set(x.port, x.all[(x.ticks*7919+i*104_729)%len(x.all)], Velocity{0.25, -0.25}))
	}
	x.ticks++
	start := time.Now()
	check(x.s.Step(context.Background()))
	x.after()
	took := time.Since(start)
	time.Sleep(featureRest)
	return took
}

func runFeatures(n int, s settings) []finding {
	rounds := 8 * s.plan.roundsMax
	var found []finding
	for _, f := range features {
		x := find(contender{name: "atoll", shards: defaultShards}, func() map[string]float64 {
			without, with := newFeatured(n, features[0]), newFeatured(n, f)
			defer without.close()
			defer with.close()
			var took [2][]float64
			var ratios []float64
			for i := range rounds + 5 {
				var a, b float64
				if i%2 == 0 {
					a, b = micros(without.tick()), micros(with.tick())
				} else {
					b, a = micros(with.tick()), micros(without.tick())
				}
				if i >= 5 {
					took[0], took[1], ratios = append(took[0], a), append(took[1], b), append(ratios, b/a)
				}
			}
			return map[string]float64{"ratio": median(ratios), "with_us": median(took[1]), "without_us": median(took[0])}
		})
		x.Case, x.Rounds = f.name, rounds
		found = append(found, x)
	}
	return found
}

func (x *featured) close() {
	x.port.Close()
	x.end()
	x.Close()
}

func useNothing(x *featured, fill func(*world.World) error) (after, end func()) {
	check(fill(x.World))
	return func() {}, func() {}
}

func useDurable(x *featured, fill func(*world.World) error) (after, end func()) {
	dir := must(os.MkdirTemp("", "compare"))
	store := must(durable.Open(context.Background(), dir, x.World, x.s, durable.Options{New: fill, Every: -1}))
	return func() {}, func() {
		check(store.Close())
		check(os.RemoveAll(dir))
	}
}

// background runs f again and again until the end.
func background(f func(context.Context) error) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		var err error
		for err == nil && ctx.Err() == nil {
			err = f(ctx)
		}
		if ctx.Err() != nil {
			err = nil
		}
		done <- err
	}()
	return func() {
		stop()
		check(<-done)
	}
}

func useFrames(x *featured, fill func(*world.World) error) (after, end func()) {
	check(fill(x.World))
	view := must(x.NewView(x.position, x.velocity))
	return func() {}, background(func(ctx context.Context) error {
		f, err := view.Capture(ctx)
		if err == nil {
			f.Release()
		}
		return err
	})
}

func useHook(x *featured, fill func(*world.World) error) (after, end func()) {
	told := make([]int, x.Shards())
	x.Observe("set", world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, hs []handle.Handle) { told[c.Shard()] += len(hs) }
	}, x.velocity)
	check(fill(x.World))
	return func() {}, func() {
		sum := 0
		for _, n := range told {
			sum += n
		}
		check(same("told", sum > 0, true))
	}
}

func useStats(x *featured, fill func(*world.World) error) (after, end func()) {
	check(fill(x.World))
	var ofScheduler scheduler.Stats
	var ofWorld world.Stats
	return func() {
		x.s.Stats(&ofScheduler)
		x.Stats(&ofWorld)
	}, func() {}
}

func useInspector(x *featured, fill func(*world.World) error) (after, end func()) {
	check(fill(x.World))
	inspector := must(inspect.New(x.s, inspect.Options{}))
	server := httptest.NewServer(inspector)
	response := must(http.Get(server.URL + "/api/events"))
	check(same("status", response.StatusCode, http.StatusOK))
	buf := make([]byte, 1<<16)
	stop := background(func(context.Context) error {
		_, err := response.Body.Read(buf)
		return err
	})
	return func() {}, func() {
		_ = response.Body.Close()
		_ = inspector.Close()
		server.Close()
		_ = guard(stop) // the stream ended
	}
}

func useNear(x *featured, fill func(*world.World) error) (after, end func()) {
	newPlaces(x)
	return useNothing(x, fill)
}

func newPlaces(x *featured) *near.Index {
	const side = 4096 // nobody gets there
	return near.New(x.World, func(p Position) near.Point { return near.Point{X: p.X, Y: p.Y} },
		near.Options{Min: near.Point{X: -side, Y: -side}, Max: near.Point{X: side, Y: side}, Cell: 8})
}

func useInterest(x *featured, fill func(*world.World) error) (after, end func()) {
	index := newPlaces(x)
	set := interest.New(x.World, index, interest.Options{}, interest.Encode(func(to []byte, p *Position) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(to, math.Float64bits(p.X)), math.Float64bits(p.Y))
	}))
	check(fill(x.World))
	view := must(x.NewView(index, x.position))
	for _, h := range x.all[:min(featureClients, len(x.all))] {
		set.Open(interest.Viewer{Entity: h, Radius: 8, Client: fmt.Sprint(h)})
	}
	return func() {}, background(func(ctx context.Context) error {
		return set.Run(ctx, view, 50*time.Millisecond, 1, func(*interest.View, *interest.Packet) {})
	})
}
