package transit_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

var (
	simSeeds = flag.Int("seeds", 200, "seeds of TestSim")
	simFrom  = flag.Uint64("from", 0, "the first seed of TestSim; 0: another each time")
	simTrace = flag.Bool("trace", false, "TestSim prints what it does")
)

// A simulation has two to five worlds, and packets between them that are lost, doubled and late. One
// seed decides everything. Worlds die at any step and go on with what was on disk. The disk is a
// snapshot that is taken whenever the log would be synced; or, in TestSimDisk, the files of package
// durable on a faulty.Disk, where how much of a log was synced is up to its goroutine.
type sim struct {
	dice     *rand.Rand
	nodes    []*node
	pool     []parcel
	payments uint64
	workers  int
	gold     int64
	restores bool               // one world is restored to an older day
	broken   map[[2]int]channel // the channels that this has broken: nothing may change
	fleet    map[uint64]int     // how many there are of each thing, by serial
	closing  bool               // worlds are given up, and others begin
	ending   *node              // the one that is closed
	births   int                // how many may begin yet
	paths    []string           // of real stores
	sealed   int                // which worlds are: 0 all, 1 half, 2 none
	trace    bool
}

// channel is what both ends know of a channel in one direction.
type channel struct{ out, in transit.Channel }

// node is a world, through all its lives.
type node struct {
	*town
	sim     *sim
	number  transit.World
	options transit.Options
	people  []handle.Handle
	sealed  bool
	buried  bool // it was given up
	lives   int

	image   []byte   // on the disk of the model
	synced  uint64   // the tick that it is of
	backups [][]byte // older ones

	path string // of a real store
	disk *faulty.Disk
	at   int // the call that fails
}

// parcel is what a carrier has in hand.
type parcel struct {
	at      int // the node that it goes to
	packet  *transit.Packet
	answers *transit.Answers
}

// wrong is what a simulation panics with when something is wrong.
type wrong string

func (s *sim) fail(format string, args ...any) { panic(wrong(fmt.Sprintf(format, args...))) }

func (s *sim) must(err error) {
	if err != nil {
		s.fail("%v", err)
	}
}

func (s *sim) log(format string, args ...any) {
	if s.trace {
		fmt.Printf(format+"\n", args...)
	}
}

// quiet is a testing.TB for what is used by other tests, too.
type quiet struct {
	testing.TB
	s *sim
}

func (q quiet) Helper()                      {}
func (q quiet) Errorf(f string, args ...any) { q.s.fail(f, args...) }
func (q quiet) FailNow()                     { q.s.fail("failed") }
func (q quiet) Name() string                 { return "sim" }
func (q quiet) Logf(string, ...any)          {}

// newSim makes the worlds of a seed. Each third seed restores a world, and each third gives up some.
func newSim(n uint64, workers int, paths []string) *sim {
	s := &sim{
		dice: rand.New(rand.NewPCG(n, 0)), workers: workers, paths: paths, trace: *simTrace,
		broken: map[[2]int]channel{}, fleet: map[uint64]int{},
	}
	s.restores = n%kinds == restoring && paths == nil
	s.closing = n%kinds == closing
	strays.Store(0)
	count := 2 + s.dice.IntN(3)*s.dice.IntN(2)
	if s.dice.IntN(8) == 0 {
		count = 5
	}
	if s.closing {
		count, s.births = min(count, 3), 1+s.dice.IntN(2)
	}
	s.sealed = s.dice.IntN(3)
	for range count {
		s.add()
	}
	return s
}

// The kinds of seeds.
const (
	restoring = iota
	closing
	plain
	kinds
)

