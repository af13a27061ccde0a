package idle_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components: plain ones, a tag, one with pointers, and one so large that a chunk has its rows
// made ready in steps of eight.
type (
	Position struct{ X, Y float64 }
	Hull     struct{ Points int32 }
	Anchored struct{}
	Bag      struct {
		Items map[string]int32
		Seen  []handle.Handle
	}
	Cargo struct{ Loads [512]int32 }
	Boat  struct {
		Position
		Hull
	}
	Barge struct { // a boat that carries something
		Position
		Hull
		Cargo
	}
	Trader struct {
		Position
		Bag
	}
	Wreck struct {
		Hull
		Anchored
		Bag
	}
	Hit   struct{ N int32 }
	Era   int64
	Sum   int64
	Reply = async.Result[int32]
)

// The flags of entities.
const (
	asleep world.Flags = 1 << iota
	wet
	flagsAll = asleep | wet
)

// shape is what worlds may differ in and still be the same: whatever does not decide what happens.
type shape struct {
	workers int
	chaos   uint64
	more    bool // a program with one more of everything
	tight   bool // limits are low, so that calls often fail in the middle; not the same world
}

// house is a world with everything in it, and a scheduler.
type house struct {
	*world.World
	seed   uint64
	placed bool // entities are placed by what they are
	ticks  *scheduler.Scheduler
	hasher *state.Hasher
	draws  func(tick uint64) // by OnTick, if not nil

	positions *world.Component[Position]
	hulls     *world.Component[Hull]
	tags      *world.Component[Anchored]
	bags      *world.Component[Bag]
	cargos    *world.Component[Cargo]
	boats     *world.Bundle[Boat]
	barges    *world.Bundle[Barge]
	traders   *world.Bundle[Trader]
	wrecks    *world.Bundle[Wreck]
	hits      *world.Message[Hit]
	era       *world.Resource[Era]
	repair    *world.Func[int32]
	deal      *world.Transaction[Deal, uint64]
	hooks     []*world.Hook
	crews     *hierarchy.Relation // children die with their parent
	holds     *hierarchy.Relation // places, and orphans
	labels    *names.Names[string]
	fuses     *timer.Timers[Hit]
	asks      *async.Call[int32, int32]
	near      *near.Index
	camp      *prefab.Prefab

	position *world.Writer[Position]
	hull     *world.Writer[Hull]
	bag      *world.Writer[Bag]
	cargo    *world.Writer[Cargo]
	all      *world.Query
	afloat   *world.Query
	carrying *world.Query
	laden    *world.Query
	empty    *world.Query
}

const systemsN = 3

var systemNames = [systemsN]string{"drift", "fight", "trade"}

