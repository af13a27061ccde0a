package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
)

// TestState tells relations apart that do not go on alike, and no others: not by how
// they came to be what they are.
func TestState(t *testing.T) {
	build := func(act func(f *fixture, h []handle.Handle)) string {
		f := newFixture(t, 3, hierarchy.Options{})
		h := f.make(3000)
		f.add(h[0], h[1:5]...)
		f.add(h[2500], h[0])
		if act != nil {
			act(f, h)
		}
		return string(f.rel.AppendState([]byte("x"))[1:])
	}
	want := build(nil)
	for name, act := range map[string]func(f *fixture, h []handle.Handle){
		"nothing": nil,
		"there and back": func(f *fixture, h []handle.Handle) {
			f.add(h[7], h[100:2000]...)
			for _, child := range h[100:2000] {
				require.NoError(t, f.rel.RemoveChild(f.World, child, hierarchy.Hole))
			}
			require.NoError(t, f.rel.Move(f.World, h[3], h[2999]))
			require.NoError(t, f.rel.MoveBefore(f.World, h[3], h[4]))
			require.NoError(t, f.rel.Add(f.World, h[50]))
			require.NoError(t, f.rel.Remove(f.World, h[50]))
		},
		"a gap that is to be closed": func(f *fixture, h []handle.Handle) {
			require.NoError(t, f.rel.RemoveChild(f.World, h[2], hierarchy.Close))
			require.NoError(t, f.rel.AddChildAt(f.World, h[0], h[2], 1))
		},
		"refused long ago": func(f *fixture, h []handle.Handle) {
			require.NoError(t, f.rel.Move(f.port(), h[0], h[1]))
			f.Refresh()
			require.NotEmpty(t, f.read.Conflicts())
			f.Refresh()
		},
	} {
		require.Equal(t, want, build(act), name)
	}
	seen := map[string]string{want: "nothing"}
	for name, act := range map[string]func(f *fixture, h []handle.Handle){
		"one child less":  func(f *fixture, h []handle.Handle) { _ = f.rel.RemoveChild(f.World, h[4], hierarchy.Close) },
		"a hole":          func(f *fixture, h []handle.Handle) { _ = f.rel.RemoveChild(f.World, h[2], hierarchy.Hole) },
		"another order":   func(f *fixture, h []handle.Handle) { _ = f.rel.Swap(f.World, h[2], h[3]) },
		"another parent":  func(f *fixture, h []handle.Handle) { _ = f.rel.Move(f.World, h[4], h[1]) },
		"fixed":           func(f *fixture, h []handle.Handle) { _ = f.rel.SetPlaces(f.World, h[0], 4) },
		"fixed and empty": func(f *fixture, h []handle.Handle) { _ = f.rel.SetPlaces(f.World, h[9], 4) },
		"one more place":  func(f *fixture, h []handle.Handle) { _ = f.rel.SetPlaces(f.World, h[0], 5) },
		"added":           func(f *fixture, h []handle.Handle) { _ = f.rel.Add(f.World, h[0]) },
		"refused": func(f *fixture, h []handle.Handle) {
			_ = f.rel.Move(f.port(), h[0], h[1])
			f.Refresh()
		},
		"another refused": func(f *fixture, h []handle.Handle) {
			_ = f.rel.Move(f.port(), h[2500], h[1])
			f.Refresh()
		},
	} {
		got := build(act)
		require.NotContains(t, seen, got, "%s is like %s", name, seen[got])
		seen[got] = name
	}
}
