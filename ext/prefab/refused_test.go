package prefab_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestNewRefused makes prefabs that there cannot be.
func TestNewRefused(t *testing.T) {
	f, g := newFixture(t, world.Options{}), newFixture(t, world.Options{})
	owner := world.Register[struct{ Of reference.Owner }](f.w, "owner")
	type loop struct{ Next any }
	loops := world.Register[loop](f.w, "loop")
	var ring loop
	ring.Next = &ring
	hp := prefab.With(f.health, health{1, 1})
	base := prefab.New(f.w, "base", hp)
	tests := []struct {
		text  string
		parts []prefab.Part
	}{
		{`prefab: New of "bad": component "health" is there twice; give it once`, []prefab.Part{hp, hp}},
		{`prefab: New of "bad": a part is nothing; pass what With, Child or Extends returned`, []prefab.Part{{}}},
		{`prefab: New of "bad": In is for calls that make an instance; pass it to Create`, []prefab.Part{prefab.In(0)}},
		{`prefab: New of "bad": For is for calls that make an instance; pass it to Create or Append`, []prefab.Part{prefab.For(1, hp)}},
		{`prefab: New of "bad": Extends of "base" is not the first part of its entity; put it before the others`, []prefab.Part{prefab.With(f.place, place{}), prefab.Extends(base)}},
		{`prefab: New of "bad": prefab "base" belongs to another world; use that world's own`, []prefab.Part{prefab.Extends(prefab.New(g.w, "base"))}},
		{`prefab: New of "bad": Child with a nil Relation; pass one of hierarchy.New`, []prefab.Part{prefab.Child(nil, 0)}},
		{`prefab: New of "bad": relation "holds" belongs to another world; use that world's own`, []prefab.Part{prefab.Child(g.holds, 0)}},
		{`prefab: New of "bad": component "wields" has Local(2), and there are 2 entities`, []prefab.Part{prefab.Child(f.holds, 0, prefab.With(f.wields, wields{Other: prefab.Local(2)}))}},
		{`prefab: New of "bad": component "notes" has Local(1), and there are 1 entities`, []prefab.Part{prefab.With(f.notes, notes{Of: []handle.Handle{prefab.Local(1)}})}},
		{`prefab: New of "bad": component "owner": it holds a reference.Owner, whose share would never be released; keep a handle or a reference.Weak in components`, []prefab.Part{prefab.With(owner, struct{ Of reference.Owner }{})}},
		{`prefab: New of "bad": component "loop": a value holds itself, or is nested too deep`, []prefab.Part{prefab.With(loops, ring)}},
		{`prefab: New of "bad": a child by "holds" at place 1: hierarchy: place is taken`, []prefab.Part{prefab.Child(f.holds, 1), prefab.Child(f.holds, 1)}},
		{`prefab: New of "bad": a child by "carries" at place 4: hierarchy: no such place`, []prefab.Part{prefab.Child(f.carries, 4)}},
		{`prefab: New of "bad": a child by "holds" at place 65537: hierarchy: no such place`, []prefab.Part{prefab.Child(f.holds, 65537)}},
		{`prefab: New of "bad": a child by "carries" at place -1: hierarchy: no place is free`, []prefab.Part{
			prefab.Child(f.carries, 2), prefab.Child(f.carries, -1), prefab.Child(f.carries, -1), prefab.Child(f.carries, -1), prefab.Child(f.carries, -1)}},
		{`world: component "health" belongs to another world; use that world's own`, []prefab.Part{prefab.With(g.health, health{})}},
	}
	looped := prefab.New(f.w, "looped", prefab.With(loops, loop{}))
	require.PanicsWithValue(t, `prefab: Prefab.Create of "looped": component "loop": a value holds itself, or is nested too deep`, func() {
		_, _ = looped.Create(f.w, prefab.With(loops, ring))
	})
	require.PanicsWithValue(t, `scheduler: the constructor of system "raid" panicked on shard 0: world: Build.Creates: part 1 is a nil *prefab.Prefab; pass what world.Register, world.NewBundle, prefab.New or prefab.Load returned`, func() {
		f.sched.MustAdd("raid", func(b *world.Build) func(*world.Context) {
			b.Creates(base, (*prefab.Prefab)(nil))
			return func(*world.Context) {}
		})
	})
	kinds := engine.Of(f.w).Survey().Kinds().Len()
	for _, test := range tests {
		func() {
			defer func() {
				text, _ := recover().(string)
				require.Equal(t, test.text, text)
			}()
			prefab.New(f.w, "bad", test.parts...)
		}()
	}
	require.Equal(t, kinds, engine.Of(f.w).Survey().Kinds().Len(), "something was made")
	require.Panics(t, func() { prefab.New(nil, "bad") })
	require.PanicsWithValue(t, "prefab: Copy by a nil Actor; pass a *world.World or a *world.Context", func() { _, _ = prefab.Copy(nil, handle.None) })
	for _, none := range []*prefab.Prefab{nil, {}} {
		for call, do := range map[string]func(){
			"Extends":        func() { prefab.Extends(none) },
			"Prefab.Create":  func() { _, _ = none.Create(f.w) },
			"Prefab.Append":  func() { _, _ = none.Append(nil, f.w) },
			"Prefab.CreateN": func() { _, _ = none.CreateN(f.w, 0, nil) },
		} {
			require.PanicsWithValue(t, "prefab: "+call+" of a nil or zero Prefab; use one of New, or of Load under a name that its files have", do)
		}
	}
	require.PanicsWithValue(t, `prefab: In of shard -1; want 0 or more`, func() { prefab.In(-1) })
	require.Panics(t, func() { prefab.Local(-1) })
	require.Panics(t, func() { prefab.Local(handle.IndexMax) })
}

