package world_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestPortCut creates through one port and destroys through another, whoever
// comes first in the refresh, while refreshes run: what a request can have
// caused is never applied before it, though it is read from another lane. A
// refresh that read what is sent after its cut would come to the destroy, and
// not to the create, whose lane it had read already.
func TestPortCut(t *testing.T) {
	const between = 30 // ports that keep the refresh reading
	f := newFixture(t, world.Options{Shards: 2})
	first := f.port()
	var busy []*world.Port
	for range between {
		busy = append(busy, f.port())
	}
	last := f.port()
	require.Less(t, first.Number(), busy[0].Number())
	require.Greater(t, last.Number(), busy[between-1].Number())

	over := make(chan struct{})
	go func() {
		defer close(over)
		var done [200]world.Completion // all are sent before any is waited for, to meet refreshes midway
		for i := range iterations(2000) {
			creator, destroyer := first, last
			if i%4 == 0 {
				creator, destroyer = last, first
			}
			for k := range done {
				h, err := f.unit.Create(creator, Unit{})
				if err == nil {
					err = destroyer.Notify(&done[k]).Destroy(h)
				}
				if err != nil {
					t.Errorf("round %d: %v", i, err)
					return
				}
			}
			for k := range done {
				if o, err := done[k].Wait(t.Context()); err != nil || o != world.Applied {
					t.Errorf("round %d: destroy %d is %v, %v: it came before the create", i, k, o, err)
					return
				}
			}
		}
	}()
	for {
		select {
		case <-over:
			f.Refresh()
			require.Zero(t, f.Count())
			return
		default:
			for _, p := range busy {
				for range 20 {
					require.NoError(t, p.Destroy(handle.None))
				}
			}
			f.Refresh()
			runtime.Gosched() // where there is one processor
		}
	}
}
