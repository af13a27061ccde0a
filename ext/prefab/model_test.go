package prefab_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/world"
)

// spec is what a prefab should make, in plain maps and lists.
type spec struct {
	health   *health
	wields   *[2]*spec // those that the handles name
	notes    *[]*spec
	relation *hierarchy.Relation
	place    int
	children []*spec
}

// all lists an entity and those below it, each before its children.
func (s *spec) all() []*spec {
	list := []*spec{s}
	for _, c := range s.children {
		list = append(list, c.all()...)
	}
	return list
}

// clone copies a tree, with the references within it.
func (s *spec) clone() *spec {
	to := map[*spec]*spec{nil: nil}
	var copyOf func(s *spec) *spec
	copyOf = func(s *spec) *spec {
		c := *s
		to[s] = &c
		c.children = nil
		for _, child := range s.children {
			c.children = append(c.children, copyOf(child))
		}
		return &c
	}
	made := copyOf(s)
	for _, one := range made.all() {
		if one.wields != nil {
			one.wields = &[2]*spec{to[one.wields[0]], to[one.wields[1]]}
		}
		if one.notes != nil {
			var of []*spec
			for _, x := range *one.notes {
				of = append(of, to[x])
			}
			one.notes = &of
		}
	}
	return made
}

// drawing draws prefabs and their specs.
type drawing struct {
	*fixture
	*rand.Rand
	made  []*prefab.Prefab
	specs []*spec
}

// small lists the prefabs that others may extend. They have at most 25 entities and a tree has at
// most 16 of them, so a port's queue has room for the instances of a tick.
func (d *drawing) small() (list []int) {
	for i, p := range d.made {
		if p.Len() <= 25 {
			list = append(list, i)
		}
	}
	return list
}

// parts draws the parts of an entity. Values come when all entities are known, so they are in
// later.
func (d *drawing) parts(s *spec, depth int, later *[]func(root *spec)) (parts func(root *spec) []prefab.Part) {
	base := -1
	if small := d.small(); len(small) > 0 && d.IntN(3) == 0 {
		base = small[d.IntN(len(small))]
		c := d.specs[base].clone()
		relation, place := s.relation, s.place
		*s = *c
		s.relation, s.place = relation, place
		for _, one := range s.all() { // those that named the root of the clone
			if one.wields != nil {
				for i := range one.wields {
					if one.wields[i] == c {
						one.wields[i] = s
					}
				}
			}
			if one.notes != nil {
				for i := range *one.notes {
					if (*one.notes)[i] == c {
						(*one.notes)[i] = s
					}
				}
			}
		}
	}
	taken := map[*hierarchy.Relation][]int{}
	for _, c := range s.children {
		taken[c.relation] = append(taken[c.relation], c.place)
	}
	var children []func(root *spec) prefab.Part
	for range d.IntN(4 - depth) {
		r, place := d.holds, d.IntN(5)
		if d.IntN(2) == 0 {
			r, place = d.carries, d.IntN(4)
		}
		if slices.Contains(taken[r], place) {
			continue
		}
		taken[r] = append(taken[r], place)
		c := &spec{relation: r, place: place}
		s.children = append(s.children, c)
		inner := d.parts(c, depth+1, later)
		children = append(children, func(root *spec) prefab.Part { return prefab.Child(r, place, inner(root)...) })
	}
	withHealth, withWields, withNotes := d.IntN(2) == 0, d.IntN(3) == 0, d.IntN(4) == 0
	points := d.IntN(1000)
	*later = append(*later, func(root *spec) {
		some := root.all()
		if withHealth {
			s.health = &health{points, 1}
		}
		if withWields {
			s.wields = &[2]*spec{some[d.IntN(len(some))], some[d.IntN(len(some))]}
		}
		if withNotes {
			s.notes = &[]*spec{some[d.IntN(len(some))], some[d.IntN(len(some))]}
		}
	})
	return func(root *spec) (parts []prefab.Part) {
		local := func(x *spec) handle.Handle { return prefab.Local(slices.Index(root.all(), x)) }
		if base >= 0 {
			parts = append(parts, prefab.Extends(d.made[base]))
		}
		if withHealth {
			parts = append(parts, prefab.With(d.health, *s.health))
		}
		if withWields {
			parts = append(parts, prefab.With(d.wields, wields{local(s.wields[0]), local(s.wields[1])}))
		}
		if withNotes {
			v := notes{Text: "of"}
			for _, x := range *s.notes {
				v.Of = append(v.Of, local(x))
			}
			parts = append(parts, prefab.With(d.notes, v))
		}
		for _, c := range children {
			parts = append(parts, c(root))
		}
		return parts
	}
}

