package pairs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// objects are a world and what was registered in it.
//
// Ownership: the scene's. While a tick runs, what is by shard belongs to the worker that
// runs the shard.
type objects struct {
	*world.World
	seed     uint64
	parts    [partsN]*part
	bundles  []*bundle
	bonds    *world.Component[Bond]
	ticks    *scheduler.Scheduler
	hasher   *state.Hasher
	codecs   *state.Codecs
	made     map[string]any // by features
	features []*feature

	scripts  [][]*act // what systems do in this tick, by shard, behind them the world's
	did      [][]deed // what they have done
	late     [][]deed // what functions and hooks have done in the refresh
	notes    [][]note // what they have seen, by shard
	children [][]child
	failing  []error // of the tick
}

// deed is an act that was done by a system, function or hook.
type deed struct {
	*act
	made []handle.Handle
	err  error
}

// note is something that was seen within a tick.
type note struct {
	what string
	h    handle.Handle
	v    int64
}

// child is what a function created, for an argument.
type child struct {
	n  int64
	hs []handle.Handle
}

// plan is what a run is made of.
type plan struct {
	features []*feature
	seed     uint64
	ticks    int
	shards   int // 0: as the seed says
}

func (p plan) String() string {
	names := make([]string, len(p.features))
	for i, f := range p.features {
		names[i] = f.name
	}
	return strings.Join(names, ",")
}

func (p plan) has(name string) bool {
	return slices.ContainsFunc(p.features, func(f *feature) bool { return f.name == name })
}

func (o *objects) has(name string) bool { return plan{features: o.features}.has(name) }

// newObjects makes a world for a plan.
func newObjects(p plan, workers int, chaos uint64) *objects {
	return newProgram(p, workers, chaos, false)
}

// newProgram is newObjects of a program that has one more of each kind of thing, if more.
func newProgram(p plan, workers int, chaos uint64, more bool) *objects {
	dice := rand.New(rand.NewPCG(p.seed, 1))
	options := world.Options{
		Shards: 2 + dice.IntN(6), Seed: p.seed, QueueRequests: 1 << 15, QueueBytes: 1 << 23, OutboxBytes: 1 << 23, PortsMax: 128,
	}
	ticks := scheduler.Options{Workers: workers, Chaos: chaos}
	for _, f := range p.features {
		if f.options != nil {
			f.options(dice, &options)
		}
		switch f.name {
		case "level":
			ticks.Balancer = whim(p.seed)
		case "ladder":
			ticks.Ladder = rungs()
		}
	}
	if p.shards > 0 {
		options.Shards = p.shards
	}
	o := &objects{World: world.MustNew(options), seed: p.seed, made: map[string]any{}, features: p.features, codecs: newCodecs()}
	engine.Of(o.World).Scatter(4)
	n := o.Shards() + 1
	o.scripts, o.did, o.late, o.notes, o.children = make([][]*act, n), make([][]deed, n), make([][]deed, n), make([][]note, n), make([][]child, n)
	o.parts, o.bundles, o.bonds = newParts(o.World), newBundles(o.World), newBonds(o.World)
	o.ticks = scheduler.New(o.World, ticks)
	o.hasher = state.NewHasher(o.World, o.codecs)
	if o.has("clones") {
		o.made["nests"] = newNests(o)
	}
	if o.has("travel") {
		world.Register[Stamp](o.World, "stamp")
	}
	o.ticks.MustAdd("act", o.act)
	for _, f := range p.features {
		if f.prepare != nil {
			f.prepare(o)
		}
	}
	if more {
		o.more()
	}
	return o
}

// act is the system that does what was drawn, on each shard; everywhere is that of the
// world.
func (o *objects) act(b *world.Build) func(*world.Context) {
	for _, p := range o.parts {
		p.declare(b)
	}
	for _, x := range o.bundles {
		b.Creates(x.part)
	}
	world.Write[Bond](b)
	if o.has("clones") {
		world.Write[Nest](b)
	}
	if o.has("travel") {
		world.Write[Stamp](b)
	}
	return func(c *world.Context) {
		i := c.Shard()
		if i == world.AllShards {
			i = c.Shards()
		}
		for _, a := range o.scripts[i] {
			made, err := a.do(o, c)
			o.did[i] = append(o.did[i], deed{a, made, err})
		}
	}
}

// note takes note of what a system or hook has seen.
func (o *objects) note(c *world.Context, what string, h handle.Handle, v int64) {
	i := c.Shard()
	if i == world.AllShards {
		i = c.Shards()
	}
	o.notes[i] = append(o.notes[i], note{what, h, v})
}

// step makes a tick.
func (o *objects) step() {
	for i := range o.did {
		o.did[i], o.late[i], o.notes[i], o.children[i] = o.did[i][:0], o.late[i][:0], o.notes[i][:0], o.children[i][:0]
	}
	o.failing = nil
	if err := o.ticks.Step(context.Background()); err != nil {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			panic(err)
		}
		o.failing = joined.Unwrap()
	}
}

