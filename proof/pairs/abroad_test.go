package pairs_test

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Stamp is a component that who comes home is known by.
type Stamp struct{ N int64 }

// tocksMax is how many timers a shard of the world abroad has, now and then.
const tocksMax = 4

// abroad is a world that takes travellers in, and what carriers have in hand. It makes ticks
// between those of the scene. It lacks a component, has another form of it, has few timers, or
// closes its roads, by the seed.
type abroad struct {
	*objects
	of      *scene
	here    *harbour
	stamps  *world.Component[Stamp]
	lacks   bool
	few     bool
	closed  bool
	over    bool   // nothing is carried any more
	last    uint64 // the last item from home that was decided
	guests  []*soul
	coming  map[int64]*voyage // accepted, by number
	voyages []*voyage         // home, in order
	acked   uint64            // of these
	due     []post
	dying   []handle.Handle // destroyed since the last tick
	tocks   map[int64]timed

	out, in, outAnswers, inAnswers []parcel // by carriers: from home, to home, and what was answered
}

func newAbroad(s *scene) *abroad {
	dice := rand.New(rand.NewPCG(s.seed(), 8))
	o := &objects{seed: s.seed(), made: map[string]any{}, features: s.plan.features, codecs: newCodecs()}
	o.World = world.MustNew(world.Options{Shards: 1 + dice.IntN(3), Seed: o.seed, FramesMax: s.Options().FramesMax})
	x := &abroad{objects: o, of: s, coming: map[int64]*voyage{}, tocks: map[int64]timed{}}
	n := o.Shards() + 1
	o.did, o.late, o.notes, o.children = make([][]deed, n), make([][]deed, n), make([][]note, n), make([][]child, n)
	o.bonds, x.stamps = newBonds(o.World), world.Register[Stamp](o.World, "stamp") // with other numbers than at home
	kinds := partsN
	switch dice.IntN(4) {
	case 0:
		x.lacks, kinds = true, partsN-1
	case 1:
		x.lacks, kinds = true, partsN-1
		world.Register[[2]int32](o.World, "gamma")
	}
	for i := range kinds {
		o.parts[i] = partMakers[i](o.World)
	}
	o.ticks = scheduler.New(o.World, scheduler.Options{Workers: s.workers, Chaos: s.chaos})
	if o.has("names") {
		find("names").prepare(o)
	}
	if o.has("relations") || o.has("prefabs") || o.has("clones") {
		makeTree(o)
	}
	if o.has("timers") {
		var options timer.Options
		if x.few = dice.IntN(3) == 0; x.few {
			options.Max = tocksMax
		}
		o.made["timers"] = timer.New(o.World, "tocks", world.RegisterMessage[Tock](o.World, "tock"), options)
		hear(o, "tock", "timer", func(m Tock) int64 { return m.N })
	}
	if o.has("clones") {
		registerNest(o)
	}
	if o.has("viewers") {
		o.made["viewer"] = newViewer(o)
	}
	x.here = newHarbour(o, transit.New(o.World, "roads", transit.Options{World: overseas, Codecs: o.codecs}))
	openGate(o, x.here, "gate", func(n int64) Fare { return Fare{n} }, func(v Fare) int64 { return v.N })
	openGate(o, x.here, "levy", func(n int64) levy { return levy{N: n} }, func(v levy) int64 { return v.N })
	there := harbourOf(s.objects).roads
	x.out = []parcel{emptyParcel(x.here.roads, home, overseas)}
	x.in = []parcel{emptyParcel(there, overseas, home)}
	return x
}

// some returns one of a few parcels, mostly the last.
func (x *abroad) some(of []parcel) (p parcel, ok bool) {
	if len(of) == 0 {
		return p, false
	}
	if x.of.n(4) == 0 {
		return of[max(0, len(of)-1-x.of.n(4))], true
	}
	return of[len(of)-1], true
}

// visit is what carriers and the world abroad do between two ticks of the scene.
func (x *abroad) visit() {
	s := x.of
	if x.over {
		return
	}
	for range 1 + s.n(2) {
		if p, ok := x.some(x.out); ok {
			x.arrive(p)
		}
		if p, ok := x.some(x.inAnswers); ok {
			x.turn(p)
		}
		x.tick()
		x.deeds()
	}
	for range s.n(3) {
		if p, ok := x.some(x.outAnswers); ok {
			s.carry(s.turnAct(p))
		}
		if p, ok := x.some(x.in); ok {
			s.carry(s.arriveAct(p))
		}
	}
	s.know()
}

