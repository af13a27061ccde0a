package durable_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/world"
)

// TestPausedChange changes the idle world, as the guide says, while each call of the disk fails, or the
// power goes: the world that comes back is as before the change or as behind it, and damaged never.
func TestPausedChange(t *testing.T) {
	for _, fault := range faulty.Faults {
		missed := 0
		for at := 1; missed < 3; at++ {
			what := fmt.Sprintf("%s at call %d", fault.Name, at)
			path, disk := useDisk(t)
			x := newBank(2)
			st, err := x.open(path)
			require.NoError(t, err, what)
			x.s.Pause()
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- x.s.Run(ctx) }()
			disk.FailAt(at, fault)
			require.NoError(t, <-x.s.Between(func(w *world.World) {
				require.NoError(t, x.ships.CreateN(w, 200, nil))
			}))
			saved := st.Save(t.Context())
			reached := disk.Calls() >= at
			stop()
			require.NoError(t, <-ended)
			if saved == nil { // ticks are made only if it is on disk
				for range 70 {
					_ = x.s.Step(t.Context())
				}
			}
			st.Crash()
			disk.Reboot()

			y := newBank(1)
			st, err = y.open(path)
			require.NoError(t, err, what)
			ships := y.Query(world.With[Ship](y.World)).Count()
			if saved == nil {
				require.GreaterOrEqual(t, ships, 200, what)
			} else {
				require.Contains(t, []int{0, 200}, ships, what)
			}
			for range 70 {
				y.step(t)
			}
			require.NoError(t, st.Close())
			if missed++; reached {
				missed = 0
			}
		}
	}
}