// scene is a world, the model of it, and what both are given.
type scene struct {
	*objects
	plan
	drawer
	workers int
	chaos   uint64
	model   *model
	numbers int64
	ports   []*world.Port
	waiting []*promise
	facts   []fact
	tape    []*given // what no log of inputs has
	image   []byte   // what the world was loaded from for which tape is; nil: it was new
	last    []handle.Handle
	closes  bool // with requests under way
	more    bool // it goes on in another program
	quiet   bool // nobody does anything, and little is compared
	abroad  *abroad
	chain   snapshot.Chain
	links   [][]byte // what the chain has written
}

// given is what the idle world did before a tick, and what its systems did in it.
type given struct {
	idle    []*act
	scripts [][]*act
}

func newScene(p plan, workers int, chaos uint64) *scene {
	s := &scene{plan: p, workers: workers, chaos: chaos, model: newModel()}
	s.objects = newObjects(p, workers, chaos)
	s.drawer = drawer{dice: rand.New(rand.NewPCG(p.seed, 2)), shards: s.Shards(), next: func() int64 { s.numbers++; return s.numbers }}
	if m, ok := s.made["policy"].(policy); ok {
		s.model.policy = m.OnParentDeath
	}
	if h, ok := s.made["hooks"].([]*hook); ok {
		s.model.hooks = h
	}
	s.model.travel = travels{max: noLimit, voyages: map[transit.World][]*voyage{}, loose: map[int64]bool{}}
	if x, ok := s.made["harbour"].(*harbour); ok {
		s.model.travel.max = x.roads.Options().Max
	}
	return s
}

// population is how many entities there are, about.
const population = 2200

// run makes the ticks, and calls done behind each.
func (s *scene) run(done func(tick int)) {
	for range 4 {
		s.openPort()
	}
	for tick := range s.plan.ticks {
		s.tick(tick)
		done(tick)
	}
	for _, f := range s.plan.features {
		if f.end != nil {
			f.end(s)
		}
	}
	s.close()
}

func (s *scene) openPort() {
	p, err := s.OpenPort()
	s.must(err == nil, "OpenPort: %v", err)
	s.ports = append(s.ports, p)
}

// tick draws what everybody does, makes a tick, and compares.
func (s *scene) tick(tick int) {
	switch {
	case s.mayReshard(tick):
		s.reshard()
	case s.mayReload(tick):
		s.reload()
	}
	s.tape = append(s.tape, &given{scripts: make([][]*act, s.Shards()+1)})
	if s.crowd = len(s.model.entities); s.crowd < population*2/3 {
		s.populate()
	}
	s.know()
	s.rush = s.n(s.Shards())
	s.draw()
	s.play()
	if s.plan.has("shrink") && tick%3 == 1 {
		for i := range shrinkTicks {
			s.quiet = check.Enabled && i < shrinkTicks-1
			s.tape = append(s.tape, &given{scripts: make([][]*act, s.Shards()+1)})
			s.play()
		}
		s.mustShrink()
	}
}

// play makes the tick that was drawn, and compares.
func (s *scene) play() {
	copy(s.scripts, s.tape[len(s.tape)-1].scripts)
	m := s.model
	m.heard, m.hits = m.hits, map[handle.Handle][]int64{}
	m.travel.due, m.travel.posts = m.travel.posts, nil
	if s.plan.has("ladder") {
		engine.Of(s.World).LeastRung(rungAt(s.seed(), s.Tick()))
	}
	s.step()
	s.settle()
}

// know makes those known who live, and some who have just died.
func (s *scene) know() {
	s.known = s.known[:0]
	for h, e := range s.model.entities {
		if !e.pending {
			s.known = append(s.known, h)
		}
	}
	slices.Sort(s.known)
	s.known = append(s.known, s.last[max(0, len(s.last)-30):]...)
}

// populate creates entities on the idle world.
func (s *scene) populate() {
	for s.crowd < population {
		s.byIdle(spawn(&s.drawer, 1+s.n(100)))
	}
}

// draw draws the acts of all features, in any order.
func (s *scene) draw() {
	s.now = s.Tick()
	var order []*feature
	for _, f := range s.plan.features {
		if f.between != nil {
			f.between(s)
		}
		for range f.rate {
			order = append(order, f)
		}
	}
	s.dice.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, f := range order {
		if a := f.draw(&s.drawer); a != nil {
			s.give(a, f.by)
		}
	}
}