// newHouse makes a house. Worlds of one seed are the same.
func newHouse(seed uint64, s shape) *house {
	dice := rand.New(rand.NewPCG(seed, 1))
	limits := limits{indexes: handle.IndexMax, outbox: 1 << 16, places: 64, label: 12, fuses: 200}
	if s.tight {
		limits.draw(dice)
	}
	w := world.MustNew(world.Options{
		IndexMax: limits.indexes, OutboxRequests: limits.outbox,
		Shards: 1 + dice.IntN(4), Seed: seed, VersionsEach: 1 << 12, KeepOrder: dice.IntN(3) == 0, ChunkRowsFirst: 1 << dice.IntN(5), ChunkRowsFactor: 2,
		ChunkRowsMax: 64,
	})
	h := &house{World: w, seed: seed, placed: dice.IntN(2) == 0}
	h.positions, h.hulls = world.Register[Position](w, "position"), world.Register[Hull](w, "hull")
	h.tags, h.bags = world.Register[Anchored](w, "anchored"), world.Register[Bag](w, "bag")
	h.bags.CloneBy(func(to, from *Bag) { to.Items, to.Seen = maps.Clone(from.Items), slices.Clone(from.Seen) })
	h.cargos, h.barges = world.Register[Cargo](w, "cargo"), world.NewBundle[Barge](w)
	h.boats, h.traders, h.wrecks = world.NewBundle[Boat](w), world.NewBundle[Trader](w), world.NewBundle[Wreck](w)
	if h.placed {
		n := w.Shards()
		h.boats.PlaceBy(func(b Boat) int { return int(b.Points) % n })
		h.barges.PlaceBy(func(b Barge) int { return int(b.Points) % n })
		h.traders.PlaceBy(func(t Trader) int { return len(t.Items) % n })
		h.wrecks.PlaceBy(func(x Wreck) int { return int(x.Points) % n })
	}
	h.hits = world.RegisterMessage[Hit](w, "hit")
	h.hits.Wakes(asleep)
	h.era = world.RegisterResource(w, "era", Era(0))
	world.RegisterAccumulator(w, "sum", func(total, part *Sum) { *total += *part })
	h.repair = world.RegisterFunc(w, "repair", h.repairs)
	h.crews = hierarchy.New(w, "crew", hierarchy.Options{Memory: limits.crews})
	h.holds = hierarchy.New(w, "hold", hierarchy.Options{Places: 3, PlacesMax: limits.places, OnParentDeath: hierarchy.Orphan, OnChildDeath: hierarchy.Hole})
	h.labels = names.New[string](w, "label", names.Options{LengthMax: limits.label})
	h.fuses = timer.New(w, "fuse", h.hits, timer.Options{Max: limits.fuses})
	h.asks = async.New(w, "ask", world.RegisterMessage[Reply](w, "reply"), func(context.Context, int32) (int32, error) { return 0, nil }, async.Options{Ticks: 3, Rerun: true})
	h.deal = world.RegisterTransaction(w, "deal", h.deals)
	h.near = near.New(w, func(p Position) near.Point { return near.Point{X: p.X, Y: p.Y} }, near.Options{Min: near.Point{X: -50, Y: -50}, Max: near.Point{X: 50, Y: 50}, Cell: 10})
	h.camp = prefab.New(w, "camp", prefab.With(h.hulls, Hull{9}),
		prefab.Child(h.crews, 0, prefab.With(h.positions, Position{1, 1}), prefab.With(h.bags, Bag{Seen: []handle.Handle{prefab.Local(0)}})),
		prefab.Child(h.crews, 1, prefab.With(h.tags, Anchored{})))
	h.hooks = []*world.Hook{
		w.Observe("mourn", world.OnDestroy, h.mourn),
		w.Observe("count", world.OnSet|world.OnAdd, h.count, h.hulls),
	}
	if s.more {
		addMore(w)
	}
	h.ticks = scheduler.New(w, scheduler.Options{Workers: s.workers, Chaos: s.chaos, OnTick: func(scheduler.Report) {
		if h.draws != nil {
			h.draws(w.Tick())
		}
	}})
	h.ticks.MustAdd(systemNames[0], drifts)
	h.ticks.MustAdd(systemNames[1], h.fights)
	h.ticks.MustAdd(systemNames[2], h.trades, scheduler.Global(), scheduler.Every(2, 0))
	h.hasher = state.NewHasher(w, nil)
	h.position, h.hull, h.bag = world.Write[Position](w), world.Write[Hull](w), world.Write[Bag](w)
	h.all, h.afloat, h.carrying = w.Query(), w.Query(h.position, world.Without[Anchored](w)), w.Query(h.bag)
	h.cargo = world.Write[Cargo](w)
	h.laden, h.empty = w.Query(h.cargo), w.Query(h.hull, world.Without[Cargo](w))
	return h
}

// limits are options that a call may run into.
type limits struct {
	indexes                      uint32
	outbox, places, label, fuses int
	crews                        hierarchy.Memory
}

// draw makes some of the limits low.
func (l *limits) draw(dice *rand.Rand) {
	if dice.IntN(3) > 0 {
		l.indexes = 3 + dice.Uint32N(30)
	}
	if dice.IntN(2) == 0 {
		l.outbox = 3 + dice.IntN(6) // a camp takes two
	}
	if dice.IntN(2) == 0 {
		l.places = 3 + dice.IntN(2)
	}
	if dice.IntN(2) == 0 {
		l.label = 2 + dice.IntN(3)
	}
	if dice.IntN(2) == 0 {
		l.fuses = 1 + dice.IntN(5)
	}
	if dice.IntN(2) == 0 { // a camp has one list
		l.crews.ManualGrowth = true
		l.crews.Reserve = hierarchy.Room{Entities: 64, Parents: 1 + dice.IntN(8), Buckets: []int{1 + dice.IntN(6)}, Homes: 5}
	}
}

// Extra is what a program with more in it has registered, too.
type (
	Extra  struct{ A, B int64 }
	Extras struct {
		Extra
		Position
	}
	Merchant struct { // a set that others know as well
		Hull
		Bag
	}
)

// addMore makes one more of each kind of thing.
func addMore(w *world.World) {
	world.Register[Extra](w, "extra")
	world.NewBundle[Extras](w)
	world.NewBundle[Merchant](w)
	m := world.RegisterMessage[Extra](w, "extra")
	world.RegisterResource(w, "extra", Extra{})
	world.RegisterFunc(w, "extra", func(*world.EntityContext, int) {})
	world.RegisterQuestion(w, "more", func(*world.EntityContext, int) int { return 0 })
	hierarchy.New(w, "extra", hierarchy.Options{})
	names.New[int64](w, "titles", names.Options{})
	timer.New(w, "bells", m, timer.Options{})
	w.Query(world.With[Extra](w), world.With[Bag](w))
}

// repairs is the function: it writes, sends, creates and destroys.
func (h *house) repairs(self *world.EntityContext, n int32) {
	if x := h.hulls.Write(self); x != nil {
		x.Points += n
	}
	if x := h.bags.Write(self); x != nil {
		if x.Items == nil {
			x.Items = map[string]int32{}
		}
		x.Items["plank"] += n
	}
	switch n % 5 {
	case 1:
		_ = h.hits.Send(self, self.Handle(), Hit{n})
	case 2:
		_, _ = h.boats.Create(self, Boat{Hull: Hull{n}})
	case 3:
		_ = world.AddFlags(self, self.Handle(), asleep)
	case 4:
		if n%3 == 0 {
			_ = self.Destroy(self.Handle())
		}
	}
}