// TestTooLarge makes prefabs that no queue can hold, by the number of requests, by their bytes, and
// by the requests of systems; and such that just fit.
func TestTooLarge(t *testing.T) {
	for name, test := range map[string]struct {
		options world.Options
		fits    int // children
		text    string
	}{
		"requests": {world.Options{QueueRequests: 9}, 4, "it has more than 5 entities, with QueueRequests = 9"},
		"bytes":    {world.Options{QueueBytes: 256}, 3, "with QueueBytes = 256"},
		"outbox":   {world.Options{OutboxRequests: 3}, 3, "requests: 4, with OutboxRequests = 3"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.options)
			parts := []prefab.Part{prefab.With(f.damage, damage{1})}
			for range test.fits {
				parts = append(parts, prefab.Child(f.holds, -1))
			}
			fits := prefab.New(f.w, "fits", parts...)
			p, err := f.w.OpenPort()
			require.NoError(t, err)
			_, err = fits.Create(p)
			require.NoError(t, err)
			defer func() { require.Contains(t, recover(), test.text) }()
			prefab.New(f.w, "large", append(parts, prefab.Child(f.holds, -1))...)
		})
	}
}

// TestFull fills the queue of a port, or the outbox of a system, up to each place at which an
// instance has a request: it is made whole or not at all.
func TestFull(t *testing.T) {
	t.Run("port", func(t *testing.T) {
		for used := range 12 {
			f := newFixture(t, world.Options{QueueRequests: 10})
			orc := f.orc() // 3 creates, 2 links
			p, err := f.w.OpenPort()
			require.NoError(t, err)
			for range min(used, 10) {
				require.NoError(t, p.Destroy(handle.New(0, 0, 1)))
			}
			made, err := orc.CreateN(p, 3, nil)
			require.ErrorIs(t, err, world.ErrFull)
			require.Equal(t, (10-min(used, 10))/5, made)
			waiting := min(used, 10) + 5*made
			require.Equal(t, waiting, p.Waiting())
			err = p.Batch(func() error {
				_, err := orc.Create(p)
				if err != nil {
					return err
				}
				_, err = orc.Create(p)
				return err
			})
			if used == 0 && made == 0 {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, world.ErrFull)
				require.Equal(t, waiting, p.Waiting())
			}
			f.w.Refresh()
			require.Equal(t, 3*made, f.w.Count())
			require.Equal(t, 2*made, f.holds.Links()+f.carries.Links())
			h, err := orc.Create(p)
			require.NoError(t, err)
			f.w.Refresh()
			f.mustBeOrc(h)
		}
	})
	t.Run("system", func(t *testing.T) {
		for used := range 7 {
			f := newFixture(t, world.Options{Shards: 1, OutboxRequests: 6})
			orc := f.orc() // 2 links
			f.sched.MustAdd("spawn", func(b *world.Build) func(*world.Context) {
				b.Creates(orc)
				return func(c *world.Context) {
					h, err := orc.Create(c)
					require.NoError(t, err)
					_ = c.Destroy(h)
					for range used {
						require.NoError(t, f.holds.Add(c, h))
					}
					made, err := orc.CreateN(c, 5, nil)
					require.ErrorIs(t, err, world.ErrFull)
					require.Equal(t, max(0, (6-2-used)/2), made)
				}
			})
			if used > 4 {
				continue
			}
			f.tick()
			require.Equal(t, f.carries.Links()+f.holds.Links(), 2*max(0, (6-2-used)/2))
		}
	})
}

