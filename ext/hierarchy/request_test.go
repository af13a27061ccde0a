package hierarchy_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// TestRequestEach makes each change by the idle world, by a system and by a port:
// what comes of it is the same.
func TestRequestEach(t *testing.T) {
	rel := func(f *fixture) *hierarchy.Relation { return f.rel }
	for name, change := range map[string]func(f *fixture, by world.Actor, h []handle.Handle) error{
		"Add":      func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).Add(by, h[9]) },
		"Remove":   func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).Remove(by, h[2]) },
		"AddChild": func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).AddChild(by, h[4], h[9]) },
		"AddChildAt": func(f *fixture, by world.Actor, h []handle.Handle) error {
			return rel(f).AddChildAt(by, h[0], h[9], 1)
		},
		"AddChildren": func(f *fixture, by world.Actor, h []handle.Handle) error {
			return rel(f).AddChildren(by, h[5], h[8], h[9])
		},
		"RemoveChild close": func(f *fixture, by world.Actor, h []handle.Handle) error {
			return rel(f).RemoveChild(by, h[2], hierarchy.Close)
		},
		"RemoveChild hole": func(f *fixture, by world.Actor, h []handle.Handle) error {
			return rel(f).RemoveChild(by, h[2], hierarchy.Hole)
		},
		"RemoveChild swap": func(f *fixture, by world.Actor, h []handle.Handle) error {
			return rel(f).RemoveChild(by, h[1], hierarchy.Swap)
		},
		"RemoveHoles": func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).RemoveHoles(by, h[6]) },
		"Move":        func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).Move(by, h[1], h[4]) },
		"MoveAt":      func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).MoveAt(by, h[7], h[0], 2) },
		"MoveBefore":  func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).MoveBefore(by, h[3], h[1]) },
		"Swap":        func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).Swap(by, h[2], h[7]) },
		"SetPlaces":   func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).SetPlaces(by, h[0], 9) },
		"Put":         func(f *fixture, by world.Actor, h []handle.Handle) error { return rel(f).Put(by, h[1], h[6], 1) },
		"Put free": func(f *fixture, by world.Actor, h []handle.Handle) error {
			return rel(f).Put(by, h[1], h[6], hierarchy.Free)
		},
		"PutFrom": func(f *fixture, by world.Actor, h []handle.Handle) error {
			return rel(f).PutFrom(by, h[1], h[0], h[6], 1)
		},
		"PutFrom free": func(f *fixture, by world.Actor, h []handle.Handle) error {
			return rel(f).PutFrom(by, h[9], handle.None, h[6], hierarchy.Free)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var want []handle.Handle
			for _, by := range []string{"world", "system", "port"} {
				f := newFixture(t, 3, hierarchy.Options{})
				h := f.make(10)
				f.add(h[0], h[1:4]...)
				f.add(h[3], h[4])
				require.NoError(t, f.rel.SetPlaces(f.World, h[6], 3))
				require.NoError(t, f.rel.Put(f.World, h[7], h[6], 2))
				before := f.everything(h)
				switch by {
				case "world":
					require.NoError(t, change(f, f.World, h))
					want = f.everything(h)
					require.NotEqual(t, before, want, "it changes something")
				case "system":
					f.tick(func(c *world.Context) {
						if c.Shard() == 2 {
							require.NoError(t, change(f, c, h))
						}
					})
				case "port":
					p := f.port()
					var done world.Completion
					require.NoError(t, change(f, p.Notify(&done), h))
					require.Equal(t, before, f.everything(h), "nothing changes before the refresh")
					f.Refresh()
					require.Equal(t, world.Applied, done.Outcome())
				}
				require.Equal(t, want, f.everything(h), by)
				require.Empty(t, f.read.Conflicts())
				f.sound()
			}
		})
	}
}

// everything is who has which children, in one list.
func (f *fixture) everything(h []handle.Handle) (all []handle.Handle) {
	for _, p := range h {
		all = append(append(all, p), f.read.Children(p)...)
		if f.read.Has(p) {
			all = append(all, 1)
		}
		if f.read.Fixed(p) {
			all = append(all, 2)
		}
	}
	return all
}