// add makes a new world, with a number that none ever had.
func (s *sim) add() {
	i := len(s.nodes)
	x := &node{sim: s, number: transit.World(i + 1), sealed: s.sealed == 0 || s.sealed == 1 && s.dice.IntN(2) == 0}
	x.options.Max = 3 + s.dice.IntN(20)
	if s.paths != nil {
		x.path, x.disk = s.paths[i], faulty.New()
		old := files.Of
		files.Of = func(path string) files.Files {
			if path == x.path {
				return x.disk
			}
			return old(path)
		}
	}
	s.nodes = append(s.nodes, x)
	x.begin()
}

func (s *sim) close() {
	for _, x := range s.nodes {
		if !x.buried {
			x.end()
			x.World.Close()
		}
	}
}

// fill makes the people of a new world.
func (x *node) fill(w *world.World) error {
	first := x.people == nil // otherwise the world died before it was on disk
	x.people = nil
	for range 3 {
		h, err := x.town.people.Create(w, person{Purse{Gold: 1000}})
		if err != nil {
			return err
		}
		x.people = append(x.people, h)
		if first {
			x.sim.gold += 1000
		}
	}
	return x.fillHarbour(first)
}

// begin begins a life.
func (x *node) begin() {
	shards := 2
	if x.disk == nil {
		shards = 1 + x.sim.dice.IntN(3)
	}
	x.lives++
	bellsMost = 2
	x.town = newTownOf(x.number, shards, x.sim.workers, x.options)
	bellsMost = 24
	switch {
	case x.disk != nil:
		var err error
		x.store, err = durable.Open(context.Background(), x.path, x.World, x.s, durable.Options{
			Interval: -1, Sync: x.sealed, New: x.fill, Snapshot: snapshot.Options{Compression: snapshot.None},
		})
		x.sim.must(err)
	case x.image == nil:
		x.sim.must(x.fill(x.World))
		x.sync()
	default:
		x.sim.must(snapshot.Load(bytes.NewReader(x.image), x.World, x.saved()))
	}
	if x.disk == nil {
		engine.Of(x.World).KeepBy(func(context.Context) error {
			if !x.sealed && x.synced != x.Tick() {
				x.sync()
			}
			return nil
		})
	}
}

// saved says how the world of the model is saved.
func (x *node) saved() snapshot.Options {
	return snapshot.Options{Scheduler: x.s, Compression: snapshot.None, Workers: 1}
}

// sync brings the world of the model to its disk.
func (x *node) sync() {
	var b bytes.Buffer
	b.Grow(len(x.image) + bytes.MinRead)
	x.sim.must(snapshot.Write(&b, x.World, x.saved()))
	x.image, x.synced = b.Bytes(), x.Tick()
	if x.sim.restores && x.sim.dice.IntN(4) == 0 {
		x.backups = append(x.backups, x.image)
	}
}

// end ends a life, as the death of a process does.
func (x *node) end() {
	if x.port != nil {
		x.port = nil
	}
	if x.store != nil {
		if x.at == 0 || x.disk.Calls() < x.at {
			x.disk.PowerOff()
		}
		_ = x.store.Close()
		x.disk.Reboot()
		x.store, x.at = nil, 0
	}
}

func (x *node) crash() {
	x.sim.log("world %d crashes at tick %d", x.number, x.Tick())
	if x.disk == nil && x.sealed { // all of it is on disk
		x.sync()
	}
	x.end()
	x.World.Close()
	x.begin()
}

// step makes a tick. It reports whether the world lives.
func (x *node) step() bool {
	err := x.s.Step(context.Background())
	if x.disk != nil && (err != nil || x.store.Err() != nil) {
		x.crash()
		return false
	}
	x.sim.must(err)
	if x.disk == nil && x.sim.dice.IntN(10) == 0 && (!x.sealed || x.sim.restores) {
		x.sync()
	}
	for _, c := range x.roads.Peers() {
		if n := x.roads.Channel(c).Items; n > x.options.Max {
			x.sim.fail("world %d has %d items for world %d, more than %d", x.number, n, c, x.options.Max)
		}
	}
	return true
}

