package kill_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	clientsMax = 4
	delay      = 3 // ticks of a timer

	asleep world.Flags = 1
)

// The components.
type (
	// Account is what a client pays into. Each payment is made once, and pokes once and rings once.
	Account struct {
		Client      int
		Seq, Sum    uint64
		Pokes, Due  uint64
		Slept, Woke uint64
	}
	// Book repeats the payments behind pointers.
	Book struct {
		Sums map[string]uint64
		Last []uint64 // the last few
	}
	// Thing has the number of the request that made it. Born counts calls of the hook of creates. The
	// hook passes over what has no number yet: the original of the copies, and the second of a crew
	// that a tick separates from its number.
	Thing struct {
		N    uint64
		Born uint64
		Tags []uint64 // N, behind a pointer
	}
	// Hand is what a crew's first has: the handle of its second.
	Hand struct{ Second handle.Handle }
	// Clerk has what the idle world has done.
	Clerk struct {
		Notes map[string]uint64
		List  []uint64
		Ticks uint64 // by OnTick
	}

	holder struct {
		Account
		Book
	}
	thing struct{ Thing }
	desk  struct{ Clerk }
	pay   struct{ Seq, N uint64 }
	poke  struct{ Seq uint64 }
	ring  struct{ Seq uint64 }
	clone struct{ N uint64 }
	stand struct{ Seq, Sum uint64 }
)

// town is the world of the server.
type town struct {
	*world.World
	s        *scheduler.Scheduler
	accounts *world.Component[Account]
	books    *world.Component[Book]
	all      *world.Component[Thing]
	clerks   *world.Component[Clerk]
	things   *world.Bundle[thing]
	pays     *world.Func[pay]
	numbers  *world.Func[uint64]
	stands   *world.Question[struct{}, stand]
	owns     *hierarchy.Relation
	called   *names.Names[string]
	clones   *world.Message[clone]
	rings    *timer.Timers[ring]
	crew     *prefab.Prefab
	options  durable.Options
}

// amount is what a client pays with its n-th payment.
func amount(client int, n uint64) uint64 { return n*7 + uint64(client) }

// secondOf is the number of the second of a crew.
const secondOf = 1 << 40

func newTown(workers, increments int) *town {
	w := world.MustNew(world.Options{Shards: 3, VersionsEach: 10_000, Seed: 5})
	x := &town{World: w}
	x.accounts = world.Register[Account](w, "account")
	x.books = world.Register[Book](w, "book").CloneBy(func(to, from *Book) {
		to.Sums, to.Last = maps.Clone(from.Sums), slices.Clone(from.Last)
	})
	x.all = world.Register[Thing](w, "thing").CloneBy(func(to, from *Thing) {
		*to = Thing{from.N, from.Born, slices.Clone(from.Tags)}
	})
	x.clerks = world.Register[Clerk](w, "clerk").CloneBy(func(to, from *Clerk) {
		*to = Clerk{maps.Clone(from.Notes), slices.Clone(from.List), from.Ticks}
	})
	hands := world.Register[Hand](w, "hand")
	x.things = world.NewBundle[thing](w)
	holders, desks := world.NewBundle[holder](w), world.NewBundle[desk](w)
	pokes := world.RegisterMessage[poke](w, "poke")
	pokes.Wakes(asleep)
	x.clones = world.RegisterMessage[clone](w, "clone")
	rung := world.RegisterMessage[ring](w, "ring")
	x.rings = timer.New(w, "rings", rung, timer.Options{})
	x.called = names.New[string](w, "called", names.Options{})
	x.owns = hierarchy.New(w, "owns", hierarchy.Options{OnParentDeath: hierarchy.Destroy})
	x.pays = world.RegisterFunc(w, "pay", x.paid(pokes))
	x.numbers = world.RegisterFunc(w, "number", func(self *world.EntityContext, n uint64) {
		t := x.all.Write(self)
		t.N, t.Tags = n, []uint64{n}
	})
	x.stands = world.RegisterQuestion(w, "stands", func(self *world.EntityContext, _ struct{}) stand {
		a := x.accounts.Read(self)
		return stand{a.Seq, a.Sum}
	})
	x.crew = prefab.New(w, "crew", prefab.With(x.all, Thing{}), prefab.With(hands, Hand{prefab.Local(1)}),
		prefab.Child(x.owns, 0, prefab.With(x.all, Thing{})))
	w.Observe("born", world.OnCreate, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		born := world.Write[Thing](b)
		return func(_ *world.Context, _ world.Event, hs []handle.Handle) {
			for _, h := range hs {
				if t := born.Get(h); t.N != 0 {
					t.Born++
				}
			}
		}
	}, x.all)
	clerk := world.Write[Clerk](w)
	desk1 := w.Query(world.With[Clerk](w))
	x.s = scheduler.New(w, scheduler.Options{Workers: workers, OnTick: func(r scheduler.Report) {
		if w.Tick()%7 != 0 {
			return
		}
		for h := range desk1.Entities() {
			c := clerk.Get(h)
			c.Ticks++
			c.Notes["ticks"] = c.Ticks
		}
	}})
	x.systems()
	x.options = durable.Options{
		Interval: 15 * time.Millisecond, Increments: increments,
		New: func(w *world.World) error {
			for i := range clientsMax {
				if _, err := holders.Create(w, holder{Account{Client: i}, Book{Sums: map[string]uint64{}}}); err != nil {
					return err
				}
			}
			_, err := x.things.Create(w, thing{}) // what Copy copies
			_, e := desks.Create(w, desk{Clerk{Notes: map[string]uint64{}}})
			return errors.Join(err, e)
		},
	}
	return x
}

