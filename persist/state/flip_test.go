package state_test

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// unitsEach is the number of units and of markers of the worlds that are compared.
const unitsEach = 40

// The sections that flips show in.
var (
	whole    = []string{"the world"}
	body     = []string{`shard 0: component "body"`}
	slots    = []string{"shard 0: slots"}
	entities = []string{"shard 0: entities"}
	hits     = []string{`shard 0: message "hit"`}
	outside  = []string{"slots of what ports create"}
)

// flips each make two worlds that differ in one thing. Those sections tell, and no
// others.
var flips = []struct {
	name  string
	where []string
	base  func(f *fixture) // nil: nothing
	flip  func(f *fixture)
}{
	{"int8", body, edit(nil), edit(func(b *Body) { b.Small ^= 1 })},
	{"float64, lowest bit", body, edit(nil), edit(func(b *Body) { b.Large = math.Float64frombits(1) })},
	{"float64, sign of zero", body, edit(nil), edit(func(b *Body) { b.Large = math.Copysign(0, -1) })},
	{"bool, last of an array", body, edit(nil), edit(func(b *Body) { b.Flags[2] = true })},
	{"uint32, highest bit", body, edit(nil), edit(func(b *Body) { b.Count = 1 << 31 })},
	{"field of a field", body, edit(nil), edit(func(b *Body) { b.Inner.C = 1 })},
	{"complex64, imaginary part", body, edit(nil), edit(func(b *Body) { b.Wide = 1i })},
	{"handle, highest bit", body, edit(nil), edit(func(b *Body) { b.Target = 1 << 63 })},
	{"int16 before padding", body, edit(nil), edit(func(b *Body) { b.Last = -1 })},
	{"field of the last element", body, edit(nil), edit(func(b *Body) { b.Numbers[1].B = 1 })},
	{"component without padding", []string{`shard 0: component "points"`}, setPoints(1), setPoints(2)},

	{"another entity's", body, editOf(0, func(b *Body) { b.Count = 9 }), editOf(1, func(b *Body) { b.Count = 9 })},
	{"handed out for writing", body, func(f *fixture) { f.Refresh() }, func(f *fixture) {
		f.Refresh()
		world.Write[Body](f.World).Get(f.unitAt(0))
	}},
	{"flag", entities, nil, func(f *fixture) { require.NoError(f.t, world.AddFlags(f.World, f.unitAt(0), 1)) }},
	{"other flag", entities, nil, func(f *fixture) { require.NoError(f.t, world.AddFlags(f.World, f.unitAt(0), 4)) }},
	{"marked", entities, nil, func(f *fixture) { f.World.Destroy(f.unitAt(0)) }},
	{"which is marked", entities, destroy(0), destroy(1)},
	{"which table is marked first", entities, destroyBoth(false), destroyBoth(true)},
	{"order of what units hold", body, swapped(false), swapped(true)},
	{"order of the rows", entities, visitors(0, 1), visitors(1, 0)},
	{"room that was reserved", append(entities, "shard 1: entities"), nil, func(f *fixture) {
		require.NoError(f.t, f.unit.Reserve(f.World, 1000))
	}},

	{"version", append(slots[:1:1], "shard 0: entities"), reborn(false), reborn(true)}, // and when a row was last in the chunk
	{"order of the free list", slots, freed(0, 1), freed(1, 0)},
	{"slot of what a port created", outside, visit(1), visit(2)},

	{"message", hits, nil, send(0, Hit{1})},
	{"body of a message", hits, send(0, Hit{1}), send(0, Hit{2})},
	{"addressee of a message", hits, send(0, Hit{1}), send(1, Hit{1})},
	{"order of messages", hits, send(0, Hit{1}, Hit{2}), send(0, Hit{2}, Hit{1})},

	{"resource", []string{`resource "rules"`}, nil, func(f *fixture) { f.rules.Set(Rules{2}) }},
	{"accumulator", []string{`resource "tally"`}, nil, func(f *fixture) { f.tally.Set(Tally{1}) }},
	{"part of an accumulator", []string{`resource "tally"`}, part(0), part(1)},
	{"relation", []string{`extension "kin"`}, nil, func(f *fixture) {
		require.NoError(f.t, f.kin.AddChild(f.World, f.unitAt(0), f.unitAt(1)))
	}},
	{"order of a relation", []string{`extension "kin"`}, family(0, 1, 2), family(0, 2, 1)},
	{"beside the world", []string{`extra "weather"`}, weather("sun"), weather("rain")},
	{"where the next entity goes", whole, another(true), another(false)},
}