// draw draws a prefab.
func (d *drawing) draw() {
	root := &spec{}
	var later []func(*spec)
	parts := d.parts(root, 0, &later)
	for _, f := range later {
		f(root)
	}
	p := prefab.New(d.w, "drawn", parts(root)...)
	require.Equal(d.t, len(root.all()), p.Len())
	d.made, d.specs = append(d.made, p), append(d.specs, root)
}

// check compares an instance with the spec.
func (d *drawing) check(root *spec, hs []handle.Handle) {
	d.t.Helper()
	at := map[*spec]handle.Handle{}
	for i, s := range root.all() {
		at[s] = hs[i]
	}
	shard, _ := d.w.Owner(hs[0])
	for s, h := range at {
		owner, ok := d.w.Owner(h)
		require.True(d.t, ok && owner == shard)
		if v := world.Read[health](d.w).Get(h); s.health == nil {
			require.Nil(d.t, v)
		} else {
			require.Equal(d.t, s.health, v)
		}
		if v := world.Read[wields](d.w).Get(h); s.wields == nil {
			require.Nil(d.t, v)
		} else {
			require.Equal(d.t, wields{at[s.wields[0]], at[s.wields[1]]}, *v)
		}
		if v := world.Read[notes](d.w).Get(h); s.notes == nil {
			require.Nil(d.t, v)
		} else {
			for i, x := range *s.notes {
				require.Equal(d.t, at[x], v.Of[i])
			}
		}
		count := map[*hierarchy.Relation]int{d.holds: 0, d.carries: 0}
		for _, c := range s.children {
			require.Equal(d.t, at[c], c.relation.Read(d.w).At(h, c.place))
			count[c.relation]++
		}
		for r, n := range count {
			require.Equal(d.t, n, r.Read(d.w).Count(h))
		}
	}
}

// TestModel makes instances of drawn prefabs by drawn actors, and copies of them.
func TestModel(t *testing.T) {
	worlds := 60
	if testing.Short() {
		worlds = 10
	}
	for range worlds {
		seed := seed.Of(t)
		d := &drawing{fixture: newFixture(t, world.Options{Shards: 1 + int(seed%3)}), Rand: rand.New(rand.NewPCG(seed, 1))}
		for range 12 {
			d.draw()
		}
		p, err := d.w.OpenPort()
		require.NoError(t, err)
		type instance struct {
			of *spec
			hs []handle.Handle
		}
		made := make([][]instance, d.w.Shards())
		create := func(to *[]instance, by world.Actor, i int) {
			hs, err := d.made[i].Append(nil, by)
			require.NoError(t, err)
			*to = append(*to, instance{d.specs[i], hs})
		}
		d.sched.MustAdd("create", func(b *world.Build) func(*world.Context) {
			for _, x := range d.made {
				b.Creates(x)
			}
			dice := rand.New(rand.NewPCG(seed, uint64(b.Shard())))
			return func(c *world.Context) {
				for range 5 {
					create(&made[c.Shard()], c, dice.IntN(len(d.made)))
				}
			}
		})
		for range 3 {
			for range 5 {
				create(&made[0], d.w, d.IntN(len(d.made)))
				create(&made[0], p, d.IntN(len(d.made)))
			}
			d.tick()
		}
		for _, some := range made {
			for _, x := range some {
				d.check(x.of, x.hs)
			}
		}
		x := made[0][d.IntN(len(made[0]))]
		root, err := prefab.Copy(d.w, x.hs[0], d.holds, d.carries)
		require.NoError(t, err)
		hs := []handle.Handle{root}
		var follow func(s *spec, h handle.Handle)
		follow = func(s *spec, h handle.Handle) {
			for _, c := range s.children {
				child := c.relation.Read(d.w).At(h, c.place)
				hs = append(hs, child)
				follow(c, child)
			}
		}
		follow(x.of, root)
		for _, h := range hs {
			require.NotContains(t, x.hs, h)
		}
		d.check(x.of, hs)
		d.check(x.of, x.hs)
	}
}

