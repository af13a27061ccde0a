package prefab_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestSaved saves a world with instances, and loads it into worlds with the same prefabs, with
// others and with none: it goes on in each, and instances are made there.
func TestSaved(t *testing.T) {
	f := newFixture(t, world.Options{})
	orc := f.orc()
	h, err := orc.Create(f.w)
	require.NoError(t, err)
	var saved bytes.Buffer
	require.NoError(t, snapshot.Write(&saved, f.w, snapshot.Options{}))
	for name, prefabs := range map[string]func(g *fixture) *prefab.Prefab{
		"same": func(g *fixture) *prefab.Prefab { return g.orc() },
		"more": func(g *fixture) *prefab.Prefab {
			prefab.New(g.w, "wand", prefab.With(g.damage, damage{1}), prefab.With(g.health, health{1, 1}))
			return g.orc()
		},
		"none": func(*fixture) *prefab.Prefab { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			g := newFixture(t, world.Options{})
			p := prefabs(g)
			require.NoError(t, snapshot.Load(bytes.NewReader(saved.Bytes()), g.w, snapshot.Options{}))
			g.mustBeOrc(h)
			if p != nil {
				other, err := p.Create(g.w)
				require.NoError(t, err)
				g.mustBeOrc(other)
			}
		})
	}
}

// TestReplayed records what a port makes, and plays it in another world.
func TestReplayed(t *testing.T) {
	f := newFixture(t, world.Options{})
	orc := f.orc()
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(f.w, &log, inputlog.Options{})
	require.NoError(t, err)
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	var made []handle.Handle
	for range 5 {
		h, err := orc.Create(p)
		require.NoError(t, err)
		made = append(made, h)
		f.w.Refresh()
	}
	require.NoError(t, r.Close())

	g := newFixture(t, world.Options{})
	g.orc()
	opened, err := inputlog.Open(&log)
	require.NoError(t, err)
	player, err := opened.Play(g.w, nil)
	require.NoError(t, err)
	for player.Next() {
		g.w.Refresh()
	}
	require.NoError(t, player.Err())
	for _, h := range made {
		g.mustBeOrc(h)
	}
}

// TestSavedUnderWay saves a world with requests under way, and loads it into worlds in which
// something is made before what they are for.
func TestSavedUnderWay(t *testing.T) {
	make := func(before func(f *fixture)) (*fixture, *world.Func[handle.Handle]) {
		w := world.MustNew(world.Options{Shards: 2})
		f := &fixture{t: t, w: w, health: world.Register[health](w, "health")}
		if before != nil {
			before(f)
		}
		f.sched = scheduler.New(w, scheduler.Options{})
		var hurt, adopt *world.Func[handle.Handle]
		hurt = world.RegisterFunc(w, "hurt", func(self *world.EntityContext, _ handle.Handle) {
			_ = f.health.Set(self, self.Handle(), health{Points: 1})
		})
		adopt = world.RegisterFunc(w, "adopt", func(self *world.EntityContext, child handle.Handle) {
			require.NoError(t, f.holds.AddChild(self, self.Handle(), child))
			require.NoError(t, hurt.Call(self, child, handle.None))
			require.NoError(t, self.Destroy(self.Handle()))
		})
		f.holds = hierarchy.New(w, "holds", hierarchy.Options{OnParentDeath: hierarchy.Orphan})
		return f, adopt
	}
	f, adopt := make(nil)
	hs, err := world.NewBundle[struct{ health }](f.w).AppendN(nil, f.w, 2, nil)
	require.NoError(t, err)
	require.NoError(t, adopt.Call(f.w, hs[0], hs[1]))
	var saved bytes.Buffer
	require.NoError(t, snapshot.Write(&saved, f.w, snapshot.Options{Scheduler: f.sched}))
	f.tick()
	want, err := state.StateHash(f.w, nil)
	require.NoError(t, err)
	for name, before := range map[string]func(f *fixture){
		"nothing":  nil,
		"prefab":   func(f *fixture) { prefab.New(f.w, "prefab", prefab.With(f.health, health{})) },
		"bundle":   func(f *fixture) { world.NewBundle[struct{ H health }](f.w) },
		"function": func(f *fixture) { world.RegisterFunc(f.w, "new", func(*world.EntityContext, int) {}) },
		"relation": func(f *fixture) { hierarchy.New(f.w, "other", hierarchy.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := make(before)
			require.NoError(t, snapshot.Load(bytes.NewReader(saved.Bytes()), g.w, snapshot.Options{Scheduler: g.sched}))
			g.tick()
			require.False(t, g.w.Alive(hs[0]))
			require.True(t, g.w.Alive(hs[1]))
			if name != "relation" { // which counts
				sum, err := state.StateHash(g.w, nil)
				require.NoError(t, err)
				require.Equal(t, want, sum)
			}
		})
	}
}
