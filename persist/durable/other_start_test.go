package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// cargo3 is a form that a Migrated makes, by a factor.
type cargo3 struct{ Kilos int64 }

func migrates(factor int64) func(x *bank) {
	return func(x *bank) {
		cargo[cargo3](x)
		x.options.Snapshot.Changes = []snapshot.Change{
			snapshot.Renamed("struct { C durable_test.cargo1 }", "struct { C durable_test.cargo3 }"),
			snapshot.Migrated(func(was cargo1) cargo3 { return cargo3{factor * (1 + int64(was.Tons))} }),
		}
	}
}

// TestOtherStart has the next build make another world of the last snapshot, by another Migrated, than
// the build that died. If that had logged no ticks it is in nobody's way. Otherwise ReplayOther plays
// them from the world that this build has made, and says so.
func TestOtherStart(t *testing.T) {
	for _, ticks := range []int{0, 5} {
		for o := range durable.DiscardOther + 1 {
			path, _ := useDisk(t)
			st, err := port{3, "a", cargo[cargo1]}.make(o).open(path)
			require.NoError(t, err)
			require.NoError(t, st.Close())
			b := port{3, "b", migrates(100)}.make(o)
			st, err = b.open(path)
			require.NoError(t, err)
			for range ticks {
				b.step(t)
			}
			require.NoError(t, st.Wait(t.Context()))
			st.Crash()

			c := port{3, "c", migrates(1000)}.make(o)
			plan, err := durable.Plan(path, c.World, c.s, c.options)
			require.NoError(t, err)
			refused := ticks > 0 && o == durable.RefuseOther
			require.Equal(t, refused, len(plan.Blocking()) > 0, "%v", plan)
			st, err = c.open(path)
			if refused {
				require.ErrorIs(t, err, inputlog.ErrOtherProgram)
				continue
			}
			require.NoError(t, err, "%d %v", ticks, o)
			kilos := world.Read[cargo3](c.World)
			for h := range c.Query(kilos).Entities() {
				require.Equal(t, cargo3{1000}, *kilos.Get(h))
			}
			r := st.Recovered()
			require.Equal(t, ticks > 0, r.Other != nil)
			if ticks > 0 && o == durable.ReplayOther {
				require.Equal(t, uint64(ticks), r.Other.Ticks)
				require.Equal(t, r.Snapshot.Info.Tick, r.Other.Differences.First)
				require.Positive(t, r.Other.Differences.Ticks)
			}
			st.Crash()
		}
	}
}

// TestFirstTickDamaged damages the first tick of a log of another form: Plan and Open do not say that
// this program plays ticks of it.
func TestFirstTickDamaged(t *testing.T) {
	path, disk := useDisk(t)
	a := port{3, "a", nil}.make(durable.RefuseOther)
	st, err := a.open(path)
	require.NoError(t, err)
	const name = "000000000001.log"
	require.NoError(t, st.Wait(t.Context()))
	at, err := disk.Size(name)
	require.NoError(t, err)
	for range 5 {
		a.step(t)
	}
	require.NoError(t, st.Wait(t.Context()))
	st.Crash()
	disk.Edit(name, func(b []byte) []byte { b[at+4] ^= 4; return b })
	for o := range durable.DiscardOther + 1 {
		copied := disk.Clone()
		useAs(t, path, func() files.Files { return copied })
		x := port{7, "a", nil}.make(o)
		plan, err := durable.Plan(path, x.World, x.s, x.options)
		require.NoError(t, err)
		require.Equal(t, o != durable.DiscardOther, len(plan.Blocking()) > 0, "%v", plan)
		require.NotContains(t, plan.String(), "is played")
		st, err := x.open(path)
		if o == durable.DiscardOther {
			require.NoError(t, err)
			require.Zero(t, x.Tick())
			require.Len(t, st.Recovered().Lost, 1)
			st.Crash()
			continue
		}
		require.ErrorContains(t, err, "to go back to the snapshot of tick 0: ticks 0 to 4 were on disk")
		require.ErrorAs(t, err, new(*durable.ShardsError))
	}
}
