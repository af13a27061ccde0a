package durable_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// spoken is a value and when it was put.
type spoken struct {
	at world.Moment
	v  uint64
}

// speaks adds an output into which the global system and a transaction put.
func (x *bank) speaks(t testing.TB, handle func(at world.Moment, v uint64)) *world.Transaction[uint64, int] {
	o := world.RegisterOutput[uint64](x.World, "says")
	o.Handle(handle)
	x.s.MustAdd("says", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { require.NoError(t, o.Put(c, c.Tick())) }
	})
	return world.RegisterTransaction(x.World, "say", func(tx *world.Tx, v uint64) (int, error) { return 0, o.Put(tx, v) })
}

// TestSyncOutput cuts the power in a handler: what it was told is on disk, and is not told again,
// also under no other moment.
func TestSyncOutput(t *testing.T) {
	path, disk := useDisk(t)
	told, moments := map[uint64]bool{}, map[world.Moment]bool{}
	const first = 1 << 32
	for n := range uint64(16) {
		x := newSynced(1 + int(n%3))
		var st *durable.Store
		var ticks []uint64
		off := false
		say := x.speaks(t, func(at world.Moment, v uint64) {
			require.False(t, moments[at], at)
			require.False(t, told[v], v)
			if moments[at] = true; v >= first {
				told[v] = true
			}
			require.GreaterOrEqual(t, st.Durable(), at.Tick+1, "it is on disk")
			ticks = append(ticks, at.Tick)
			if v >= first && n%2 == 0 && !off {
				off = true
				disk.PowerOff()
			}
		})
		var err error
		st, err = x.open(path)
		require.NoError(t, err)
		require.Empty(t, ticks, "a replay tells nothing")
		for v := range told {
			require.Less(t, v, first+n)
		}
		p, err := x.OpenPort()
		require.NoError(t, err)
		begun := x.Tick()
		for range n % 4 {
			require.NoError(t, x.s.Step(t.Context()))
		}
		require.NoError(t, say.Call(p, first+n))
		require.NoError(t, x.s.Step(t.Context()))
		require.True(t, told[first+n])
		require.Equal(t, begun, ticks[0])
		disk.PowerOff()
		st.Crash()
		disk.Reboot()
	}
	require.Len(t, told, 16)
}

// TestSyncOutputFailing lets the log fail: the tick that it lacks is not told.
func TestSyncOutputFailing(t *testing.T) {
	for _, fault := range faulty.Faults {
		path, disk := useDisk(t)
		x := newSynced(1)
		last := uint64(0)
		x.speaks(t, func(at world.Moment, v uint64) { last = at.Tick })
		st, err := x.open(path)
		require.NoError(t, err)
		require.NoError(t, x.s.Step(t.Context()))
		disk.FailAt(1, fault)
		for err == nil {
			require.Less(t, x.Tick(), uint64(100))
			err = x.s.Step(t.Context())
		}
		require.ErrorIs(t, err, world.ErrClosed, fault.Name)
		require.Equal(t, x.Tick()-1, last)
		require.ErrorIs(t, st.Close(), durable.ErrFailed)
	}
}

// TestOutputSaved saves in a handler: the snapshot has the state after the tick, and no outputs, also
// not those that are yet to be handled.
func TestOutputSaved(t *testing.T) {
	x := newBank(1)
	var file bytes.Buffer
	handled := 0
	x.speaks(t, func(at world.Moment, v uint64) {
		if handled++; handled == 1 {
			require.NoError(t, snapshot.Write(&file, x.World, x.options.Snapshot))
		}
	})
	require.NoError(t, x.s.Step(t.Context()))
	require.Equal(t, 3, handled)
	y := newBank(2)
	y.speaks(t, func(at world.Moment, v uint64) {
		require.EqualValues(t, 1, at.Tick)
		handled++
	})
	require.NoError(t, snapshot.Load(&file, y.World, x.options.Snapshot))
	require.EqualValues(t, 1, y.Tick())
	require.Equal(t, 3, handled)
	require.NoError(t, y.s.Step(t.Context()))
	require.Equal(t, 6, handled)
}

// TestOutputChanges changes the idle world in a handler of a store without Sync: the change is saved,
// as one of Between is. Where ticks are sealed it asks a port for a transaction.
func TestOutputChanges(t *testing.T) {
	path := t.TempDir()
	x := newBank(1)
	made := 0
	var p *world.Port
	x.speaks(t, func(at world.Moment, v uint64) {
		if made < 5 {
			if made++; mustRefuse(t, func() { _, _ = x.ships.Create(x.World, fleet{}) }) {
				require.NoError(t, x.grant.Call(p, 7))
				return
			}
			_, err := x.ships.Create(x.World, fleet{Ship{7}})
			require.NoError(t, err)
		}
	})
	st, err := x.open(path)
	require.NoError(t, err)
	p, err = x.OpenPort()
	require.NoError(t, err)
	for range 4 {
		require.NoError(t, x.s.Step(t.Context()))
	}
	if !durable.Sealed {
		require.NoError(t, st.Wait(t.Context()))
	}
	want := x.observe()
	st.Crash()
	require.Equal(t, made, strings.Count(want, "{7}"))
	x = newBank(1)
	x.speaks(t, func(world.Moment, uint64) { t.Error(errors.New("told in a replay")) })
	st, err = x.open(path)
	require.NoError(t, err)
	require.Equal(t, want, x.observe())
	require.NoError(t, st.Close())
}