// give gives an act to one of those who may do it.
func (s *scene) give(a *act, by holders) {
	if !s.plan.has("deferred") {
		by &^= byOther
	}
	if !s.plan.has("globals") {
		by &^= byGlobal
	}
	n := s.n(100)
	switch {
	case n < 50 && by&byPort != 0:
		s.byPort(s.ports[s.n(len(s.ports))], a, s.coin())
	case n < 60 && by&byIdle != 0:
		s.byIdle(a)
	case n < 70 && by&byGlobal != 0:
		s.script(s.Shards(), a)
	case n < 85 && by&byOther != 0:
		s.script(s.n(s.Shards()), a)
	case by&bySystem != 0:
		i := s.n(s.Shards())
		if e := s.model.alive(a.h); e != nil {
			i = e.shard
		}
		s.script(i, a)
	case by&byPort != 0:
		s.byPort(s.ports[s.n(len(s.ports))], a, s.coin())
	}
}

func (s *scene) script(i int, a *act) {
	t := s.tape[len(s.tape)-1]
	t.scripts[i] = append(t.scripts[i], a)
}

// byIdle does an act on the idle world, and in the model.
func (s *scene) byIdle(a *act) {
	t := s.tape[len(s.tape)-1]
	t.idle = append(t.idle, a)
	made, err := a.do(s.objects, s.World)
	if a.born != nil {
		s.bear(a, made, err, nowhere, false)
		for _, h := range made {
			s.model.entities[h].shard, _ = s.Owner(h)
		}
		s.crowd += len(made)
		for _, l := range a.linked(made, false) {
			s.must(s.model.now(l, s.model.alive(l.h)) == world.Applied, "%s of %v by the idle world", l.name, l.h)
		}
		return
	}
	s.foster()
	e := s.model.alive(a.h)
	if e != nil && (e.marked && a.moves || e.guarded() && a.name == "destroy") {
		e = nil
	}
	want := world.Gone
	if e != nil || a.h.IsNone() {
		want = s.model.now(a, e)
	}
	s.mustErr(a, err, want, "the idle world")
	s.catchUp()
}

// foster tells the model whom functions have created, and catchUp what functions and hooks
// have done beside.
func (s *scene) foster() {
	for i, some := range s.children {
		for _, c := range some {
			s.model.children[c.n] = c.hs
		}
		s.children[i] = some[:0]
	}
}

func (s *scene) catchUp() {
	for i, actions := range s.late {
		for _, d := range actions {
			s.byLate(i, d)
		}
		s.late[i] = actions[:0]
	}
}

// mustErr checks the error of who acts at once.
func (s *scene) mustErr(a *act, err error, want world.Outcome, by string) {
	ok := (err == nil) == (want == world.Applied)
	if !a.joint {
		ok = ok && errors.Is(err, world.ErrStale) == (want == world.Gone) && errors.Is(err, world.ErrMissing) == (want == world.Missing)
	}
	if !ok {
		s.fail("%s of %v by %s: error %v, by the model it is %v", a.name, a.h, by, err, want)
	}
}

// bear takes note of who was created.
func (s *scene) bear(a *act, made []handle.Handle, err error, shard int, pending bool) {
	if a.born.copies {
		e := s.model.alive(a.born.of)
		if e == nil || shard != nowhere && e.shard != shard {
			s.must(errors.Is(err, world.ErrStale), "copy of %v: %v", a.born.of, err)
			return
		}
		if e.away != nil {
			s.must(errors.Is(err, transit.ErrAway), "copy of %v, which is away: %v", a.born.of, err)
			return
		}
		a.born.has, a.born.value = e.has, func(int) values { return e.value }
	}
	s.must(err == nil, "%s: %v", a.name, err)
	for i, h := range made {
		if !s.model.create(h, a.born.has, a.born.value(i), shard, pending) {
			s.fail("%s gave %v, which was given before", a.name, h)
		}
		if of := s.model.entities[a.born.of]; of != nil {
			e := s.model.entities[h]
			e.bound, e.bond = of.bound, of.bond
		}
	}
}

// byPort has a port ask for an act.
func (s *scene) byPort(p *world.Port, a *act, waits bool) {
	s.accept(p.Number(), s.ask(p, a, waits))
}

// ask is byPort for a request that is not accepted yet.
func (s *scene) ask(p *world.Port, a *act, waits bool) *request {
	r := &request{act: a}
	if waits {
		r.promise = &promise{done: new(world.Completion)}
		p.Notify(r.promise.done)
	}
	var err error
	r.made, err = a.do(s.objects, p)
	if err != nil {
		s.fail("%s of %v by port %d: %v", a.name, a.h, p.Number(), err)
	}
	return r
}

// accept takes note of a request that was sent.
func (s *scene) accept(sender int, r *request) {
	r.sender = sender
	if r.born != nil {
		s.bear(r.act, r.made, nil, nowhere, true)
		s.crowd += len(r.made)
	}
	if r.promise != nil && !slices.Contains(s.waiting, r.promise) {
		s.waiting = append(s.waiting, r.promise)
	}
	s.model.queue = append(s.model.queue, r)
	for _, l := range r.linked(r.made, true) {
		s.model.queue = append(s.model.queue, &request{act: l, sender: sender})
	}
}