// paid is the function of a payment.
func (x *town) paid(pokes *world.Message[poke]) func(*world.EntityContext, pay) {
	return func(self *world.EntityContext, p pay) {
		a := x.accounts.Write(self)
		if a.Seq+1 != p.Seq {
			return
		}
		a.Seq, a.Sum = p.Seq, a.Sum+p.N
		b := x.books.Write(self)
		b.Sums[fmt.Sprint(p.Seq%8)] += p.N
		if b.Last = append(b.Last, p.Seq); len(b.Last) > 5 {
			b.Last = b.Last[1:]
		}
		_ = pokes.Send(self, self.Handle(), poke{p.Seq}) // it is alive
		_, _ = x.rings.After(self, self.Handle(), delay, ring{p.Seq})
	}
}

// systems adds the systems.
func (x *town) systems() {
	x.s.MustAdd("poked", func(b *world.Build) func(*world.Context) {
		in, accounts := world.Receive[poke](b), world.Write[Account](b)
		return func(*world.Context) {
			for _, m := range in.All() {
				accounts.Get(m.To).Pokes++
			}
		}
	})
	x.s.MustAdd("rung", func(b *world.Build) func(*world.Context) {
		in, accounts := world.Receive[ring](b), world.Write[Account](b)
		return func(*world.Context) {
			for _, m := range in.All() {
				accounts.Get(m.To).Due++
			}
		}
	})
	x.s.MustAdd("copy", func(b *world.Build) func(*world.Context) {
		in := world.Receive[clone](b)
		world.Read[Thing](b)
		b.Creates(x.things)
		return func(c *world.Context) {
			for _, m := range in.All() {
				if h, err := world.Copy(c, m.To); err == nil {
					_ = x.numbers.Call(c, h, m.Body.N) // it is alive
				}
			}
		}
	})
	x.s.MustAdd("awake", func(b *world.Build) func(*world.Context) {
		accounts := world.Write[Account](b)
		awake := b.Query(accounts, world.WithoutFlags(b, asleep))
		return func(*world.Context) {
			for rows := range awake.Chunks() {
				for i := range accounts.Slice(rows) {
					accounts.Slice(rows)[i].Woke++
				}
			}
		}
	})
	x.s.MustAdd("drift", func(b *world.Build) func(*world.Context) {
		things := b.Query(world.With[Thing](b))
		all := world.Read[Thing](b)
		b.Creates(x.things)
		return func(c *world.Context) {
			for rows := range things.Chunks() {
				for i, h := range rows.Handles() {
					if all.Slice(rows)[i].N>>62 != 0 && c.Rand().IntN(30) == 0 {
						c.Destroy(h)
					}
				}
			}
			if c.Rand().IntN(4) == 0 {
				n := c.Rand().Uint64() | 1<<63
				_, _ = x.things.Create(c, thing{Thing{N: n, Tags: []uint64{n}}})
			}
		}
	})
}