// TestRequestSort sorts by a system: the order is that of the moment, applied at
// the refresh to those who are still there.
func TestRequestSort(t *testing.T) {
	for _, places := range []int{0, 12} {
		f := newFixture(t, 3, hierarchy.Options{Places: places, OnChildDeath: hierarchy.Hole})
		h := f.make(9)
		f.add(h[0], h[4], h[2], h[6], h[1], h[8], h[3])
		require.NoError(t, f.rel.RemoveChild(f.World, h[6], hierarchy.Hole))
		read := f.rel.Read(f.World)
		f.tick(on(h[0], func(c *world.Context) { require.NoError(t, f.rel.Sort(c, h[0], handle.Handle.Compare)) }))
		sorted := list(h[1], h[2], h[3], h[4], h[8])
		slices.SortFunc(sorted, handle.Handle.Compare)
		require.Equal(t, sorted, f.living(h[0]))
		require.Equal(t, sorted, slices.Clone(read.Children(h[0]))[:5], "holes come last")
		f.sound()

		down := func(a, b handle.Handle) int { return b.Compare(a) }
		f.tick(on(h[0], func(c *world.Context) {
			require.NoError(t, f.rel.RemoveChild(c, sorted[2], hierarchy.Hole))
			require.NoError(t, f.rel.Sort(c, h[0], down))
		}))
		require.Equal(t, list(sorted[4], sorted[3]), f.living(h[0])[:2], "who has left is passed over")
		require.ElementsMatch(t, list(sorted[0], sorted[1], sorted[3], sorted[4]), f.living(h[0]))
		require.Equal(t, "Sort", f.read.Conflicts()[0].Change)
		f.sound()
		require.NoError(t, f.rel.Sort(f.World, h[0], handle.Handle.Compare))
		require.True(t, slices.IsSortedFunc(f.living(h[0]), handle.Handle.Compare))
		require.ErrorIs(t, f.rel.Sort(f.port(), h[0], down), hierarchy.ErrPort)
	}
}

// TestRequestSortGlobal sorts by a global system, and within the comparison of another
// sort.
func TestRequestSortGlobal(t *testing.T) {
	f := newFixture(t, 3, hierarchy.Options{})
	h := f.make(11)
	f.add(h[0], h[4], h[2], h[6], h[1])
	f.add(h[5], h[9], h[7], h[10], h[8], h[3])
	nested := false
	f.global(func(c *world.Context) {
		require.NoError(t, f.rel.Sort(c, h[0], func(a, b handle.Handle) int {
			if !nested {
				nested = true
				require.NoError(t, f.rel.Sort(c, h[5], handle.Handle.Compare))
			}
			return a.Compare(b)
		}))
	})
	for _, parent := range list(h[0], h[5]) {
		require.True(t, slices.IsSortedFunc(f.living(parent), handle.Handle.Compare))
	}
	require.Len(t, f.living(h[0]), 4)
	require.Len(t, f.living(h[5]), 5)
	f.sound()
}

// TestRequestCycle: of two moves in one refresh that together form a cycle the
// first in order is done, the second refused, and told so with the path.
func TestRequestCycle(t *testing.T) {
	for _, parallel := range []extend.Parallel{serial, backwards} {
		f := newFixture(t, 3, hierarchy.Options{})
		h := f.make(4)
		f.add(h[1], h[3])
		first, second := f.port(), f.port()
		var done [2]world.Completion
		require.NoError(t, f.rel.Move(second.Notify(&done[1]), h[1], h[0])) // sent first, but by the second port
		require.NoError(t, f.rel.Move(first.Notify(&done[0]), h[0], h[3]))
		f.tickBy(parallel)
		require.Equal(t, world.Applied, done[0].Outcome())
		require.Equal(t, world.Refused, done[1].Outcome())
		require.Equal(t, list(h[0]), f.read.Children(h[3]))
		require.Equal(t, handle.None, f.read.Parent(h[1]))
		require.Equal(t, []hierarchy.Conflict{{
			Change: "Move", Entity: h[1], Other: h[0], Err: hierarchy.ErrCycle, Path: list(h[1], h[3], h[0]),
		}}, f.read.Conflicts())
		f.sound()
	}
	t.Run("by systems", func(t *testing.T) {
		f := newFixture(t, 2, hierarchy.Options{})
		h := f.make(2)
		f.tick(func(c *world.Context) { // both shards ask for the contrary; the first shard's comes first
			require.NoError(t, f.rel.Move(c, h[c.Shard()], h[1-c.Shard()]))
		})
		require.Equal(t, h[1], f.read.Parent(h[0]))
		require.Equal(t, handle.None, f.read.Parent(h[1]))
		require.Len(t, f.read.Conflicts(), 1)
	})
}

// outcomeScene is a fixture for requests that end in every way.
func outcomeScene(t *testing.T) (f *fixture, h []handle.Handle, dead handle.Handle) {
	f = newFixture(t, 3, hierarchy.Options{})
	h = f.make(12)
	f.add(h[0], h[1], h[2])
	require.NoError(t, f.rel.SetPlaces(f.World, h[3], 1))
	f.add(h[3], h[4])
	f.Destroy(h[11])
	f.Refresh()
	return f, h, h[11]
}

