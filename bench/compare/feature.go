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
func (f *featured) tick() time.Duration {
	for i := range featureRequests {
		check(f.velocity.Set(f.port, f.all[(f.ticks*7919+i*104_729)%len(f.all)], Velocity{0.25, -0.25}))
	}
	f.ticks++
	start := time.Now()
	check(f.s.Step(context.Background()))
	f.after()
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

func (f *featured) close() {
	f.port.Close()
	f.end()
	f.Close()
}

func useNothing(x *featured, fill func(*world.World) error) (after, end func()) {
	check(fill(x.World))
	return func() {}, func() {}
}

func useDurable(x *featured, fill func(*world.World) error) (after, end func()) {
	dir := must(os.MkdirTemp("", "compare"))
	store := must(durable.Open(context.Background(), dir, x.World, x.s, durable.Options{New: fill, Interval: -1}))
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
		set.Open(interest.ClientOptions{Entity: h, Radius: 8, User: fmt.Sprint(h)})
	}
	return func() {}, background(func(ctx context.Context) error {
		return set.Run(ctx, view, 50*time.Millisecond, 1, func(*interest.Client, *interest.Packet) {})
	})
}

// Marked is a tag: it takes no memory in rows.
type Marked struct{}

var markCosts = &section{
	name:  "marks",
	title: "What comes and goes: a component, a tag, a flag",
	text: `Each of N entities with 1 component is given a mark and loses it: nanoseconds for both together. A component moves the entity to another table and back, and so does a tag, which
has no memory. A flag is one of the eight bits that each entity has, and moves nothing. "idle" is one by one between ticks; "system" is one by one by a system, in two ticks with their
refreshes, which apply the requests for components and tags; "query" is all at once by a query. "sparse set" is written by hand beside the world, for the decision about
sparse components: a dense list of handles and values, and for each index of a handle the place in it. "loop" is a loop that finds the half of the entities that have the mark, for each of these.`,
	quick: 16_000, full: 16_000, weight: 1, cost: 3,
	columns: []column{{"idle", "idle, ns"}, {"system", "system, ns"}, {"query", "query, ns"}, {"loop", "loop over half, ns"}},
	alone:   true,
	run:     runMarks,
}

// marking is a way to mark entities.
type marking struct {
	name   string
	set    func(by world.Actor, h handle.Handle, on bool) error
	all    func(of *world.Query, on bool) error // nil: no query does
	term   func(b world.Binder) world.Term      // nil: it is beside the world
	beside *sparseSet
}

const markedFlag = world.Flags(1)

func newMarkings() (*atollWorld, []marking) {
	w := newAtollWorld(world.Options{})
	tag := world.Register[Marked](w.World, "marked")
	return w, []marking{
		{"component", func(by world.Actor, h handle.Handle, on bool) error {
			if on {
				return w.velocity.Add(by, h, Velocity{})
			}
			return w.velocity.Remove(by, h)
		}, func(of *world.Query, on bool) error {
			if on {
				return w.velocity.AddTo(of, nil)
			}
			return of.Remove(w.velocity)
		}, func(b world.Binder) world.Term { return world.With[Velocity](b) }, nil},
		{"tag", func(by world.Actor, h handle.Handle, on bool) error {
			if on {
				return tag.Add(by, h, Marked{})
			}
			return tag.Remove(by, h)
		}, func(of *world.Query, on bool) error {
			if on {
				return tag.AddTo(of, nil)
			}
			return of.Remove(tag)
		}, func(b world.Binder) world.Term { return world.With[Marked](b) }, nil},
		{"flag", func(by world.Actor, h handle.Handle, on bool) error {
			if on {
				return world.AddFlags(by, h, markedFlag)
			}
			return world.RemoveFlags(by, h, markedFlag)
		}, nil, func(b world.Binder) world.Term { return world.WithFlags(b, markedFlag) }, nil},
		newSparseMarking(),
	}
}

// sparseSet keeps values of entities of one world, whose handles have small homes and indexes.
type sparseSet struct {
	places  [8][]int32 // by home and index: 1 + the place in the list, or 0
	handles []handle.Handle
	values  []Velocity
}