// TestWithin makes more by a port than its queue holds, while ticks run; the wait ends with its
// context.
func TestWithin(t *testing.T) {
	f := newFixture(t, world.Options{QueueRequests: 12})
	orc := f.orc()
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	done := make(chan int)
	go func() {
		made, err := orc.CreateN(p.Within(context.Background()), 100, nil)
		if err != nil {
			made = -1
		}
		done <- made
	}()
	for made := 0; made == 0; {
		select {
		case made = <-done:
			require.Equal(t, 100, made)
		default:
			f.tick()
		}
	}
	f.tick()
	require.Equal(t, 300, f.w.Count())
	require.Equal(t, 100, f.holds.Links())
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	made, err := orc.CreateN(p.Within(ctx), 100, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 2, made)
	require.ErrorContains(t, err, "(after 2 of 100)")
}

// TestOutOfIndexes makes more than there is room for.
func TestOutOfIndexes(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, IndexMax: 7})
	orc := f.orc()
	made, err := orc.CreateN(f.w, 10, nil)
	require.ErrorIs(t, err, world.ErrIndexes)
	require.Equal(t, 4, made) // two in each shard
	require.Equal(t, 12, f.w.Count())
	_, err = orc.Create(f.w, prefab.In(1))
	require.ErrorIs(t, err, world.ErrIndexes)
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	made, err = orc.CreateN(p, 10, nil)
	require.ErrorIs(t, err, world.ErrIndexes)
	require.Equal(t, 2, made)
	f.w.Refresh()
	require.Equal(t, 18, f.w.Count())
	require.Equal(t, 6, f.holds.Links())
}

// TestRelationFull makes instances by the idle world until a relation has no room, which is at each
// of their links: the world stays as it was, and the handles are given to what is created next.
func TestRelationFull(t *testing.T) {
	failed := map[int]bool{}
	for buckets := range 12 {
		f := newFixture(t, world.Options{Shards: 2})
		tight := hierarchy.New(f.w, "tight", hierarchy.Options{Memory: hierarchy.Memory{ManualGrowth: true}})
		tight.Reserve(hierarchy.Room{Entities: 64, Parents: 16, Buckets: slices.Repeat([]int{1}, buckets)})
		camp := prefab.New(f.w, "camp", prefab.With(f.health, health{1, 1}),
			prefab.Child(f.holds, -1, prefab.Child(tight, -1, prefab.Child(f.carries, 2))),
			prefab.Child(f.carries, 3, prefab.Child(tight, 2)),
			prefab.Child(tight, -1, prefab.Child(f.holds, 4), prefab.Child(tight, -1)),
		)
		hash := func() state.Hash {
			h, err := state.StateHash(f.w, nil)
			require.NoError(t, err)
			return h
		}
		for made := 0; ; made++ {
			before, links := hash(), tight.Links()
			if made%2 == 0 {
				f.tick()
				before = hash()
			}
			_, err := camp.Create(f.w)
			if err == nil {
				continue
			}
			require.ErrorIs(t, err, hierarchy.ErrRoom)
			require.Equal(t, before, hash(), "a call that failed has changed the world")
			require.Equal(t, camp.Len()*made, f.w.Count())
			require.Equal(t, []int{4 * made, 2 * made, 2 * made}, []int{links, f.holds.Links(), f.carries.Links()})
			failed[buckets%4] = true
			tight.Reserve(hierarchy.Room{Entities: 64, Parents: 16, Buckets: slices.Repeat([]int{1}, 12)})
			_, err = camp.Create(f.w)
			require.NoError(t, err)
			f.tick()
			require.Equal(t, camp.Len()*(made+1), f.w.Count())
			break
		}
	}
	require.Len(t, failed, 4)
}

