package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestDestroyedRowMoves destroys the entity in the last row of a table by request, and then has
// another leave the table in the same refresh: the row of the first moves, and its outcome, which
// a relation puts off, is that of the entity and not of the row.
func TestDestroyedRowMoves(t *testing.T) {
	type (
		a    struct{ N int }
		b    struct{ N int }
		unit struct{ a }
	)
	for name, destroy := range map[string]func(p *world.Port, h handle.Handle) error{
		"Destroy":  func(p *world.Port, h handle.Handle) error { return p.Destroy(h) },
		"DestroyN": func(p *world.Port, h handle.Handle) error { return p.DestroyN([]handle.Handle{h}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := world.MustNew(world.Options{Shards: 1})
			world.Register[a](w, "a")
			more := world.Register[b](w, "b")
			units := world.NewBundle[unit](w)
			hierarchy.New(w, "relation", hierarchy.Options{})
			all, err := units.AppendN(nil, w, 3, nil)
			require.NoError(t, err)
			p, err := w.OpenPort()
			require.NoError(t, err)
			var destroyed, added world.Completion
			p.Notify(&destroyed)
			require.NoError(t, destroy(p, all[2]))
			p.Notify(&added)
			require.NoError(t, more.Add(p, all[0], b{1}))
			w.Refresh()
			require.Equal(t, world.Applied, destroyed.Outcome())
			require.Equal(t, world.Applied, added.Outcome())
			require.False(t, w.Alive(all[2]))
			require.True(t, w.Alive(all[0]) && w.Alive(all[1]))
		})
	}
}