// mourn is a hook that sends and creates.
func (h *house) mourn(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
	hull := world.Read[Hull](b)
	b.Creates(h.wrecks)
	return func(c *world.Context, _ world.Event, dead []handle.Handle) {
		for _, d := range dead {
			if x := hull.Get(d); x != nil && x.Points > 20 {
				_, _ = h.wrecks.Create(c, Wreck{Bag: Bag{Seen: []handle.Handle{d}}})
			}
		}
		_ = h.hits.SendShard(c, c.Shard(), Hit{int32(len(dead))})
	}
}

// count is a hook that writes behind a pointer.
func (h *house) count(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
	bag := world.Write[Bag](b)
	return func(_ *world.Context, _ world.Event, hs []handle.Handle) {
		for _, x := range hs {
			if v := bag.Get(x); v != nil {
				if v.Items == nil {
					v.Items = map[string]int32{}
				}
				v.Items["set"]++
			}
		}
	}
}

// drifts moves who is awake, and counts.
func drifts(b *world.Build) func(*world.Context) {
	pos, sum := world.Write[Position](b), world.Accumulate[Sum](b)
	awake := b.Query(pos, world.WithoutFlags(b, asleep))
	return func(c *world.Context) {
		for ch := range awake.Chunks() {
			for i := range pos.Slice(ch) {
				p := &pos.Slice(ch)[i]
				p.X, p.Y = p.X+float64(c.Rand().IntN(3)-1), p.Y+1
				*sum++
			}
		}
	}
}

// fights hears hits, and acts on the entities of the shard, and on others by request.
func (h *house) fights(b *world.Build) func(*world.Context) {
	hull, bag, hits, replies := world.Write[Hull](b), world.Write[Bag](b), world.Receive[Hit](b), world.Receive[Reply](b)
	sailors := b.Query(world.With[Hull](b))
	b.Creates(h.boats, h.traders)
	return func(c *world.Context) {
		for _, m := range hits.All() {
			if x := hull.Get(m.To); x != nil {
				x.Points -= m.Body.N
			}
			if x := bag.Get(m.To); x != nil {
				x.Seen = append(x.Seen, m.To)[max(0, len(x.Seen)-3):]
			}
		}
		for _, m := range replies.All() {
			if x := hull.Get(m.To); x != nil {
				x.Points += int32(m.Body.Status)
			}
		}
		dice, before := c.Rand(), handle.None
		for e := range sailors.Entities() {
			switch dice.IntN(24) {
			case 0:
				_ = c.Destroy(e)
			case 1:
				_, _ = h.traders.Create(c, Trader{Position: Position{X: float64(dice.IntN(99) - 50)}})
			case 2:
				_ = h.hits.Send(c, before, Hit{1})
			case 3:
				_ = h.hulls.Set(c, before, Hull{int32(dice.IntN(30))})
			case 4:
				_ = h.tags.Add(c, e, Anchored{})
			case 5:
				_ = h.tags.Remove(c, e)
			case 6:
				_ = world.Move(c, e, dice.IntN(c.Shards()))
			case 7:
				_ = world.AddFlags(c, e, flagsAll)
			case 8:
				_, _ = h.fuses.After(c, e, 1+dice.IntN(3), Hit{2})
			case 9:
				_ = h.crews.AddChild(c, before, e)
			case 10:
				_ = h.labels.Bind(c, e, string(rune('a'+dice.IntN(26))))
			case 11:
				_, _ = h.asks.Go(c, e, 1)
			case 12:
				_ = h.repair.Call(c, before, int32(dice.IntN(9)))
			case 13:
				_ = h.holds.Put(c, e, before, hierarchy.Free)
			}
			before = e
		}
	}
}

// trades is a global system.
func (h *house) trades(b *world.Build) func(*world.Context) {
	bag, hull := world.Write[Bag](b), world.Write[Hull](b)
	all := b.Query(bag)
	return func(c *world.Context) {
		for e, l := range all.Entities() {
			if c.Rand().IntN(4) == 0 {
				x := bag.At(l)
				if x.Items == nil {
					x.Items = map[string]int32{}
				}
				x.Items["coin"]++
				if hull.Get(e) != nil {
					_ = h.hulls.Set(c, e, Hull{3})
				}
			}
		}
	}
}

// step makes a tick.
func (h *house) step() error { return h.ticks.Step(context.Background()) }

// options are the options of snapshots.
func (h *house) options(workers int) snapshot.Options {
	return snapshot.Options{Scheduler: h.ticks, Workers: workers}
}

// close closes the world, and waits for nothing.
func (h *house) close() { h.World.Close() }