// holders returns the accounts by client.
func (x *town) holders() (all [clientsMax]handle.Handle) {
	accounts := world.Read[Account](x.World)
	for h := range x.Query(world.With[Account](x.World)).Entities() {
		all[accounts.Get(h).Client] = h
	}
	return all
}

// clerk returns the desk's entity.
func (x *town) clerk() (h handle.Handle) {
	for h = range x.Query(world.With[Clerk](x.World)).Entities() {
	}
	return h
}

// template returns the thing that has number 0, and is copied: the first.
func (x *town) template() (first handle.Handle) {
	things := world.Read[Thing](x.World)
	for h := range x.Query(world.With[Thing](x.World)).Entities() {
		if things.Get(h).N == 0 && (first == handle.None || h.Compare(first) < 0) {
			first = h
		}
	}
	return first
}

// audit returns what is wrong with a world in which nothing is under way.
func (x *town) audit() (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	accounts, books, things, clerks := world.Read[Account](x.World), world.Read[Book](x.World), world.Read[Thing](x.World), world.Read[Clerk](x.World)
	for client, h := range x.holders() {
		a, b := accounts.Get(h), books.Get(h)
		sum, booked := uint64(0), uint64(0)
		for n := uint64(1); n <= a.Seq; n++ {
			sum += amount(client, n)
		}
		for _, n := range b.Sums {
			booked += n
		}
		if a.Sum != sum || booked != sum {
			say("client %d has paid %d times: %d, and %d in the book, want %d", client, a.Seq, a.Sum, booked, sum)
		}
		if a.Pokes != a.Seq || a.Due != a.Seq {
			say("client %d has paid %d times, was poked %d times and rung %d times", client, a.Seq, a.Pokes, a.Due)
		}
		if n := len(b.Last); n > 0 && b.Last[n-1] != a.Seq || n != int(min(a.Seq, 5)) {
			say("client %d has paid %d times, the last were %v", client, a.Seq, b.Last)
		}
	}
	reads := x.owns.Read(x.World)
	for h := range x.Query(world.With[Thing](x.World)).Entities() {
		t := things.Get(h)
		if want := min(t.N, 1); t.Born != want && (t.Born != 0 || t.N&secondOf == 0) {
			say("thing %d was born %d times", t.N, t.Born)
		}
		if t.N != 0 && !slices.Equal(t.Tags, []uint64{t.N}) {
			say("thing %d has tags %v", t.N, t.Tags)
		}
		if t.N&secondOf != 0 && t.N>>62 == 0 {
			if p := reads.Parent(h); p == handle.None || things.Get(p).N != t.N&^secondOf {
				say("thing %d has the parent %v", t.N, p)
			}
		}
		if name, is := x.called.NameOf(h); is && name != fmt.Sprint("n", t.N) {
			say("thing %d is called %q", t.N, name)
		}
	}
	c := clerks.Get(x.clerk())
	if c.Notes["ticks"] != c.Ticks {
		say("OnTick has counted %d, and noted %d", c.Ticks, c.Notes["ticks"])
	}
	seen := map[uint64]bool{}
	for _, n := range c.List {
		if seen[n] {
			say("the idle world has done %d twice", n)
		}
		seen[n] = true
		if c.Notes[fmt.Sprint(n)] != n {
			say("the idle world has listed %d, and not noted it", n)
		}
	}
	return wrong
}