// arrive brings a packet from home.
func (x *abroad) arrive(p parcel) {
	s, named := x.of, x.names()
	got, err := bring(x.here.roads, arriving, x.World, p)
	s.must(err == nil, "arriving abroad: %v", err)
	x.outAnswers = append(x.outAnswers, got)
	refused, last := got.refused(), got.number("Last")
	s.must(last >= x.last, "the last item abroad is %d, was %d", last, x.last)
	for _, v := range s.model.travel.voyages[overseas][x.last:last] {
		v.why, v.decided = refused[v.n], true
		x.mustDecide(v, named)
		if v.why != 0 {
			continue
		}
		x.coming[v.N] = v
		for _, y := range v.all {
			if y.named {
				named[y.name] = true
			}
			for _, t := range y.timers {
				x.tocks[t.n] = timed{due: x.Tick() + t.left}
			}
		}
	}
	x.last = last
}

// names returns the names that are taken.
func (x *abroad) names() map[int64]bool {
	named := map[int64]bool{}
	if all, ok := x.made["names"].(*names.Names[int64]); ok {
		for h, name := range all.All() {
			named[name] = !slices.Contains(x.dying, h)
		}
	}
	return named
}

// mustDecide checks what was decided about a traveller; named are the names that are taken by then.
func (x *abroad) mustDecide(v *voyage, named map[int64]bool) {
	var may []transit.Reason
	taken, timers, differs := false, 0, false
	for _, y := range v.all {
		taken = taken || y.named && named[y.name]
		timers += len(y.timers)
		differs = differs || x.lacks && y.has.has(partsN-1)
	}
	switch {
	case v.Gate == 1:
		may = append(may, transit.Unknown)
	case v.Gate == 2:
		may = append(may, transit.Differs)
	case x.closed:
		may = append(may, transit.Closed)
	case differs:
		may = append(may, transit.Differs)
	default:
		if x.few && timers > 0 {
			may = append(may, transit.Full)
		}
		if taken {
			may = append(may, transit.Taken)
		}
		if !taken && (!x.few || timers <= tocksMax) {
			may = append(may, 0)
		}
	}
	x.of.must(slices.Contains(may, v.why), "item %d, of %d entities, was decided %v abroad, want one of %v; it has %s, by gate %d", v.n, len(v.all), v.why, may, v.all[0].texts(true)[v.H], v.Gate)
	x.of.see("decided", v.H, uint64(v.why))
}

// turn brings answers from home.
func (x *abroad) turn(a parcel) {
	s := x.of
	got, err := bring(x.here.roads, turning, x.World, a)
	s.must(err == nil, "turning abroad: %v", err)
	x.in = append(x.in, got)
	acked := got.number("Acked")
	for _, v := range x.voyages[x.acked:acked] {
		if v.over = true; v.why == 0 {
			continue
		}
		x.due = append(x.due, post{"returned", v.H, v.N<<8 | int64(v.why)})
		x.host(v.all[0])
	}
	x.acked = acked
}

// host takes note of who is here, whose timers go on.
func (x *abroad) host(root *soul) {
	x.guests = append(x.guests, root)
	root.each(func(y *soul) {
		for _, t := range y.timers {
			x.tocks[t.n] = timed{y.h, x.Tick() + t.left}
		}
	})
}

// tick makes a tick, and looks at who has come.
func (x *abroad) tick() {
	s, tick := x.of, x.Tick()
	want := x.due
	x.due, x.dying = nil, x.dying[:0]
	x.step()
	s.must(x.failing == nil, "abroad: %v", x.failing)
	var got []post
	for _, notes := range x.notes {
		for _, n := range notes {
			switch n.what {
			case "arrived":
				x.meet(n.h, n.v)
			case "returned":
				got = append(got, post{n.what, n.h, n.v})
			case "timer":
				t, ok := x.tocks[n.v]
				s.must(s.model.travel.loose[n.v] || ok && t.due == tick && (t.h.IsNone() || t.h == n.h), "timer %d of %v abroad in tick %d, by the model of %v in %d", n.v, n.h, tick, t.h, t.due)
				delete(x.tocks, n.v)
			default:
				s.fail("a note abroad: %v", n)
			}
		}
	}
	mustPost(s, "abroad", got, want)
	for n, t := range x.tocks {
		s.must(t.due > tick || s.model.travel.loose[n], "timer %d of %v abroad was due in tick %d, and is not in %d", n, t.h, t.due, tick)
	}
	s.must(len(x.coming) == 0, "%d were accepted abroad, and were not told", len(x.coming))
	there := 0
	for _, root := range x.guests {
		root.each(func(*soul) { there++ })
	}
	for _, v := range x.voyages[x.acked:] {
		there += len(v.all)
	}
	s.must(x.Count() == there, "%d are abroad, by the model %d", x.Count(), there)
	if v, ok := x.made["viewer"].(*viewer); ok {
		d := v.look(x.objects)
		s.must(d == "", "a viewer abroad: %s", d)
		n := 0
		for _, root := range x.guests {
			root.each(func(y *soul) {
				if at, ok := v.sees[y.h]; y.has.has(0) && y.flags&hidden == 0 {
					n++
					s.must(ok && at == y.value[0], "%v has entered abroad, and is seen: %t, %d", y.h, ok, at)
				}
			})
		}
		s.must(n == len(v.sees), "%d are seen abroad, by the model %d", len(v.sees), n)
	}
}