// request has a transaction run, in one tick. It reports whether the world lives.
func request[A, R any](x *node, f *world.Transaction[A, R], arg A) (_ *world.Answer[R], ok bool) {
	s := x.sim
	if x.port == nil {
		port, err := x.OpenPort()
		if x.disk != nil && err != nil {
			x.crash()
			return nil, false
		}
		s.must(err)
		x.port = port
	}
	a := new(world.Answer[R])
	err := f.Send(x.port, arg, a)
	if x.disk != nil && err != nil || s.dice.IntN(60) == 0 {
		x.crash()
		return nil, false
	}
	s.must(err)
	if !x.step() {
		return nil, false
	}
	if s.dice.IntN(40) == 0 { // before it is on disk
		x.crash()
		return nil, false
	}
	return a, true
}

// deliver brings a parcel, and takes what the world answers.
func (s *sim) deliver(p parcel) (answered parcel, ok bool) {
	x := s.nodes[p.at]
	lives := x.lives
	var err error
	if p.packet != nil {
		a, lives := request(x, x.roads.Arriving(), *p.packet)
		if !lives {
			return parcel{}, false
		}
		var v transit.Answers
		if v, err = transit.HasArrived(x.roads, a); err == nil {
			answered = parcel{at: int(v.From) - 1, answers: &v}
		}
		s.log("%v\n  arrives: %+v %v", shown(*p.packet), v, err)
	} else {
		a, lives := request(x, x.roads.Turning(), *p.answers)
		if !lives {
			return parcel{}, false
		}
		var v transit.Packet
		if v, err = transit.Turned(x.roads, a); err == nil {
			answered = parcel{at: int(v.To) - 1, packet: &v}
		}
		s.log("%+v\n  is answered: %v %v", *p.answers, shown(v), err)
	}
	switch {
	case err == nil:
	case x.disk != nil && (x.store.Err() != nil || x.World.Err() != nil):
		x.crash()
		return parcel{}, false
	case errors.Is(err, transit.ErrOlder) && s.isBroken(p), errors.Is(err, transit.ErrCarrier) && s.isLate(p):
		return parcel{}, false
	default:
		s.fail("%v", err)
	}
	if s.dice.IntN(40) == 0 {
		x.crash()
	}
	_ = lives
	return answered, true
}

// shown is a packet without what is in it.
func shown(p transit.Packet) string {
	bytes := len(p.Items)
	p.Items = ""
	return fmt.Sprintf("%+v of %d bytes", p, bytes)
}

// between returns the channel that a parcel is of.
func (p parcel) between() [2]int {
	if p.packet != nil {
		return [2]int{int(p.packet.From) - 1, int(p.packet.To) - 1}
	}
	return [2]int{int(p.answers.From) - 1, int(p.answers.To) - 1}
}

func (s *sim) isBroken(p parcel) bool {
	_, is := s.broken[p.between()]
	return is
}

// channel returns what both ends know of a channel.
func (s *sim) channel(from, to int) channel {
	a, b := s.nodes[from], s.nodes[to]
	return channel{a.roads.Channel(b.number), b.roads.Channel(a.number)}
}

// ask is what a carrier begins with.
func (s *sim) ask(from, to int) parcel {
	return parcel{at: to, packet: &transit.Packet{From: s.nodes[from].number, To: s.nodes[to].number}}
}

// pick returns two nodes that differ. There are always two that were not given up.
func (s *sim) pick() (from, to int) {
	for {
		from = s.dice.IntN(len(s.nodes))
		to = (from + 1 + s.dice.IntN(len(s.nodes)-1)) % len(s.nodes)
		if !s.nodes[from].buried && !s.nodes[to].buried {
			return from, to
		}
	}
}

// one returns a node that was not given up.
func (s *sim) one() *node {
	from, _ := s.pick()
	return s.nodes[from]
}

// pay sends gold from somebody to somebody.
func (s *sim) pay() {
	from, to := s.pick()
	s.payFrom(s.nodes[from], s.somewhere(to))
}