func newSparseMarking() marking {
	x := new(sparseSet)
	return marking{name: "sparse set", beside: x, set: func(by world.Actor, h handle.Handle, on bool) error {
		if !by.Alive(h) {
			return world.ErrStale
		}
		x.set(h, on)
		return nil
	}}
}

// set puts an entity into the set, or takes it out.
func (s *sparseSet) set(h handle.Handle, on bool) {
	home := &s.places[h.Home()]
	for int(h.Index()) >= len(*home) {
		*home = append(*home, make([]int32, 1024)...)
	}
	at := &(*home)[h.Index()]
	switch {
	case on && *at == 0:
		s.handles, s.values = append(s.handles, h), append(s.values, Velocity{})
		*at = int32(len(s.handles))
	case !on && *at > 0:
		last := len(s.handles) - 1
		moved := s.handles[last]
		s.handles[*at-1], s.values[*at-1] = moved, s.values[last]
		s.places[moved.Home()][moved.Index()] = *at
		s.handles, s.values, *at = s.handles[:last], s.values[:last], 0
	}
}

func runMarks(n int, s settings) []finding {
	var found []finding
	_, list := newMarkings()
	for i := range list {
		f := find(contender{name: list[i].name}, func() map[string]float64 {
			w, list := newMarkings()
			defer w.Close()
			return list[i].measure(w, n, s)
		})
		f.Rounds = s.plan.roundsMin
		found = append(found, f)
	}
	return found
}

// measure returns medians.
func (m *marking) measure(w *atollWorld, n int, s settings) map[string]float64 {
	pos := world.Read[Position](w.World)
	handles := w.place(position, n)
	all := w.Query(pos)
	marked, count := all, func() int { return len(m.beside.handles) }
	if m.term != nil {
		marked = w.Query(pos, m.term(w.World))
		count = marked.Count
	}
	values := map[string]float64{}
	timed := func(key string, f func(on bool)) {
		var took []float64
		for range s.plan.roundsMin + 1 {
			start := time.Now()
			f(true)
			half := time.Since(start)
			check(same("number of marked entities", count(), n))
			start = time.Now()
			f(false)
			took = append(took, float64(half+time.Since(start))/float64(n))
			check(same("number of marked entities", count(), 0))
		}
		values[key] = median(took[1:])
	}
	timed("idle", func(on bool) {
		for _, h := range handles {
			check(m.set(w.World, h, on))
		}
		w.Refresh()
	})
	add := w.system(func(c *world.Context, h handle.Handle) error { return m.set(c, h, true) }, nil)
	remove := w.system(func(c *world.Context, h handle.Handle) error { return m.set(c, h, false) }, nil)
	timed("system", func(on bool) {
		if on {
			add()
		} else {
			remove()
		}
	})
	if m.all != nil {
		timed("query", func(on bool) {
			if on {
				check(m.all(all, true))
			} else {
				check(m.all(marked, false))
			}
		})
	}
	values["loop"] = m.loop(w, handles, s)
	return values
}

// loop returns how long a loop over the marked half of the entities takes, for each of them.
func (m *marking) loop(w *atollWorld, handles []handle.Handle, s settings) float64 {
	for i, h := range handles {
		if i%2 == 0 {
			check(m.set(w.World, h, true))
		}
	}
	w.Refresh()
	pos := world.Write[Position](w.World)
	pass := func() {
		for _, h := range m.beside.handles {
			pos.Get(h).X++
		}
	}
	if m.term != nil {
		half := w.Query(pos, m.term(w.World))
		check(same("number of marked entities", half.Count(), (len(handles)+1)/2))
		pass = func() {
			for ch := range half.Chunks() {
				for i := range pos.Slice(ch) {
					pos.Slice(ch)[i].X++
				}
			}
		}
	}
	var took []float64
	for range s.plan.roundsMin + 1 {
		start := time.Now()
		for range 16 {
			pass()
		}
		took = append(took, float64(time.Since(start))/16/float64(len(handles)/2))
	}
	return median(took[1:])
}
