package names_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
)

// TestLoopChanges changes names within a loop over all of them, and looks at the world as a whole:
// the loop yields what there was when it began.
func TestLoopChanges(t *testing.T) {
	for what, change := range map[string]func(f *fixture, h handle.Handle){
		"Bind":    func(f *fixture, h handle.Handle) { require.NoError(t, f.names.Bind(f.World, h, fmt.Sprint("new ", h))) },
		"Unbind":  func(f *fixture, h handle.Handle) { require.NoError(t, f.names.Unbind(f.World, h)) },
		"Refresh": func(f *fixture, h handle.Handle) { f.Destroy(h); f.Refresh() },
		"more": func(f *fixture, h handle.Handle) {
			require.NoError(t, f.names.Bind(f.World, f.make(1)[0], fmt.Sprint("more ", h)))
		},
		"capture": func(f *fixture, h handle.Handle) {
			view, err := f.NewView(f.names)
			require.NoError(t, err)
			frame, err := view.Now()
			require.NoError(t, err)
			defer frame.Release()
			require.Equal(t, f.names.Len(), f.names.Read(frame).Len())
		},
	} {
		f := newFixture(t, 2, names.Options{})
		all := f.make(300)
		for i, h := range all {
			require.NoError(t, f.names.Bind(f.World, h, fmt.Sprint(i)))
		}
		seen := map[string]bool{}
		for h, name := range f.names.All() {
			require.False(t, seen[name], what)
			seen[name] = true
			change(f, h)
		}
		require.Len(t, seen, len(all), what)
	}
}
