package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// TestRequestLimits: a full queue is an error to its sender, and refusals are
// remembered up to a limit.
func TestRequestLimits(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 1, QueueRequests: 3})
	world.Register[ID](w, "id")
	things := world.NewBundle[Thing](w)
	rel := hierarchy.New(w, "relation", hierarchy.Options{ConflictsMax: 2})
	h, err := things.AppendN(nil, w, 5, nil)
	require.NoError(t, err)
	p, err := w.OpenPort()
	require.NoError(t, err)
	require.ErrorIs(t, rel.AddChildren(p, h[0], h[0], h[0], h[0], h[1]), world.ErrTooLarge)
	require.NoError(t, rel.AddChild(p, h[0], h[1]))
	require.ErrorIs(t, rel.AddChildren(p, h[0], h[2], h[3], h[4]), world.ErrFull)
	w.Refresh()
	require.Equal(t, 1, rel.Links(), "of those for which there was no room, none was sent")
	require.NoError(t, rel.RemoveChild(w, h[1], hierarchy.Close))
	require.NoError(t, rel.AddChildren(p, h[0], h[0], h[0], h[0]))
	w.Refresh()
	require.Len(t, rel.Read(w).Conflicts(), 2)
	require.NoError(t, rel.AddChild(p, h[0], h[1]))
	p.Close()
	require.ErrorIs(t, rel.AddChild(p, h[0], h[1]), world.ErrClosed)
}

// TestRequestAllocates counts: a tick in which systems and ports move entities
// about, and some die, allocates nothing once warm.
func TestRequestAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("what the check build allocates says nothing, and its ticks take long")
	}
	for _, policy := range []hierarchy.OnParentDeath{hierarchy.Destroy, hierarchy.Orphan, hierarchy.Grandparent, hierarchy.SpareParent} {
		f := newFixture(t, 2, hierarchy.Options{OnParentDeath: policy})
		h := f.make(64)
		p := f.port()
		read := f.rel.Read(f.World)
		turn, refused, access := 0, 0, &extend.Access{}
		system := func(c *world.Context) {
			for i, x := range h {
				if i%2 == c.Shard() {
					_ = f.rel.Move(c, x, h[(i+turn)%len(h)]) // often a cycle
				}
			}
			_ = f.rel.Sort(c, h[turn%len(h)], handle.Handle.Compare)
		}
		tick := func() {
			turn++
			for i := range 8 {
				_ = f.rel.RemoveChild(p, h[(turn+i)%len(h)], hierarchy.Gap(i%3))
				_ = p.Destroy(h[(turn+i*7)%len(h)])
			}
			t := engine.Of(f.World).BeginTick()
			for i := range f.Shards() {
				c := (*world.Context)(engine.Of(f.World).Context(i))
				(*engine.Context)(c).Acting().Start("test", access)
				system(c)
				(*engine.Context)(c).Acting().Stop()
			}
			t.End(serial)
			refused += len(read.Conflicts())
			for i, x := range h {
				if !f.Alive(x) {
					h[i], _ = f.things.Create(f.World, Thing{ID{i}})
				}
			}
		}
		for range 300 {
			tick()
		}
		require.NotZero(t, refused)
		require.Less(t, testing.AllocsPerRun(200, tick), 0.5, "%v", policy)
	}
}