// meet compares one who has arrived with what has left home.
func (x *abroad) meet(h handle.Handle, n int64) {
	s, v := x.of, x.coming[n]
	s.must(v != nil, "%v arrives abroad, with %d, which nobody has sent", h, n)
	delete(x.coming, n)
	root := soulOf(x.objects, h)
	d := match(v.all[0], root, s.ordered(), s.model.travel.loose)
	s.must(d == "", "abroad %v is another than %v was: %s", h, v.H, d)
	x.guests = append(x.guests, root)
	root.each(func(y *soul) {
		for _, t := range y.timers {
			if was, ok := x.tocks[t.n]; ok {
				x.tocks[t.n] = timed{y.h, was.due}
			}
		}
	})
}

// ordered reports whether the order of children is known to the model.
func (s *scene) ordered() bool { return s.model.policy != hierarchy.Grandparent }

// deeds destroys guests, and sends some home.
func (x *abroad) deeds() {
	s := x.of
	if !x.closed && s.n(12) == 0 {
		s.must(x.here.roads.Close(x.World) == nil, "Close")
		x.closed = true
	}
	stay := x.guests[:0]
	for _, g := range x.guests {
		switch s.n(5) {
		case 0, 1:
			if !x.closed {
				x.sail(g)
				continue
			}
		case 2:
			g.each(func(y *soul) {
				s.must(x.World.Destroy(y.h), "destroying %v abroad", y.h)
				x.dying = append(x.dying, y.h)
				for _, t := range y.timers {
					if x.tocks[t.n].due > x.Tick() {
						delete(x.tocks, t.n)
					}
				}
			})
			continue
		}
		stay = append(stay, g)
	}
	x.guests = stay
}

// sail sends a guest home.
func (x *abroad) sail(g *soul) {
	s := x.of
	v := &voyage{passage: passage{H: g.h, To: home, N: s.next()}, n: uint64(len(x.voyages) + 1)}
	err := x.stamps.Add(x.World, g.h, Stamp{v.N})
	s.must(err == nil, "Add abroad: %v", err)
	g.each(func(y *soul) {
		v.all = append(v.all, y)
		left := y.timers[:0:0]
		for _, t := range y.timers {
			if d, ok := x.tocks[t.n]; ok && d.due > x.Tick() { // or it is delivered already
				left = append(left, sand{t.n, d.due - x.Tick()})
				delete(x.tocks, t.n)
			}
		}
		y.timers = left
	})
	x.voyages = append(x.voyages, v)
	err = x.here.send[0](x.World, g.h, home, v.N)
	s.must(err == nil, "Send home: %v", err)
}

// carry has a carrier bring something to the scene's world: by a port, or at once.
func (s *scene) carry(a *act, r *request) {
	if s.coin() {
		s.byIdle(a)
		return
	}
	p := s.ports[s.n(len(s.ports))]
	_, err := a.do(s.objects, p)
	s.must(err == nil, "%s by port %d: %v", a.name, p.Number(), err)
	s.accept(p.Number(), r)
}