// TestRequestOutcomes is who is told what: the port that waits the outcome, whoever
// reads the relation in the next tick what was refused, and why.
func TestRequestOutcomes(t *testing.T) {
	type request = func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error
	for name, c := range map[string]struct {
		send   request
		want   world.Outcome
		reason error
	}{
		"done":         {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error { return r.Move(by, h[5], h[6]) }, world.Applied, nil},
		"stale child":  {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error { return r.Move(by, h[11], h[0]) }, world.Gone, nil},
		"stale parent": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error { return r.Move(by, h[7], h[11]) }, world.Gone, nil},
		"forged": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error {
			return r.Move(by, 1<<63+77, h[0])
		}, world.Gone, nil},
		"no parent": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error {
			return r.RemoveChild(by, h[8], hierarchy.Close)
		}, world.Missing, nil},
		"not there": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error { return r.Remove(by, h[8]) }, world.Missing, nil},
		"two parents": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error {
			return r.AddChild(by, h[3], h[1])
		}, world.Refused, hierarchy.ErrParent},
		"itself":        {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error { return r.Move(by, h[9], h[9]) }, world.Refused, hierarchy.ErrCycle},
		"place taken":   {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error { return r.Put(by, h[8], h[3], 0) }, world.Refused, hierarchy.ErrTaken},
		"no such place": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error { return r.Put(by, h[8], h[3], 1) }, world.Refused, hierarchy.ErrPlace},
		"beyond PlacesMax": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error {
			return r.SetPlaces(by, h[0], 1<<16+1)
		}, world.Refused, hierarchy.ErrPlace},
		"a far place": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error {
			return r.Put(by, h[8], h[0], math.MaxInt)
		}, world.Refused, hierarchy.ErrPlace},
		"a negative one": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error {
			return r.AddChildAt(by, h[0], h[8], -5)
		}, world.Refused, hierarchy.ErrPlace},
		"no free place": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error {
			return r.AddChild(by, h[3], h[8])
		}, world.Refused, hierarchy.ErrNoPlace},
		"fixed places": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error {
			return r.AddChildAt(by, h[3], h[8], 0)
		}, world.Refused, hierarchy.ErrFixed},
		"elsewhere": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error {
			return r.PutFrom(by, h[1], h[3], h[10], 0)
		}, world.Refused, hierarchy.ErrElsewhere},
		"children":          {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error { return r.Remove(by, h[0]) }, world.Refused, hierarchy.ErrChildren},
		"places still used": {func(r *hierarchy.Relation, by world.Actor, h []handle.Handle) error { return r.SetPlaces(by, h[0], 1) }, world.Refused, hierarchy.ErrTaken},
	} {
		t.Run(name, func(t *testing.T) {
			f, h, _ := outcomeScene(t)
			before := f.everything(h)
			var done world.Completion
			require.NoError(t, c.send(f.rel, f.port().Notify(&done), h))
			f.Refresh()
			require.Equal(t, c.want, done.Outcome())
			f.refusedFor(c.reason)

			g, h, _ := outcomeScene(t)
			g.tick(func(ctx *world.Context) {
				if ctx.Shard() == 1 {
					if err := c.send(g.rel, ctx, h); c.want != world.Gone || name == "stale parent" {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, world.ErrStale)
					}
				}
			})
			g.refusedFor(c.reason)

			i, h, _ := outcomeScene(t)
			err := c.send(i.rel, i.World, h)
			switch {
			case c.want == world.Gone:
				require.ErrorIs(t, err, world.ErrStale)
			case c.want == world.Missing:
				require.ErrorIs(t, err, hierarchy.ErrAbsent)
			case c.reason == nil:
				require.NoError(t, err)
			default:
				require.ErrorIs(t, err, c.reason)
			}
			for _, x := range []*fixture{f, g, i} {
				x.sound()
				require.Equal(t, c.want != world.Applied, slices.Equal(before, x.everything(h)), "who is refused changes nothing")
			}
		})
	}
}

// refusedFor checks what the next tick reads of the refused requests.
func (f *fixture) refusedFor(reason error) {
	f.t.Helper()
	if reason == nil {
		require.Empty(f.t, f.read.Conflicts())
		return
	}
	require.Len(f.t, f.read.Conflicts(), 1)
	require.ErrorIs(f.t, f.read.Conflicts()[0].Err, reason)
}

