package timer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestRefused refuses a port's timers while ports may not send their message, as it refuses Send,
// and no others.
func TestRefused(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			g := newGame(t, 3, workers, timer.Options{})
			others := timer.New(g.World, "others", world.RegisterMessage[string](g.World, "other"), timer.Options{})
			h := g.create(1)
			port, err := g.OpenPort()
			require.NoError(t, err)
			calls := []func(n int) (timer.ID, error){
				func(n int) (timer.ID, error) { return g.timers.After(port, h, 1, Ping{N: n}) },
				func(n int) (timer.ID, error) { return g.timers.At(port, h, g.Tick()+1, Ping{N: n}) },
				func(n int) (timer.ID, error) { return g.timers.Every(port, h, 50, Ping{N: n}) },
			}
			heard := func() (all []int) {
				for range 3 {
					all = append(all, g.heard()...)
				}
				return all
			}
			_, err = calls[0](1) // before
			require.NoError(t, err)
			waiting := port.Waiting()
			_, ok := engine.Of(g.World).RefuseAtPorts(g.pings, 1)
			require.True(t, ok)
			want := g.pings.Send(port, h, Ping{})
			require.ErrorIs(t, want, world.ErrRefused)
			for i, call := range calls {
				var done world.Completion
				port.Notify(&done)
				_, err := call(2)
				require.Equal(t, want, err, "call %d", i)
				require.NoError(t, world.AddFlags(port, h, 1))
				require.NoError(t, world.AddFlags(port.Notify(&done), h, 1), "the Completion of a refused call is free")
				require.Equal(t, want, port.Batch(func() error {
					_, _ = call(3)
					return world.AddFlags(port, h, 2)
				}), "call %d", i)
			}
			require.Equal(t, waiting+2*len(calls), port.Waiting(), "something else than the flags is sent")

			// Whoever else sets a timer is not refused, nor is a port with another message.
			_, err = others.After(port, h, 1, "other")
			require.NoError(t, err)
			g.function = func(self *world.EntityContext, n int) { g.must(g.timers.After(self, h, 1, Ping{N: n})) }
			require.NoError(t, g.act.Call(port, h, 5))
			asked := false
			g.systems = func(c *world.Context) {
				if c.Owns(h) && !asked {
					asked = true
					g.must(g.timers.After(c, h, 1, Ping{N: 6}))
				}
			}
			g.must(g.timers.After(g.World, h, 1, Ping{N: 7}))
			require.ElementsMatch(t, []int{1, 5, 6, 7}, heard())
			require.Equal(t, world.Flags(1), world.FlagsOf(g.World, h), "a batch was sent")

			_, _ = engine.Of(g.World).RefuseAtPorts(g.pings, -1)
			for i, call := range calls {
				_, err := call(8)
				require.NoError(t, err, "call %d", i)
			}
			require.Equal(t, []int{8, 8}, heard())
			require.Equal(t, 1, g.timers.Len(), "the one of Every")
		})
	}
}