func (s *sim) payFrom(x, y *node) {
	s.payments++
	d := order{x.people[s.dice.IntN(3)], y.roads.Ref(y.people[s.dice.IntN(3)]), 1 + s.dice.Int64N(50), s.payments}
	if s.dice.IntN(10) == 0 {
		d.To = transit.RefOf(y.number, handle.New(0, 999, 7))
	}
	if !x.Alive(d.From) {
		return
	}
	switch s.dice.IntN(3) {
	case 0:
		_, _ = request(x, x.pays, d)
		return
	case 1:
		if x.openPorts() {
			_ = x.calls.Call(x.port, d.From, d)
		}
	case 2:
		if x.openPorts() {
			_ = x.asks.Send(x.port, d.From, d)
		}
	}
	if s.dice.IntN(2) == 0 {
		x.step()
	}
}

func (x *node) openPorts() bool {
	if x.port == nil {
		port, err := x.OpenPort()
		if err != nil {
			return false
		}
		x.port = port
	}
	return true
}

// restore restores a world to an older day, and notes which channels that breaks. Nothing is under way
// in a network at such a time.
func (s *sim) restore() {
	i := s.dice.IntN(len(s.nodes))
	x := s.nodes[i]
	if len(x.backups) == 0 {
		return
	}
	x.end()
	x.World.Close()
	first := 0
	if s.dice.IntN(2) == 0 { // it has forgotten little
		first = max(0, len(x.backups)-3)
	}
	x.image = x.backups[first+s.dice.IntN(len(x.backups)-first)]
	x.begin()
	s.log("world %d is restored to tick %d", x.number, x.Tick())
	s.pool, s.restores = nil, false
	for range 3 { // it sends again, and the same, what was in its boxes then
		x.step()
	}
	for k := range s.nodes {
		if k == i {
			continue
		}
		for _, way := range [][2]int{{i, k}, {k, i}} {
			c := s.channel(way[0], way[1])
			if c.in.Known > c.out.Acked || !transit.SamePast(s.nodes[way[0]].roads, s.nodes[way[1]].roads) {
				s.broken[way] = c
				s.log("the channel %v is broken: %+v", way, c)
			}
		}
	}
}

// money checks that there is as much gold as ever: in purses, and in items that are not accepted.
func (s *sim) money() {
	for _, x := range s.nodes {
		if x.buried {
			continue
		}
		for range 3 { // what is in boxes comes to where it belongs
			if !x.step() {
				return
			}
		}
	}
	for way, was := range s.broken {
		now := s.channel(way[0], way[1])
		if now.out.Acked != was.out.Acked || now.in.Last != was.in.Last || now.in.Known != was.in.Known {
			s.fail("the channel %v was broken, and has gone on: %+v, %+v", way, was, now)
		}
	}
	if len(s.broken) > 0 {
		return
	}
	if sum := s.sum(); sum != s.gold {
		s.fail("there is %d gold, and there was %d", sum, s.gold)
	}
	s.muster()
}

// sum adds up all gold.
func (s *sim) sum() (sum int64) {
	for _, x := range s.nodes {
		if x.buried {
			continue
		}
		sum += x.chest.Get() + x.goldOf()
		for _, h := range x.people {
			if x.Alive(h) {
				sum += x.gold(h)
			}
		}
		for _, y := range s.nodes {
			if x == y {
				continue
			}
			for _, m := range underWay(y, x.coins.Waiting, x.coins.Unaccepted) {
				sum += m.Body.Gold
			}
			sum += x.fees(y)
		}
	}
	return sum
}