// TestCreateMisused passes what is wrong to the calls: nothing is made, and they work afterwards.
func TestCreateMisused(t *testing.T) {
	f, g := newFixture(t, world.Options{}), newFixture(t, world.Options{Shards: 9})
	orc := f.orc()
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	other, err := g.w.OpenPort()
	require.NoError(t, err)
	for name, do := range map[string]func(){
		"nil actor":       func() { _, _ = orc.Create(nil) },
		"nil world":       func() { _, _ = orc.Create((*world.World)(nil)) },
		"nil port":        func() { _, _ = orc.Create((*world.Port)(nil)) },
		"nil context":     func() { _, _ = orc.Create((*world.Context)(nil)) },
		"nil function":    func() { _, _ = orc.Create((*world.EntityContext)(nil)) },
		"other world":     func() { _, _ = orc.Create(g.w) },
		"other port":      func() { _, _ = orc.CreateN(other, 2, nil) },
		"none of other":   func() { _, _ = orc.CreateN(other, 0, nil) },
		"negative":        func() { _, _ = orc.CreateN(p, -1, nil) },
		"shard":           func() { _, _ = orc.Create(f.w, prefab.In(4)) },
		"shard of a port": func() { _, _ = orc.Create(p, prefab.In(4)) },
		"lacks":           func() { _, _ = orc.Create(p, prefab.With(f.damage, damage{})) },
		"child":           func() { _, _ = orc.Create(p, prefab.Child(f.holds, 0)) },
		"extends":         func() { _, _ = orc.Append(nil, p, prefab.Extends(orc)) },
		"other component": func() { _, _ = orc.Create(p, prefab.With(g.health, health{})) },
		"local":           func() { _, _ = orc.Create(p, prefab.With(f.wields, wields{Weapon: prefab.Local(3)})) },
		"each": func() {
			_, _ = orc.CreateN(p, 2, func(i int, x *prefab.Instance) { x.Set(3, prefab.With(f.damage, damage{})) })
		},
		"for": func() {
			_, _ = orc.Append(nil, p, prefab.For(3, prefab.With(f.damage, damage{})))
		},
		"for twice":   func() { _, _ = orc.Create(p, prefab.For(0, prefab.For(1, prefab.With(f.damage, damage{})))) },
		"for a shard": func() { _, _ = orc.Create(p, prefab.For(1, prefab.In(0))) },
		"for within set": func() {
			_, _ = orc.CreateN(p, 2, func(_ int, x *prefab.Instance) { x.Set(0, prefab.For(1, prefab.With(f.damage, damage{}))) })
		},
		"in of a child": func() {
			_, _ = orc.CreateN(p, 2, func(i int, x *prefab.Instance) { x.Set(1, prefab.In(0)) })
		},
		"panic": func() { _, _ = orc.CreateN(p, 2, func(int, *prefab.Instance) { panic("each") }) },
		"armed notify": func() {
			c := new(world.Completion)
			_ = p.Notify(c).Destroy(handle.None)
			_, _ = orc.Create(p.Notify(c))
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Panics(t, do)
			err := p.Batch(func() error {
				defer func() { _ = recover() }()
				do()
				return nil
			})
			if err == nil { // it was by another actor
				require.NotContains(t, []string{"negative", "lacks", "each", "panic", "shard of a port", "local"}, name)
			}
			f.w.Refresh()
			f.w.Refresh()
			require.Zero(t, f.w.Count(), "something was made")
			for _, by := range []world.Actor{f.w, p} {
				h, err := orc.Create(by)
				require.NoError(t, err)
				f.w.Refresh()
				f.mustBeOrc(h)
			}
			f.w.Clear()
		})
	}
	made, err := orc.CreateN(p, 0, nil)
	require.NoError(t, err)
	require.Zero(t, made)
	var kept *prefab.Instance
	_, err = orc.CreateN(f.w, 1, func(_ int, x *prefab.Instance) { kept = x })
	require.NoError(t, err)
	require.PanicsWithValue(t, `prefab: Instance.Set of "orc" after the function of CreateN returned; set it within`, func() { kept.Set(0) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = orc.CreateN(p, 2, func(int, *prefab.Instance) { runtime.Goexit() })
	}()
	<-done
	before := f.w.Count()
	h, err := orc.Create(p)
	require.NoError(t, err)
	f.w.Refresh()
	f.mustBeOrc(h)
	require.Equal(t, before+3, f.w.Count())
	f.w.Close()
	for _, by := range []world.Actor{f.w, p} {
		_, err = orc.Create(by)
		require.ErrorIs(t, err, world.ErrClosed)
		_, err = orc.CreateN(by, 0, nil)
		require.ErrorIs(t, err, world.ErrClosed)
	}
}