func TestFlips(t *testing.T) {
	for _, c := range flips {
		t.Run(c.name, func(t *testing.T) {
			base, flipped := newFixture(t, options()).populate(unitsEach), newFixture(t, options()).populate(unitsEach)
			if c.base != nil {
				c.base(base)
			}
			c.flip(flipped)
			require.NotEqual(t, base.hash(), flipped.hash())
			require.Equal(t, c.where, base.differs(flipped))
		})
	}
}

// TestFlipOptions checks that each option that shapes what systems do counts, and
// the tick.
func TestFlipOptions(t *testing.T) {
	base := newFixture(t, options())
	for name, change := range map[string]func(*world.Options){
		"Seed":           func(o *world.Options) { o.Seed++ },
		"TickInterval":   func(o *world.Options) { o.TickInterval = time.Second },
		"KeepOrder":      func(o *world.Options) { o.KeepOrder = true },
		"IndexMax":       func(o *world.Options) { o.IndexMax = 5000 },
		"VersionMax":     func(o *world.Options) { o.VersionMax = 5 },
		"OutboxRequests": func(o *world.Options) { o.OutboxRequests = 5 },
		"OutboxBytes":    func(o *world.Options) { o.OutboxBytes = 500 },
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			change(&o)
			require.Equal(t, whole, base.differs(newFixture(t, o)))
		})
	}
	t.Run("Shards", func(t *testing.T) {
		o := options()
		o.Shards = 3
		require.NotEqual(t, base.hash(), newFixture(t, o).hash())
	})
	t.Run("tick", func(t *testing.T) {
		later := newFixture(t, options())
		later.Refresh()
		require.Equal(t, whole, base.differs(later))
	})
	t.Run("what does not shape it", func(t *testing.T) {
		o := options()
		o.PortsMax, o.QueueRequests, o.QueueBytes = 5, 5, 500
		require.Equal(t, base.hash(), newFixture(t, o).hash())
	})
}

// TestPadding checks that what is between the fields, and in fields without a
// name, does not count.
func TestPadding(t *testing.T) {
	a, b := newFixture(t, options()).populate(unitsEach), newFixture(t, options()).populate(unitsEach)
	p := world.Read[Body](b.World).Get(b.unitAt(0))
	memory := unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
	value := *p
	for i := range memory {
		memory[i] = 0xA5
	}
	p.Small, p.Large, p.Flags, p.Count, p.Wide, p.Target, p.Last = value.Small, value.Large, value.Flags, value.Count, value.Wide, value.Target, value.Last
	p.Inner.A, p.Inner.B, p.Inner.C = value.Inner.A, value.Inner.B, value.Inner.C
	for i, n := range value.Numbers {
		p.Numbers[i].A, p.Numbers[i].B, p.Numbers[i].C = n.A, n.B, n.C
	}
	require.Contains(t, memory, byte(0xA5), "which is not nothing")
	require.Equal(t, a.hash(), b.hash())
}

// unitAt returns the i-th unit of shard 0.
func (f *fixture) unitAt(i int) handle.Handle {
	for ch := range f.Query(world.Read[Body](f.World)).Chunks() {
		for _, h := range ch.Handles() {
			if owner, _ := f.Owner(h); owner == 0 {
				if i == 0 {
					return h
				}
				i--
			}
		}
	}
	f.t.Fatal("shard 0 has too few units")
	return handle.None
}

// edit changes the body of a unit; nil changes nothing.
func edit(change func(*Body)) func(*fixture) { return editOf(0, change) }

func editOf(i int, change func(*Body)) func(*fixture) {
	return func(f *fixture) {
		if b := world.Write[Body](f.World).Get(f.unitAt(i)); change != nil {
			change(b)
		}
	}
}

func setPoints(n int64) func(*fixture) {
	return func(f *fixture) { require.NoError(f.t, f.points.Set(f.World, f.unitAt(0), Points{n})) }
}

