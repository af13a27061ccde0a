package hierarchy_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestBequestsSaved: what dying parents leave to grandparents can be saved after any refresh, also
// while a sweep empties the memory that the children's list is in.
func TestBequestsSaved(t *testing.T) {
	worlds := uint64(8)
	switch {
	case check.Enabled: // one goroutine does this, and it takes long with the checks
		worlds = 0
	case testing.Short():
		worlds = 2
	}
	for i := range worlds {
		bequeath(t, rand.New(rand.NewPCG(seed.Of(t)+i, 1)))
	}
	bequeath(t, rand.New(rand.NewPCG(3, 1))) // step 95 of this one found a sweep in progress
}

func bequeath(t *testing.T, rnd *rand.Rand) {
	type node struct{ Number int }
	type bundle struct{ node }
	newWorld := func() (*world.World, *world.Bundle[bundle], *hierarchy.Relation) {
		w := world.MustNew(world.Options{Shards: 1})
		world.Register[node](w, "node")
		return w, world.NewBundle[bundle](w), hierarchy.New(w, "under", hierarchy.Options{OnParentDeath: hierarchy.Grandparent})
	}
	w, b, r := newWorld()
	p, err := w.OpenPort()
	require.NoError(t, err)
	var live []handle.Handle
	for range 100 {
		if len(live) < 900 {
			for range 300 {
				h, err := b.Create(p, bundle{})
				require.NoError(t, err)
				live = append(live, h)
			}
		}
		for range rnd.IntN(400) {
			require.NoError(t, r.Move(p, live[rnd.IntN(len(live))], live[rnd.IntN(len(live))]))
		}
		w.Refresh()
		for range rnd.IntN(250) {
			i := rnd.IntN(len(live))
			require.NoError(t, p.Destroy(live[i]))
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		w.Refresh()
		require.NoError(t, r.Verify())
		var saved bytes.Buffer
		require.NoError(t, snapshot.Write(&saved, w, snapshot.Options{}))
		to, _, _ := newWorld()
		require.NoError(t, snapshot.Load(&saved, to, snapshot.Options{}))
		to.Close()
	}
	w.Close()
}

// TestNumberMax: options have only numbers that a snapshot can have.
func TestNumberMax(t *testing.T) {
	for _, o := range []hierarchy.Options{{StepsMax: math.MaxInt32}, {ConflictsMax: math.MaxInt32}, {StepsMax: -1}} {
		require.Panics(t, func() { hierarchy.New(world.MustNew(world.Options{}), "under", o) }, "%+v", o)
	}
	newWorld := func() *world.World {
		w := world.MustNew(world.Options{})
		hierarchy.New(w, "under", hierarchy.Options{StepsMax: math.MaxInt32 - 1, ConflictsMax: math.MaxInt32 - 1})
		return w
	}
	var saved bytes.Buffer
	require.NoError(t, snapshot.Write(&saved, newWorld(), snapshot.Options{}))
	require.NoError(t, snapshot.Load(&saved, newWorld(), snapshot.Options{}))
}