// linked returns what is asked behind an act that has created some.
func (a *act) linked(made []handle.Handle, byPort bool) []*act {
	if a.links == nil || len(made) == 0 {
		return nil
	}
	return a.links(made, byPort)
}

// settle does in the model what the systems have done, and compares.
func (s *scene) settle() {
	m := s.model
	for i, actions := range s.did {
		for _, d := range actions {
			s.bySystem(i, d)
		}
	}
	s.foster()
	m.shifts = m.shifts[:0]
	if s.plan.has("level") {
		m.shifts = whim(s.seed()).shifts(m.tick, s.Shards(), m.shifts)
	}
	m.refresh()
	s.catchUp()
	m.wake()
	m.end()
	s.compare()
	s.last = append(s.last[:0], m.dead...)
}

func (s *scene) seed() uint64 { return s.plan.seed }

// sender is the number of a shard's systems among those who send.
func (s *scene) sender(i int) int { return s.Options().PortsMax + i }

// bySystem does in the model what a system has done.
func (s *scene) bySystem(i int, d deed) {
	m, everywhere := s.model, i == s.Shards()
	const who = "a system"
	if d.born != nil {
		shard := i
		if everywhere {
			shard = nowhere
		}
		s.bear(d.act, d.made, d.err, shard, false)
		for _, l := range d.linked(d.made, false) {
			m.queue = append(m.queue, &request{act: l, sender: s.sender(i)})
		}
		return
	}
	e := m.alive(d.h)
	if d.outer {
		m.now(d.act, e)
		return
	}
	switch owns := e != nil && (everywhere || e.shard == i); {
	case e == nil:
		if !errors.Is(d.err, world.ErrStale) {
			s.fail("%s of %v by %s: %v, but it is not alive", d.name, d.h, who, d.err)
		}
	case d.away:
		s.mustErr(d.act, d.err, m.now(d.act, e), who)
	case owns && d.own:
		if d.again && e.marked {
			s.must(d.err == nil, "%s of %v by %s: %v", d.name, d.h, who, d.err)
			return
		}
		s.mustErr(d.act, d.err, m.now(d.act, e), who)
	case d.err != nil:
		if d.refuses == nil || !d.refuses(m, e, d.err) {
			s.fail("%s of %v by %s: %v", d.name, d.h, who, d.err)
		}
	default:
		m.queue = append(m.queue, &request{act: d.act, sender: s.sender(i), made: d.made})
	}
}

// byLate does in the model what a function or hook has done in a refresh.
func (s *scene) byLate(i int, d deed) {
	m := s.model
	switch e := m.alive(d.h); {
	case d.born != nil:
		s.bear(d.act, d.made, d.err, i, false)
	case d.own:
		if e != nil {
			m.now(d.act, e)
		}
	case d.err == nil:
		m.queue = append(m.queue, &request{act: d.act, sender: s.sender(i)})
	}
}

// close closes the world: nobody is left, and who waits is told.
func (s *scene) close() {
	if !s.closes {
		s.draw()
		s.Refresh()
		for range 20 { // hooks may create others each time
			s.Clear()
		}
		s.mustLeave()
		s.must(s.Count() == 0, "%d are left in a world that was cleared", s.Count())
		if s.plan.has("insert") {
			s.insertAndClear()
		}
		s.Refresh()
		p, err := s.OpenPort()
		s.must(err == nil, "OpenPort: %v", err)
		for range 100 {
			_, err := s.bundles[0].create(p, 1)
			s.must(err == nil, "creating in a world that was cleared: %v", err)
		}
	}
	known := slices.Clone(s.known)
	s.Close()
	s.Close()
	for _, p := range s.waiting {
		s.must(p.done.Outcome() != world.Undecided, "a request has no outcome after Close")
		s.must(!s.closes || p.done.Outcome() == world.Closed, "the outcome of a request is %v after Close", p.done.Outcome())
	}
	for _, h := range known {
		s.must(!s.Alive(h), "%v is alive in a closed world", h)
	}
	for _, p := range s.ports {
		s.must(errors.Is(p.Destroy(handle.None), world.ErrClosed), "a port acts in a closed world")
	}
}

// failure is why a run failed.
type failure string

// must fails the run unless ok.
func (s *scene) must(ok bool, format string, args ...any) {
	if !ok {
		s.fail(format, args...)
	}
}

// fail fails the run.
func (s *scene) fail(format string, args ...any) {
	panic(failure(fmt.Sprintf("tick %d, %d workers, chaos %d: %s", s.model.tick, s.workers, s.chaos, fmt.Sprintf(format, args...))))
}
