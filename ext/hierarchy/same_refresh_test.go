package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/world"
)

// TestParentDestroyedAsCreated has a port create a parent with a child and destroy the parent
// before the refresh: the child meets the policy, as that of any other parent that dies.
func TestParentDestroyedAsCreated(t *testing.T) {
	type (
		a    struct{ N int }
		unit struct{ a }
	)
	for policy, alive := range map[hierarchy.OnParentDeath][2]bool{
		hierarchy.Destroy: {false, false}, hierarchy.Orphan: {false, true}, hierarchy.Grandparent: {false, true}, hierarchy.SpareParent: {true, true},
	} {
		t.Run(policy.String(), func(t *testing.T) {
			w := world.MustNew(world.Options{Shards: 2})
			world.Register[a](w, "a")
			units := world.NewBundle[unit](w)
			r := hierarchy.New(w, "relation", hierarchy.Options{OnParentDeath: policy})
			p, err := w.OpenPort()
			require.NoError(t, err)
			var linked, destroyed world.Completion
			parent, err := units.Create(p, unit{})
			require.NoError(t, err)
			child, err := units.Create(p, unit{})
			require.NoError(t, err)
			p.Notify(&linked)
			require.NoError(t, r.AddChild(p, parent, child))
			p.Notify(&destroyed)
			require.NoError(t, p.Destroy(parent))
			w.Refresh()
			require.Equal(t, world.Applied, linked.Outcome())
			require.Equal(t, alive, [2]bool{w.Alive(parent), w.Alive(child)})
			if alive[0] {
				require.Equal(t, world.Refused, destroyed.Outcome())
				require.Equal(t, parent, r.Read(w).Parent(child))
			} else {
				require.Equal(t, world.Applied, destroyed.Outcome())
				require.Zero(t, r.Links())
			}
			w.Refresh()
			require.Equal(t, alive, [2]bool{w.Alive(parent), w.Alive(child)})
		})
	}
}