// TestPorts has several ports make instances while ticks run.
func TestPorts(t *testing.T) {
	f := newFixture(t, world.Options{})
	orc := f.orc()
	var wait sync.WaitGroup
	made := make([][]handle.Handle, 4)
	for i := range made {
		p, err := f.w.OpenPort()
		require.NoError(t, err)
		wait.Go(func() {
			for k := range 200 {
				h, err := orc.Create(p, prefab.With(f.health, health{k, i}))
				if err == nil {
					made[i] = append(made[i], h)
				}
			}
		})
	}
	for range 20 {
		f.tick()
	}
	wait.Wait()
	f.tick()
	for i, hs := range made {
		require.NotEmpty(t, hs)
		for _, h := range hs {
			require.Equal(t, i, get[health](f, h).Max)
			require.Equal(t, f.holds.Read(f.w).At(h, 0), get[wields](f, h).Weapon)
		}
	}
}

// TestNested makes instances within the function of CreateN, of the same prefab and by the same
// actor.
func TestNested(t *testing.T) {
	f := newFixture(t, world.Options{})
	orc := f.orc()
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	var inner []handle.Handle
	for _, by := range []world.Actor{f.w, p} {
		_, err := orc.CreateN(by, 5, func(i int, x *prefab.Instance) {
			x.Set(0, prefab.With(f.health, health{77, 77}))
			h, err := orc.Create(by)
			require.NoError(t, err)
			inner = append(inner, h)
		})
		require.NoError(t, err)
	}
	f.w.Refresh()
	require.Equal(t, 60, f.w.Count())
	for _, h := range inner {
		f.mustBeOrc(h)
	}
}

// TestValuesAreKept writes what an instance has, and what New was given: the prefab stays as it is.
func TestValuesAreKept(t *testing.T) {
	f := newFixture(t, world.Options{})
	type deep struct{ All []int }
	c := world.Register[deep](f.w, "deep")
	c.CloneBy(func(to, from *deep) { to.All = append(to.All[:0], from.All...) })
	given := deep{[]int{1, 2}}
	p := prefab.New(f.w, "deep", prefab.With(c, given))
	given.All[0] = 7
	for range 3 {
		h, err := p.Create(f.w)
		require.NoError(t, err)
		require.Equal(t, []int{1, 2}, get[deep](f, h).All)
		world.Write[deep](f.w).Get(h).All[1] = 9
	}
	orc := f.orc()
	for range 3 {
		h, err := orc.Create(f.w)
		require.NoError(t, err)
		f.mustBeOrc(h)
		world.Write[notes](f.w).Get(h).Of[0] = 5
	}
}

// TestAllocations makes and copies instances in ticks: nothing is allocated.
func TestAllocations(t *testing.T) {
	if check.Enabled {
		t.Skip("what is checked of a Context allocates")
	}
	f := newBenches(t)
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	h := f.make(f.w, place{})
	f.w.Refresh()
	var made []handle.Handle
	by := map[string]func(c *world.Context){
		"create": func(c *world.Context) { made = append(made, f.make(c, place{1, 2})) },
		"copy": func(c *world.Context) {
			h, err := prefab.Copy(c, h, f.holds)
			require.NoError(t, err)
			made = append(made, h)
		},
	}
	var run func(c *world.Context)
	f.sched.MustAdd("run", func(b *world.Build) func(*world.Context) {
		b.Creates(f.body)
		return func(c *world.Context) {
			for _, h := range made {
				_ = c.Destroy(h)
			}
			made = made[:0]
			run(c)
		}
	})
	for _, name := range []string{"create", "copy"} {
		run = by[name]
		for range 100 {
			f.tick()
		}
		if n := allocs.Least(20, f.tick); !check.Enabled { // the race detector has a sync.Pool forget
			require.Zero(t, n, name)
		}
	}
	run = func(*world.Context) {}
	for range 100 {
		f.make(p, place{})
		f.w.Refresh()
	}
	require.Zero(t, allocs.Least(10, func() { f.make(p, place{1, 1}) }))
	hs := make([]handle.Handle, 0, 100)
	require.Zero(t, allocs.Least(10, func() { f.makeFor(hs, p, place{1, 1}) }))
}