func destroy(i int) func(*fixture) {
	return func(f *fixture) { require.True(f.t, f.World.Destroy(f.unitAt(i))) }
}

// destroyBoth destroys an entity of each of two tables.
func destroyBoth(swap bool) func(*fixture) {
	return func(f *fixture) {
		all := [2]handle.Handle{f.unitAt(0), f.unitAt(1)}
		require.NoError(f.t, f.points.Remove(f.World, all[1]))
		if swap {
			all[0], all[1] = all[1], all[0]
		}
		for _, h := range all {
			require.True(f.t, f.World.Destroy(h))
		}
	}
}

// swapped makes two units that are alike but for their order.
func swapped(yes bool) func(*fixture) {
	return func(f *fixture) {
		counts := [2]uint32{1, 2}
		if yes {
			counts = [2]uint32{2, 1}
		}
		for _, n := range counts {
			f.create(Unit{Body: Body{Count: n}})
		}
	}
}

// reborn has two slots used, one twice or each once, and both free again.
func reborn(twice bool) func(*fixture) {
	return func(f *fixture) {
		a := f.create(Unit{})
		if twice {
			f.World.Destroy(a)
			f.Refresh()
			f.World.Destroy(f.create(Unit{}))
		} else {
			f.World.Destroy(f.create(Unit{}))
			f.World.Destroy(a)
			f.Refresh()
		}
		f.Refresh()
	}
}

// freed destroys two units one after the other.
func freed(first, second int) func(*fixture) {
	return func(f *fixture) {
		last := [2]handle.Handle{f.create(Unit{}), f.create(Unit{})}
		f.World.Destroy(last[first])
		f.Refresh()
		f.World.Destroy(last[second])
		f.Refresh()
	}
}

// visit has a port create units that are gone again.
func visit(units int) func(*fixture) {
	return func(f *fixture) {
		p := f.port()
		var all []handle.Handle
		for range units {
			h, err := f.unit.Create(p, Unit{})
			require.NoError(f.t, err)
			all = append(all, h)
		}
		f.Refresh()
		for _, h := range all {
			f.World.Destroy(h)
		}
		f.Refresh()
	}
}

// visitors has two ports create a unit each. Who draws a handle first has the
// lower one, and the port with the lower number is the first in the table.
func visitors(first, second int) func(*fixture) {
	return func(f *fixture) {
		ports := [2]*world.Port{f.port(), f.port()}
		for _, i := range []int{first, second} {
			_, err := f.unit.Create(ports[i], Unit{})
			require.NoError(f.t, err)
		}
		f.Refresh()
	}
}

// another makes a marker like one that is there, as a copy or not.
func another(copied bool) func(*fixture) {
	return func(f *fixture) {
		for _, h := range f.all {
			owner, ok := f.Owner(h)
			if !ok || owner != 0 || !f.Has(h, f.tag) {
				continue
			}
			var err error
			if copied {
				_, err = world.Copy(f.World, h)
			} else {
				_, err = f.marker.Create(f.World, Marker{Points: *world.Read[Points](f.World).Get(h)})
			}
			require.NoError(f.t, err)
			return
		}
	}
}

// family adds children to a unit.
func family(parent int, children ...int) func(*fixture) {
	return func(f *fixture) {
		for _, c := range children {
			require.NoError(f.t, f.kin.AddChild(f.World, f.unitAt(parent), f.unitAt(c)))
		}
	}
}

func send(to int, all ...Hit) func(*fixture) {
	return func(f *fixture) {
		for _, hit := range all {
			require.NoError(f.t, f.hit.Send(f.World, f.unitAt(to), hit))
		}
	}
}

func part(n uint64) func(*fixture) {
	return func(f *fixture) {
		world.Accumulate[Tally]((*world.Build)(engine.Of(f.World).NewBuild(1, "test"))).N = n
	}
}

func weather(text string) func(*fixture) {
	return func(f *fixture) { f.hasher.Add("weather", func(dst []byte) []byte { return append(dst, text...) }) }
}

