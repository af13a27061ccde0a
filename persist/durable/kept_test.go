package durable_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// fuses is a world whose timers have messages of a form, and bags of a size.
type fuses[M any] struct {
	*world.World
	s      *scheduler.Scheduler
	timers *timer.Timers[M]
	bags   *hierarchy.Relation
	ships  *world.Bundle[fleet]
	mu     sync.Mutex
	heard  []string // guarded by mu
	o      durable.Options
}

func newFuses[M any](workers, places int) *fuses[M] {
	w := world.MustNew(world.Options{Shards: 2, VersionsEach: 1000})
	world.Register[Ship](w, "ship")
	x := &fuses[M]{World: w, ships: world.NewBundle[fleet](w)}
	x.timers = timer.New(w, "fuses", world.RegisterMessage[M](w, "bang"), timer.Options{Max: 100 * places})
	x.bags = hierarchy.New(w, "in", hierarchy.Options{Places: places})
	x.s = scheduler.New(w, scheduler.Options{Workers: workers})
	x.s.MustAdd("hear", func(b *world.Build) func(*world.Context) {
		in := world.Receive[M](b)
		return func(c *world.Context) {
			for _, e := range in.All() {
				x.mu.Lock()
				x.heard = append(x.heard, fmt.Sprintf("%d %+v", c.Tick(), e.Body))
				x.mu.Unlock()
			}
		}
	})
	x.o = durable.Options{Interval: -1, Snapshot: snapshot.Options{Changes: []snapshot.Change{snapshot.RenamedField("bang", "N", "Number")}}}
	return x
}

// TestKept opens a directory by a program whose timers have messages of another form and whose bags
// are larger: after Close, and not after a crash, before the old program has closed it.
func TestKept(t *testing.T) {
	type bang struct{ N int32 }
	type bangNow struct {
		Loud   bool
		Number int64
	}
	for _, workers := range []int{1, 2, 5} {
		path, disk := useDisk(t)
		x := newFuses[bang](workers, 12)
		var hs []handle.Handle
		x.o.New = func(w *world.World) (err error) {
			hs, err = x.ships.AppendN(nil, w, 3, nil)
			if err == nil {
				err = x.bags.Put(w, hs[1], hs[0], 11)
			}
			for i := range 10 {
				if err == nil {
					_, err = x.timers.After(w, hs[i%3], 4+i, bang{int32(-i)})
				}
			}
			return err
		}
		st, err := durable.Open(t.Context(), path, x.World, x.s, x.o)
		require.NoError(t, err)
		require.NoError(t, x.s.Step(t.Context()))
		require.NoError(t, st.Wait(t.Context()))
		st.Crash()
		disk.Reboot()

		y := newFuses[bangNow](workers, 16)
		plan, err := durable.Plan(path, y.World, y.s, y.o)
		require.NoError(t, err)
		require.Contains(t, plan.String(), `payload "fuses", field N (int32): is Number now`)
		_, err = durable.Open(t.Context(), path, y.World, y.s, y.o)
		require.ErrorIs(t, err, inputlog.ErrOtherWorld)
		require.ErrorContains(t, err, `message "bang" is {N int32@0;4}@0 in the log, {Loud bool@0;Number int64@8;16}@0 here; nothing is damaged: start the program that wrote it`)

		x = newFuses[bang](workers, 12)
		st, err = durable.Open(t.Context(), path, x.World, x.s, x.o)
		require.NoError(t, err)
		require.NoError(t, st.Close())

		y = newFuses[bangNow](workers, 16)
		st, err = durable.Open(t.Context(), path, y.World, y.s, y.o)
		require.NoError(t, err)
		require.Equal(t, hs[1], y.bags.Read(y.World).At(hs[0], 11))
		require.Len(t, y.bags.Read(y.World).Children(hs[0]), 16)
		for range 7 {
			require.NoError(t, y.s.Step(t.Context()))
		}
		require.Equal(t, []string{"4 {Loud:false Number:0}", "5 {Loud:false Number:-1}", "6 {Loud:false Number:-2}", "7 {Loud:false Number:-3}"}, y.heard)
		require.NoError(t, st.Wait(t.Context()))
		st.Crash() // and replays what the new form has recorded
		disk.Reboot()
		y = newFuses[bangNow](workers, 16)
		st, err = durable.Open(t.Context(), path, y.World, y.s, y.o)
		require.NoError(t, err)
		require.Equal(t, 5, y.timers.Len(), "of ten, four were heard, and one is due")
		require.NoError(t, st.Close())
	}
}