// TestSystemMisused makes instances in systems that must not.
func TestSystemMisused(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	orc := f.orc()
	var kept *world.Context
	f.sched.MustAdd("undeclared", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			kept = c
			require.PanicsWithValue(t, `world: system "undeclared" on shard 0 creates from prefab orc without having asked for it; call b.Creates in its constructor`, func() { _, _ = orc.Create(c) })
			require.Panics(t, func() { _, _ = orc.Create(f.w) })
		}
	})
	f.tick()
	require.Panics(t, func() { _, _ = orc.Create(kept) })
	require.Zero(t, f.w.Count())
	require.Panics(t, func() {
		g := newFixture(t, world.Options{})
		scheduler.New(g.w, scheduler.Options{}).MustAdd("other", func(b *world.Build) func(*world.Context) {
			b.Creates(orc)
			return nil
		})
	})
	require.False(t, errors.Is(f.w.Err(), world.ErrClosed))
}

// TestCloneByCreates has what CloneBy was given create by the actor that makes the instance.
func TestCloneByCreates(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	type deep struct{ All []int }
	c := world.Register[deep](f.w, "deep")
	other := world.NewBundle[struct{ health }](f.w)
	port, err := f.w.OpenPort()
	require.NoError(t, err)
	var by world.Actor
	c.CloneBy(func(to, from *deep) {
		to.All = append(to.All[:0], from.All...)
		if by != nil {
			actor := by
			by = nil
			_, err := other.Create(actor, struct{ health }{})
			require.NoError(t, err)
		}
	})
	p := prefab.New(f.w, "family", prefab.With(c, deep{[]int{1}}), prefab.Child(f.holds, -1, prefab.With(c, deep{[]int{2}})))
	for _, actor := range []world.Actor{f.w, port} {
		by = actor
		hs, err := p.Append(nil, actor)
		require.NoError(t, err)
		f.w.Refresh()
		require.Equal(t, []int{1}, get[deep](f, hs[0]).All)
		require.Equal(t, []int{2}, get[deep](f, hs[1]).All)
		require.Equal(t, hs[0], f.holds.Read(f.w).Parent(hs[1]))
	}
	require.Equal(t, 6, f.w.Count())
}
