package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

// TestPlanAfterDiscard has a build discard the ticks of another one, and loses the snapshot that it
// saved then. The log has what both wrote, which does not follow one another: Plan and Open refuse
// that, and with AcceptLoss both take what the first has written, and that alone.
func TestPlanAfterDiscard(t *testing.T) {
	for name, test := range map[string]struct {
		second port
		then   port
		other  durable.OtherProgram
	}{
		"another build":               {port{3, "b", nil}, port{3, "a", nil}, durable.RefuseOther},
		"another build and component": {port{3, "b", fuel}, port{3, "a", nil}, durable.ReplayOther},
		"shards":                      {port{7, "a", nil}, port{3, "a", nil}, durable.RefuseOther},
	} {
		t.Run(name, func(t *testing.T) {
			path, disk := useDisk(t)
			for _, p := range []port{{3, "a", nil}, test.second} {
				x := p.make(durable.DiscardOther)
				st, err := x.open(path)
				require.NoError(t, err)
				for range 3 {
					x.step(t)
				}
				require.NoError(t, st.Wait(t.Context()))
				st.Crash()
			}
			require.NoError(t, disk.Remove("000000000002.snapshot"))
			for _, accept := range []bool{false, true} {
				copied := disk.Clone()
				useAs(t, path, func() files.Files { return copied })
				x := test.then.make(test.other)
				x.options.AcceptLoss = accept
				plan, err := durable.Plan(path, x.World, x.s, x.options)
				require.NoError(t, err)
				require.Equal(t, !accept, len(plan.Blocking()) > 0, "%v", plan)
				require.Contains(t, plan.String(), `directory "log": is damaged: 000000000002.log: `)
				require.NotContains(t, plan.String(), "another program")
				st, err := x.open(path)
				if !accept {
					require.ErrorIs(t, err, durable.ErrDamaged)
					require.ErrorContains(t, err, "000000000002.log: ")
					require.ErrorContains(t, err, "does not follow what is before it")
					continue
				}
				require.NoError(t, err)
				require.Equal(t, uint64(3), x.Tick())
				st.Crash()
			}
		})
	}
}

// TestShardsPassed damages a snapshot that has what Options.Upgrade did, and starts with other shards:
// the error says that DiscardOther leaves the snapshot out, too.
func TestShardsPassed(t *testing.T) {
	path, disk := useDisk(t)
	x := port{3, "a", nil}.make(durable.RefuseOther)
	st, err := x.open(path)
	require.NoError(t, err)
	require.NoError(t, st.Close())
	x = port{3, "a", nil}.make(durable.RefuseOther)
	x.options.Upgrade = func(w *world.World) error { world.Write[Account](w).Get(x.accounts()[0]).Sum++; return nil }
	st, err = x.open(path)
	require.NoError(t, err)
	for range 3 {
		x.step(t)
	}
	require.NoError(t, st.Wait(t.Context()))
	st.Crash()
	damage(t, 99)(disk)
	_, err = port{7, "a", nil}.make(durable.RefuseOther).open(path)
	require.ErrorAs(t, err, new(*durable.ShardsError))
	require.ErrorContains(t, err, "DiscardOther, to go back to the snapshot of tick 0")
	require.ErrorContains(t, err, "; a newer snapshot could not be loaded: ")
	require.ErrorContains(t, err, "000000000003.snapshot")
}