// TestSame checks that worlds that were made alike have the same hash, and that
// hashing changes nothing.
func TestSame(t *testing.T) {
	a, b := newFixture(t, options()).populate(unitsEach), newFixture(t, options()).populate(unitsEach)
	require.Equal(t, a.hash(), b.hash())
	require.Equal(t, a.hash(), b.hash())
	require.Empty(t, a.differs(b))
	once, err := state.StateHash(a.World, nil)
	require.NoError(t, err)
	require.Equal(t, a.hash(), once)
	require.NotZero(t, once)
	require.Len(t, once.String(), 16)
}

// TestHeldRequests checks that what a function has sent, and the next refresh will
// apply, counts: to whom, what, and of which kind.
func TestHeldRequests(t *testing.T) {
	var code *world.Func[func()]
	hash := func(do func(f *fixture, self *world.EntityContext)) *fixture {
		f := newFixture(t, options()).populate(unitsEach)
		code = world.RegisterFunc(f.World, "code", func(_ *world.EntityContext, run func()) { run() })
		run := world.RegisterFunc(f.World, "run", func(self *world.EntityContext, _ int8) { do(f, self) })
		require.NoError(t, run.Call(f.World, f.unitAt(0), 0))
		return f
	}
	none := hash(func(*fixture, *world.EntityContext) {})
	base := hash(func(f *fixture, self *world.EntityContext) { _ = f.hit.Send(self, f.unitAt(2), Hit{1}) })
	again := hash(func(f *fixture, self *world.EntityContext) { _ = f.hit.Send(self, f.unitAt(2), Hit{1}) })
	require.Equal(t, base.hash(), again.hash())
	for name, other := range map[string]*fixture{
		"sent":    none,
		"body":    hash(func(f *fixture, self *world.EntityContext) { _ = f.hit.Send(self, f.unitAt(2), Hit{2}) }),
		"to whom": hash(func(f *fixture, self *world.EntityContext) { _ = f.hit.Send(self, f.unitAt(3), Hit{1}) }),
		"kind":    hash(func(f *fixture, self *world.EntityContext) { _ = self.Destroy(f.unitAt(2)) }),
	} {
		require.Equal(t, []string{"shard 0: requests"}, base.differs(other), name)
	}
	sent := hash(func(f *fixture, self *world.EntityContext) { _ = code.Call(self, f.unitAt(2), func() {}) })
	_, err := sent.hasher.StateHash()
	require.ErrorIs(t, err, state.ErrNoCodec)
	require.ErrorContains(t, err, `call of function "code"`)
}

// TestFlipHooks checks that what hooks have not been told of yet counts, and which of
// them are enabled; and nothing of it once they were told.
func TestFlipHooks(t *testing.T) {
	hash := func(tell bool, act func(f *fixture, hook *world.Hook)) state.Hash {
		f := newFixture(t, options())
		hook := f.Observe("hook", world.OnCreate|world.OnAdd|world.OnRemove|world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(*world.Context, world.Event, []handle.Handle) {}
		}, f.points)
		f.populate(unitsEach)
		act(f, hook)
		require.NoError(t, f.points.Set(f.World, f.unitAt(1), Points{5})) // the same in all
		if tell {
			f.Refresh()
		}
		return f.hash()
	}
	set := func(f *fixture) error { return f.points.Set(f.World, f.unitAt(0), Points{0}) }
	nothing := hash(false, func(*fixture, *world.Hook) {})
	seen := map[state.Hash]string{nothing: "nothing"}
	for name, act := range map[string]func(f *fixture, hook *world.Hook){
		"set to what it was": func(f *fixture, _ *world.Hook) { require.NoError(t, set(f)) },
		"changed and back": func(f *fixture, _ *world.Hook) {
			require.NoError(t, f.points.Remove(f.World, f.unitAt(0)))
			require.NoError(t, f.points.Add(f.World, f.unitAt(0), Points{0}))
		},
		"disabled":    func(_ *fixture, hook *world.Hook) { hook.SetEnabled(false) },
		"disabled on": func(f *fixture, _ *world.Hook) { engine.Of(f.World).Survey().Hooks()[0].Disable(1) },
	} {
		got := hash(false, act)
		require.Empty(t, seen[got], name)
		seen[got] = name
		require.Equal(t, got, hash(false, act), name)
	}
	require.Equal(t, hash(true, func(*fixture, *world.Hook) {}), hash(true, func(f *fixture, _ *world.Hook) { require.NoError(t, set(f)) }))
}