// TestRequestOrder: ports by number come before source shards, each in the order
// sent.
func TestRequestOrder(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{})
	h := f.make(8)
	p, q := f.port(), f.port()
	require.NoError(t, f.rel.AddChild(q, h[0], h[3]))
	require.NoError(t, f.rel.AddChild(p, h[0], h[1]))
	require.NoError(t, f.rel.AddChild(p, h[0], h[2]))
	f.tickBy(backwards, func(c *world.Context) {
		require.NoError(t, f.rel.AddChildren(c, h[0], h[4+2*c.Shard()], h[5+2*c.Shard()]))
	})
	require.Equal(t, h[1:], f.read.Children(h[0]))
}

// TestRequestBeforeDeaths: moves apply before deaths spread, in whatever order they
// were asked and by whomever.
func TestRequestBeforeDeaths(t *testing.T) {
	for _, killFirst := range []bool{true, false} {
		for _, policy := range []hierarchy.OnParentDeath{hierarchy.Destroy, hierarchy.Orphan, hierarchy.Grandparent} {
			f := newFixture(t, 4, hierarchy.Options{OnParentDeath: policy})
			h := f.make(6)
			owner, bag, other, saved, dying, loose := h[0], h[1], h[2], h[3], h[4], h[5]
			f.add(owner, bag)
			f.add(bag, saved)
			f.add(other, dying)
			p := f.port()
			var kill, out, in, add world.Completion
			if killFirst {
				require.NoError(t, p.Notify(&kill).Destroy(bag))
			}
			require.NoError(t, f.rel.Move(p.Notify(&out), saved, other))
			require.NoError(t, f.rel.Move(p.Notify(&in), dying, bag))
			require.NoError(t, f.rel.AddChild(p.Notify(&add), bag, loose))
			if !killFirst {
				require.NoError(t, p.Notify(&kill).Destroy(bag))
			}
			f.Refresh()
			for _, done := range []*world.Completion{&kill, &out, &in, &add} {
				require.Equal(t, world.Applied, done.Outcome())
			}
			require.True(t, f.Alive(saved), "moved out, it lives")
			require.Equal(t, list(saved), f.read.Children(other))
			for _, item := range list(dying, loose) {
				require.Equal(t, policy != hierarchy.Destroy, f.Alive(item), "moved in, it follows the policy: %v", policy)
				if policy == hierarchy.Grandparent {
					require.Equal(t, owner, f.read.Parent(item))
				} else {
					require.Equal(t, handle.None, f.read.Parent(item))
				}
			}
			f.sound()
		}
	}
}

// TestRequestDying: who is dying is not moved any more.
func TestRequestDying(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{})
	h := f.make(3)
	p := f.port()
	var done world.Completion
	require.NoError(t, f.rel.AddChild(p.Notify(&done), h[0], h[1]))
	require.NoError(t, p.Destroy(h[1]))
	f.Refresh()
	require.Equal(t, world.Gone, done.Outcome())
	require.Empty(t, f.read.Children(h[0]))
}

// TestRequestPending: a port makes a bag and fills it in one go.
func TestRequestPending(t *testing.T) {
	f := newFixture(t, 3, hierarchy.Options{})
	p := f.port()
	bag, err := f.things.Create(p, Thing{ID{7}})
	require.NoError(t, err)
	item, err := f.heavy.Create(p, Heavy{})
	require.NoError(t, err)
	require.NoError(t, f.rel.AddChild(p, bag, item))
	f.Refresh()
	require.Equal(t, bag, f.read.Parent(item))
	require.NoError(t, f.rel.AddChild(p, bag, f.make(1)[0]))
	require.NoError(t, p.Destroy(bag))
	f.Refresh()
	require.Zero(t, f.Count())
	f.sound()
}

// TestWritten fails where an op gets another number: an old log would be played with other changes,
// and only the hash of the state would tell. Then move a field of change as well, and write both
// down here.
func TestWritten(t *testing.T) {
	fields, ops := hierarchy.Written()
	require.Equal(t, []string{"to", "from", "place", "gap", "op"}, fields)
	require.Equal(t, []string{
		"AddChild", "AddChildAt", "Add", "Remove", "RemoveChild", "RemoveHoles", "Move", "MoveAt", "MoveBefore",
		"Swap", "Sort", "SetPlaces", "Put", "PutFrom",
	}, ops)
}

// TestForged sends what only a forged log has: ops that are not sent, and numbers of none.
func TestForged(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{})
	all := f.make(3)
	f.add(all[0], all[1])
	f.add(all[1], all[2])
	_, ops := hierarchy.Written()
	p := f.port()
	for number := len(ops); number < 256; number++ {
		require.NoError(t, f.rel.Forge(p, all[0], all[2], uint8(number)))
	}
	f.Refresh()
	f.sound()
	require.Equal(t, handle.None, f.read.Parent(all[0]))
	require.Empty(t, f.read.Conflicts())
}
