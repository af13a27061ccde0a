package world_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestLimitGivenBack makes each thing grow that a caller can make grow, to its limit, and
// lets go of it, again and again: what it took is collected, or is used the next time.
func TestLimitGivenBack(t *testing.T) {
	if check.Enabled {
		t.Skip("one goroutine does this, and it takes long with the checks")
	}
	ports, each := 32, max(256, iterations(1<<11))
	open := func(f *fixture) (all []*world.Port) {
		for {
			p, err := f.OpenPort()
			if err != nil {
				require.ErrorIs(f.t, err, world.ErrPorts)
				require.Len(f.t, all, ports)
				return all
			}
			all = append(all, p)
		}
	}
	n := ports * each
	for name, fill := range map[string]func(f *fixture){
		"ports": func(f *fixture) {
			for _, p := range open(f) {
				p.Close()
			}
		},
		"messages in queues": func(f *fixture) {
			all := open(f)
			h := f.newUnit(1)
			for _, p := range all {
				for f.hit.Send(p, h, Hit{}) == nil {
				}
				p.Close()
			}
			f.Refresh()
			f.Destroy(h)
		},
		"creates in queues": func(f *fixture) {
			for _, p := range open(f) {
				for range each {
					_, err := f.unit.Create(p, Unit{})
					require.NoError(f.t, err)
				}
				p.Close()
			}
			f.Refresh()
			require.Equal(f.t, n, f.Query(world.Read[Health](f.World)).Destroy())
		},
		"names of components": func(f *fixture) {
			all := open(f)
			h := f.newUnit(1)
			for _, p := range all {
				for f.name.Set(p, h, Name{"x"}) == nil {
				}
				p.Close()
			}
			f.Refresh()
			f.Destroy(h)
		},
		"who waits": func(f *fixture) {
			all := open(f)
			for _, p := range all {
				for p.Notify(new(world.Completion)).Destroy(handle.None) == nil {
				}
				p.Close()
			}
		},
		"outboxes": func(f *fixture) {
			h := f.newUnit(1)
			f.tick(func(*world.Build) func(*world.Context) {
				return func(c *world.Context) {
					for c.Destroy(h+1) == nil {
					}
				}
			})
			f.Destroy(h)
		},
		"releases": func(f *fixture) {
			for range n {
				h := f.newUnit(1)
				o := reference.Own(f.World, h, nil)
				o.Release()
			}
		},
		"calls that fail": func(f *fixture) {
			h := f.newUnit(1)
			for _, p := range open(f) {
				for range 16 {
					require.NoError(f.t, f.do(p, h, func(*world.EntityContext) { panic("fails") }))
				}
				p.Close()
			}
			f.Refresh()
			f.Destroy(h)
		},
		"flags": func(f *fixture) {
			all := f.newUnits(n)
			for _, h := range all {
				require.NoError(f.t, world.AddFlags(f.World, h, 8))
			}
			f.Query(world.Read[Health](f.World)).Destroy()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 4, PortsMax: ports, QueueRequests: each, OutboxRequests: n})
			round := func() {
				fill(f)
				for range 4 {
					f.Refresh()
				}
				require.Zero(t, f.Count())
			}
			round() // what all share is large enough by now
			once := heap()
			for range 5 {
				round()
			}
			again := heap()
			t.Logf("%d bytes for each", (again-once)/int64(n))
			require.Less(t, again-once, int64(8*n), "in five rounds: less than one round takes")
			runtime.KeepAlive(f)
		})
	}
}
