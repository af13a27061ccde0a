package inspect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestLastFrame leaves the last frame to the program.
func TestLastFrame(t *testing.T) {
	type Goblin struct{ Position }
	for most := range 3 {
		w := world.MustNew(world.Options{TickInterval: time.Millisecond, FramesMax: most + 1})
		t.Cleanup(func() { w.Close() })
		world.Register[Position](w, "Position")
		require.NoError(t, world.NewBundle[Goblin](w).CreateN(w, 10, nil))
		all, err := w.NewView()
		require.NoError(t, err)
		f := (&fixture{t: t, w: w, s: scheduler.New(w, scheduler.Options{Workers: 1})}).inspect(inspect.Options{}).run()
		for range max(0, most-1) {
			held, err := all.Capture(t.Context())
			require.NoError(t, err)
			defer held.Release()
		}
		if most == 0 {
			require.Contains(t, f.get(503, "/api/query?q=Position")["error"], "FramesMax")
		} else {
			f.get(200, "/api/query?q=Position")
		}
		last, err := all.Capture(t.Context())
		require.NoError(t, err)
		last.Release()
	}
}
