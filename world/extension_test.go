package world_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// pact is an extension: whoever dies takes along the one that it is bound to, and
// some are not to die.
type pact struct {
	f      *fixture
	name   string
	bound  map[handle.Handle]handle.Handle
	spared map[handle.Handle]bool
	log    *[]string
	sent   *engine.Requests[bind]
}

type bind struct{ to handle.Handle }

func newPact(f *fixture, name string, log *[]string) *pact {
	p := &pact{f: f, name: name, bound: map[handle.Handle]handle.Handle{}, spared: map[handle.Handle]bool{}, log: log}
	p.sent = engine.NewRequests(engine.Of(f.World), name, func(h handle.Handle, b *bind) engine.Outcome {
		if b.to == h {
			return engine.Refused
		}
		p.bound[h] = b.to
		p.tell("bind %v", h)
		return engine.Applied
	})
	engine.Of(f.World).Extend(p)
	return p
}

func (p *pact) tell(format string, args ...any) {
	*p.log = append(*p.log, p.name+" "+fmt.Sprintf(format, args...))
}

func (p *pact) Begin()  { p.tell("begins") }
func (p *pact) Settle() { p.tell("settles") }

func (p *pact) Spare(d *extend.DyingSet) bool {
	some := false
	for _, h := range d.All() {
		if p.spared[h] && d.Has(h) {
			d.Spare(h)
			some = true
		}
	}
	return some
}

func (p *pact) Name() string { return "pact" }

func (p *pact) Spread(d *extend.DyingSet, from int) {
	for n := len(d.All()); from < n; from++ {
		h := d.All()[from]
		p.tell("hears of %v", h)
		if to, ok := p.bound[h]; ok {
			d.Mark([]handle.Handle{to})
			delete(p.bound, h)
		}
	}
}

// TestExtensionRefresh is the part of extensions in a refresh, in its order.
func TestExtensionRefresh(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	var log []string
	a, b := newPact(f, "a", &log), newPact(f, "b", &log)
	h := f.newUnits(40)
	p := f.port()
	var done [4]world.Completion
	require.NoError(t, a.sent.Send(p.Notify(&done[0]), h[0], bind{h[20]}))
	require.NoError(t, b.sent.Send(p.Notify(&done[1]), h[20], bind{h[30]}))
	require.NoError(t, p.Notify(&done[2]).Destroy(h[0]))
	require.NoError(t, a.sent.Send(p.Notify(&done[3]), h[1], bind{h[1]}))
	f.tick(on(1, func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { require.NoError(t, a.sent.Send(c, h[2], bind{h[3]})) }
	}))
	want := []string{
		"a begins", "b begins",
		"b bind " + h[20].String(), "a bind " + h[2].String(),
		"a hears of " + h[0].String(),
		"b hears of " + h[0].String(),
		"a settles", "b settles",
	}
	require.Equal(t, want, log, "h[0] was dying when a was to bind it")
	require.Equal(t, world.Gone, done[0].Outcome())
	require.Equal(t, world.Applied, done[1].Outcome())
	require.Equal(t, world.Applied, done[2].Outcome())
	require.Equal(t, world.Refused, done[3].Outcome())

	// DyingSet spread from one extension to the other until none is added.
	log = log[:0]
	a.bound[h[5]], b.bound[h[20]], a.bound[h[30]] = h[20], h[30], h[31]
	require.True(t, f.Destroy(h[5]))
	f.Refresh()
	for i, dead := range map[int]bool{5: true, 20: true, 30: true, 31: true, 2: false, 3: false} {
		require.Equal(t, dead, !f.Alive(h[i]), "%d", i)
	}
	require.Equal(t, []string{
		"a hears of " + h[5].String(),
		"b hears of " + h[5].String(), "b hears of " + h[20].String(),
		"a hears of " + h[30].String(),
		"b hears of " + h[31].String(),
		"a settles", "b settles",
	}, log)
}

// TestExtensionSpare: who is spared lives on, unmarked, and who asked for the death
// is told.
func TestExtensionSpare(t *testing.T) {
	for _, keepOrder := range []bool{false, true} {
		f := newFixture(t, world.Options{Shards: 2, KeepOrder: keepOrder})
		var log []string
		a := newPact(f, "a", &log)
		h := f.newUnits(200)
		for i, x := range h {
			a.spared[x] = i%3 == 0
		}
		p := f.port()
		done := make([]world.Completion, 2*len(h))
		for i, x := range h {
			require.NoError(t, p.Notify(&done[2*i]).Destroy(x))
			require.NoError(t, p.Notify(&done[2*i+1]).Destroy(x))
		}
		applied := f.stats().Applied
		f.Refresh()
		refused := 0
		for i, x := range h {
			want := []world.Outcome{world.Applied, world.Gone}
			if a.spared[x] {
				want = []world.Outcome{world.Refused, world.Refused}
				refused += 2
				require.Equal(t, world.Alive, f.Status(x))
			}
			require.Equal(t, a.spared[x], f.Alive(x))
			require.Equal(t, want, []world.Outcome{done[2*i].Outcome(), done[2*i+1].Outcome()})
		}
		require.Equal(t, uint64(refused), f.stats().Refused)
		require.Equal(t, applied+uint64(len(h)-refused/2), f.stats().Applied)
		require.Equal(t, refused/2, f.Count())

		require.True(t, f.Destroy(h[0]), "it can be marked again")
		require.True(t, f.Destroy(h[3]))
		a.spared = map[handle.Handle]bool{h[3]: true}
		f.Refresh()
		require.False(t, f.Alive(h[0]))
		require.True(t, f.Alive(h[3]))
		require.Equal(t, refused/2-1, f.Count())
	}
}