// resolve is what an operator does about the channels that were broken. From then on there is as much
// gold as then.
func (s *sim) resolve() {
	s.pool = nil
	ways := slices.SortedFunc(maps.Keys(s.broken), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, way := range ways {
		a, b := s.nodes[way[0]], s.nodes[way[1]]
		how := transit.Resolution(1 + s.dice.IntN(2))
		n, err := a.roads.Resolve(context.Background(), a.World, b.number, how)
		s.log("the channel %v is resolved by %d: %d items, %v", way, how, n, err)
		s.must(err)
	}
	clear(s.broken)
	for _, x := range s.nodes {
		for range 3 {
			x.step()
		}
		x.sync() // so that no operator has to do it again
	}
	s.gold = s.sum()
	s.fleet, _ = s.count()
}

// run runs a simulation, and brings everything to where it belongs.
func (s *sim) run(steps int) {
	for range steps {
		switch {
		case s.closing:
			s.giveUp()
		case s.restores && s.dice.IntN(60) == 0:
			s.restore()
		}
		switch s.dice.IntN(21) {
		case 0, 1, 2, 3:
			s.pay()
		case 16, 17, 18, 19:
			s.sail()
		case 20:
			s.work()
		case 4, 5:
			s.pool = append(s.pool, s.ask(s.pick()))
		case 6:
			s.one().step()
		case 7:
			switch x := s.one(); s.dice.IntN(5) {
			case 0:
				x.crash()
			case 1:
				if h := x.people[s.dice.IntN(3)]; h != x.people[0] && x.Alive(h) {
					_, _ = request(x, x.dies, h)
				}
			case 2:
				if x.disk != nil && x.at == 0 {
					x.at = 1 + s.dice.IntN(60)
					var f faulty.Fault
					for f = faulty.Faults[s.dice.IntN(len(faulty.Faults))]; !f.Crashes; f = faulty.Faults[s.dice.IntN(len(faulty.Faults))] {
					}
					x.disk.FailAt(x.at, f)
				}
			case 3:
				s.money()
			}
		default:
			if len(s.pool) == 0 {
				continue
			}
			i := s.dice.IntN(len(s.pool))
			p := s.pool[i]
			if s.nodes[p.at].buried {
				s.pool = slices.Delete(s.pool, i, i+1)
				continue
			}
			if s.dice.IntN(4) > 0 { // else it comes again, at some time
				s.pool = slices.Delete(s.pool, i, i+1)
			}
			if s.dice.IntN(8) == 0 {
				continue // lost
			}
			if a, ok := s.deliver(p); ok {
				s.pool = append(s.pool, a)
			}
		}
		if len(s.pool) > 40 {
			s.pool = slices.Delete(s.pool, 0, 10)
		}
	}
	s.money()
	s.drain()
}

// drain carries until nothing is under way, by a carrier without faults.
func (s *sim) drain() {
	for from := range s.nodes {
		for to := range s.nodes {
			if from != to && !s.nodes[from].buried && !s.nodes[to].buried {
				s.drainOne(from, to)
			}
		}
	}
	s.money()
	if len(s.broken) == 0 {
		for from := range s.nodes {
			for to := range s.nodes {
				if s.nodes[from].buried || s.nodes[to].buried {
					continue
				}
				if c := s.channel(from, to); from != to && (c.out.Items > 0 || c.in.Refuse > 0) {
					s.fail("the channel %d %d is not empty: %+v", from, to, c)
				}
			}
		}
	}
}

func (s *sim) drainOne(from, to int) {
	p, ok := s.ask(from, to), false
	for range 100 {
		broken := s.isBroken(p)
		next, lives := s.deliver(p)
		if !lives {
			if broken && s.stopped(from, to) {
				return
			}
			p = s.ask(from, to)
			continue
		}
		if next.packet != nil && ok && !next.packet.Tells(p.answers) {
			c := s.channel(from, to)
			if c.out.Items == 0 && c.in.Known == c.out.Acked && c.in.Refuse == 0 {
				if broken {
					s.fail("the broken channel %d %d was not found", from, to)
				}
				return
			}
		}
		p, ok = next, true
	}
	if c := s.channel(from, to); c.out.Items > 0 && !s.isBroken(p) {
		s.fail("the channel %d %d is stuck: %+v", from, to, c)
	}
}

// stopped reports whether a broken channel is found to be, when a carrier has no bad luck.
func (s *sim) stopped(from, to int) bool {
	p := s.ask(from, to)
	for range 3 {
		x := s.nodes[p.at]
		if p.packet != nil {
			a, ok := request(x, x.roads.Arriving(), *p.packet)
			if !ok {
				return false
			}
			v, err := transit.HasArrived(x.roads, a)
			if err != nil {
				return errors.Is(err, transit.ErrOlder)
			}
			p = parcel{at: from, answers: &v}
			continue
		}
		a, ok := request(x, x.roads.Turning(), *p.answers)
		if !ok {
			return false
		}
		v, err := transit.Turned(x.roads, a)
		if err != nil {
			return errors.Is(err, transit.ErrOlder)
		}
		p = parcel{at: to, packet: &v}
	}
	return false
}

// simulate runs a seed, and returns what is wrong. sum is a hash of all worlds at the end.
func simulate(n uint64, workers int, paths []string) (problem, sum string) {
	s := newSim(n, workers, paths)
	defer s.close()
	defer func() {
		if v := recover(); v != nil {
			w, ok := v.(wrong)
			if !ok {
				panic(v)
			}
			problem = string(w)
		}
	}()
	s.run(150)
	if len(s.broken) > 0 {
		s.resolve()
		s.run(50)
	}
	if s.closing {
		s.end()
	}
	for _, x := range s.nodes {
		if !x.buried {
			sum += x.hash(quiet{s: s}) + " "
		}
	}
	return "", sum
}

// TestSim runs the simulation by many seeds.
func TestSim(t *testing.T) {
	from, count := *simFrom, *simSeeds
	if from == 0 {
		from = seed.Of(t)>>16 + 1
	} else if count == 200 {
		count = 1
	}
	switch {
	case check.Enabled:
		count = min(count, 30)
	case testing.Short():
		count = min(count, 150)
	}
	began := time.Now()
	for i := range uint64(count) {
		if problem, _ := simulate(from+i, 1, nil); problem != "" {
			t.Fatalf("seed %d: %s; go test ./ext/transit -run TestSim$ -from %d -trace", from+i, problem, from+i)
		}
	}
	t.Logf("%.0f seeds a second", float64(count)/time.Since(began).Seconds())
}

// TestSimWorkers gives the same worlds on 1, 2 and 5 workers.
func TestSimWorkers(t *testing.T) {
	defer transit.StopClock()()
	from := seed.Of(t) >> 16
	for i := range uint64(8) {
		problem, want := simulate(from+i, 1, nil)
		require.Empty(t, problem)
		for _, workers := range []int{2, 5} {
			problem, got := simulate(from+i, workers, nil)
			require.Empty(t, problem)
			require.Equal(t, want, got)
		}
	}
}

// useDisks makes the directories of worlds be faulty disks while f runs.
func useDisks(t *testing.T, f func(paths []string)) {
	old := files.Of
	defer func() { files.Of = old }()
	var paths []string
	for range 8 {
		paths = append(paths, t.TempDir())
	}
	f(paths)
}

// TestSimDisk runs the simulation with package durable on faulty disks.
func TestSimDisk(t *testing.T) {
	count := *simSeeds / 5
	if check.Enabled || testing.Short() {
		count = min(count, 4)
	}
	from := seed.Of(t) >> 16
	if *simFrom > 0 {
		from = *simFrom
	}
	began := time.Now()
	for i := range uint64(count) {
		useDisks(t, func(paths []string) {
			if problem, _ := simulate(from+i, 1+int(i%3), paths); problem != "" {
				t.Fatalf("seed %d: %s; go test ./ext/transit -run TestSimDisk -from %d -trace", from+i, problem, from+i)
			}
		})
	}
	t.Logf("%.0f seeds a second", float64(count)/time.Since(began).Seconds())
}
