package prefab_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inputlog"
	"github.com/atoll-sim/atoll/prefab"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestSaved saves a world with instances, and loads it into worlds with the same prefabs, with others
// and with none: it goes on in each, and instances are made there.
func TestSaved(t *testing.T) {
	f := newFixture(t, world.Options{})
	orc := f.orc()
	h, err := orc.Create(f.w)
	require.NoError(t, err)
	var saved bytes.Buffer
	require.NoError(t, snapshot.Save(&saved, f.w, snapshot.Options{}))
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