// bringing is the act of a carrier; then is called with what it gets.
func (s *scene) bringing(name string, p parcel, then func(m *model, got parcel)) (*act, *request) {
	var value func() parcel
	r := &request{promise: &promise{}}
	r.act = &act{name: name, joint: true, do: func(o *objects, by world.Actor) (_ []handle.Handle, err error) {
		roads := harbourOf(o).roads
		if port, ok := by.(*world.Port); ok {
			r.promise.done, value, err = bringBy(roads, name, port, p)
			return nil, err
		}
		got, err := bring(roads, name, by.(*world.World), p)
		if o == s.objects {
			value = func() parcel { return got }
		}
		return nil, err
	}, model: func(m *model, _ *entity) world.Outcome {
		got := value()
		s.see(name, 0, got.hash())
		then(m, got)
		return world.Applied
	}}
	return r.act, r
}

// turnAct brings answers of the world abroad.
func (s *scene) turnAct(a parcel) (*act, *request) {
	return s.bringing(turning, a, func(m *model, got parcel) {
		s.abroad.out = append(s.abroad.out, got)
		s.must(got.number("Acked") <= s.abroad.last, "more is settled than was decided")
		m.settleUpTo(got.number("Acked"))
	})
}

// arriveAct brings a packet from abroad.
func (s *scene) arriveAct(p parcel) (*act, *request) {
	return s.bringing(arriving, p, func(m *model, got parcel) {
		x := s.abroad
		x.inAnswers = append(x.inAnswers, got)
		refused, last := got.refused(), got.number("Last")
		strangers := s.strangers()
		for _, v := range x.voyages[m.travel.last:last] {
			v.why, v.decided = refused[v.n], true
			s.come(m, v, strangers)
		}
		m.travel.last = last
	})
}

// strangers returns who is new and stamped.
func (s *scene) strangers() map[int64]handle.Handle {
	all, stamps := map[int64]handle.Handle{}, world.Read[Stamp](s.World)
	for ch := range s.Query(world.With[Stamp](s.World)).Chunks() {
		for _, h := range ch.Handles() {
			if !s.model.given[h] {
				all[stamps.Get(h).N] = h
			}
		}
	}
	return all
}

// come takes one into the model who comes home.
func (s *scene) come(m *model, v *voyage, strangers map[int64]handle.Handle) {
	taken := false
	for _, y := range v.all {
		taken = taken || y.named && m.taken(y.name)
	}
	want := transit.Reason(0)
	if taken {
		want = transit.Taken
	}
	s.must(v.why == want, "item %d from abroad was decided %v, by the model %v", v.n, v.why, want)
	if v.why != 0 {
		return
	}
	h, ok := strangers[v.N]
	s.must(ok, "item %d from abroad was accepted, and is nowhere", v.n)
	root := soulOf(s.objects, h)
	d := match(v.all[0], root, s.ordered(), m.travel.loose)
	s.must(d == "", "at home %v is another than %v was: %s", h, v.H, d)
	root.each(func(y *soul) {
		shard := nowhere
		if m.atOnce {
			shard, _ = s.Owner(y.h)
		}
		s.must(m.create(y.h, y.has, y.value, shard, false), "%v comes from abroad, and was given before", y.h)
		e := m.entities[y.h]
		e.flags, e.bound, e.bond = y.flags, y.bound, y.bond
		if y.named {
			m.bind(e, y.name)
		}
		for _, t := range y.timers {
			m.timed[t.n] = timed{y.h, m.tick + t.left}
		}
	})
	root.each(func(y *soul) {
		for _, k := range y.kids {
			m.adopt(m.entities[k.h], y.h, false)
		}
	})
	m.travel.posts = append(m.travel.posts, post{"arrived", h, v.N})
}

// mustArrive carries until nothing is under way. The model is not told.
func (s *scene) mustArrive() {
	x, there := s.abroad, harbourOf(s.objects).roads
	x.over = true
	out, in := x.out[len(x.out)-1], x.in[len(x.in)-1]
	for range 30 {
		answers, err := bring(x.here.roads, arriving, x.World, out)
		s.must(err == nil, "arriving abroad: %v", err)
		out, err = bring(there, turning, s.World, answers)
		s.must(err == nil, "turning: %v", err)
		answers, err = bring(there, arriving, s.World, in)
		s.must(err == nil, "arriving: %v", err)
		in, err = bring(x.here.roads, turning, x.World, answers)
		s.must(err == nil, "turning abroad: %v", err)
		x.Refresh()
		s.Refresh()
	}
	a, b := there.Channel(overseas), x.here.roads.Channel(home)
	s.must(a.Items == 0 && b.Items == 0, "after all %d items and %d are under way", a.Items, b.Items)
}

// noLimit is how many items may be under way where there is no limit that is met.
const noLimit = math.MaxInt