// TestExtensionOfTheNew: who is created and destroyed in one refresh was never alive,
// unless it is spared.
func TestExtensionOfTheNew(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	var log []string
	a := newPact(f, "a", &log)
	p := f.port()
	for _, spared := range []bool{false, true, false} {
		var done [3]world.Completion
		h, err := f.unit.Create(p.Notify(&done[0]), Unit{})
		require.NoError(t, err)
		require.NoError(t, p.Notify(&done[1]).Destroy(h))
		require.NoError(t, a.sent.Send(p.Notify(&done[2]), h, bind{}))
		a.spared = map[handle.Handle]bool{h: spared}
		log = log[:0]
		f.Refresh()
		require.Equal(t, spared, f.Alive(h))
		want := []world.Outcome{world.Applied, world.Applied, world.Gone}
		if spared {
			want[1] = world.Refused
			a.spared = nil
			require.True(t, f.Destroy(h))
			f.Refresh()
		}
		require.Equal(t, want, []world.Outcome{done[0].Outcome(), done[1].Outcome(), done[2].Outcome()})
		require.Contains(t, log, "a hears of "+h.String())
		require.Zero(t, f.Count())
	}
}

// TestExtensionOrder: requests apply in the order of ports by number, then shards,
// whatever the kind and the shard of what they concern.
func TestExtensionOrder(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	var log []string
	a, b := newPact(f, "a", &log), newPact(f, "b", &log)
	h := f.newUnits(60)
	p, q := f.port(), f.port()
	var want []string
	send := func(by world.Actor, x *pact, i int) {
		require.NoError(t, x.sent.Send(by, h[i], bind{h[59]}))
	}
	for i := range 5 {
		send(q, []*pact{a, b}[i%2], i)
		send(p, []*pact{b, a}[i%2], 10+i)
	}
	for i := range 5 {
		want = append(want, []string{"b", "a"}[i%2]+" bind "+h[10+i].String())
	}
	for i := range 5 {
		want = append(want, []string{"a", "b"}[i%2]+" bind "+h[i].String())
	}
	for s := range 3 {
		want = append(want, "a bind "+h[20+s].String())
	}
	log = log[:0]
	f.tick(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { send(c, a, 20+c.Shard()) }
	})
	log = slices.DeleteFunc(log, func(s string) bool { return s[2:6] != "bind" })
	require.Equal(t, want, log)
}

// TestExtensionMisuse panics, and says what to do.
func TestExtensionMisuse(t *testing.T) {
	f, g := newFixture(t, world.Options{}), newFixture(t, world.Options{})
	var log []string
	a := newPact(f, "a", &log)
	h := f.newUnit(1)
	p := g.port()
	require.PanicsWithValue(t, `world: a request: extension "a" belongs to another world than the *world.Port it is used with; use that world's own`, func() { _ = a.sent.Send(p, h, bind{}) })
	require.PanicsWithValue(t, `world: extension "a" sends a request of *world.World; an idle World acts at once`, func() { _ = a.sent.Send(f.World, h, bind{}) })
	f.tick(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			require.False(t, engine.Of(f.World).Idle())
			require.ErrorIs(t, a.sent.Send(c, h+1, bind{}), world.ErrStale)
			require.Panics(t, func() { engine.Of(f.World).Extend(a) })
			require.Panics(t, func() { engine.Of(f.World).MustIdle("Test") })
			require.Panics(t, func() { engine.Of(f.World).Binds(f.World, nil, "Test") })
		}
	})
	require.True(t, engine.Of(f.World).Idle())
	of, _, _ := engine.Of(f.World).Binds(f.World, nil, "Test")
	require.True(t, of)
	of, _, _ = engine.Of(f.World).Binds((*world.Build)(engine.Of(f.World).NewBuild(1, "test")), nil, "Test")
	require.True(t, of)
	of, _, _ = engine.Of(f.World).Binds(g.World, nil, "Test")
	require.False(t, of)
	require.Panics(t, func() { engine.Of(f.World).Binds(nil, nil, "Test") })
}

// TestExtensionAllocates counts: a tick with requests to an extension and deaths
// allocates nothing once warm.
func TestExtensionAllocates(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	quiet := &quietExtension{}
	sent := engine.NewRequests(engine.Of(f.World), "quiet", func(handle.Handle, *bind) engine.Outcome { return engine.Applied })
	engine.Of(f.World).Extend(quiet)
	p := f.port()
	h := f.newUnits(100)
	tick := func() {
		for i := range h {
			_ = sent.Send(p, h[i], bind{})
			if i%2 == 0 {
				_ = p.Destroy(h[i])
			}
		}
		f.Refresh()
		for i := range h {
			if i%2 == 0 {
				h[i] = f.newUnit(1)
			}
		}
	}
	for range 10 {
		tick()
	}
	require.Zero(t, testing.AllocsPerRun(50, tick))
	require.NotZero(t, quiet.heard)
}

type quietExtension struct{ heard int }

func (q *quietExtension) Begin()                      {}
func (q *quietExtension) Spare(*extend.DyingSet) bool { return false }
func (q *quietExtension) Name() string                { return "quiet" }

func (q *quietExtension) Spread(d *extend.DyingSet, from int) { q.heard += len(d.All()) - from }
func (q *quietExtension) Settle()                             {}
