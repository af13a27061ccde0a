package inputlog_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/world"
)

// speaks adds an output into which shards, hooks and transactions put, and a handler.
func (x *harbor) speaks(t testing.TB, handle func(at world.Moment, v uint64)) *world.Transaction[uint64, int] {
	o := world.RegisterOutput[uint64](x.World, "says")
	o.Handle(handle)
	x.s.MustAdd("says", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { require.NoError(t, o.Put(c, c.Tick()*10+uint64(c.Shard()))) }
	})
	return world.RegisterTransaction(x.World, "say", func(tx *world.Tx, v uint64) (int, error) { return 0, o.Put(tx, v) })
}

// TestOutput records ticks whose outputs are handled after Commit. A replay handles nothing, and a
// tick after it does.
func TestOutput(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		x := newHarbor(workers)
		var log bytes.Buffer
		var all []world.Moment
		var values []uint64
		committed := uint64(0)
		say := x.speaks(t, func(at world.Moment, v uint64) {
			require.Equal(t, at.Tick+1, committed)
			all, values = append(all, at), append(values, v)
		})
		r := x.record(t, &log, func() error { committed++; return nil }, nil)
		p, err := x.OpenPort()
		require.NoError(t, err)
		for i := range 4 {
			require.NoError(t, say.Call(p, uint64(1000+i)))
			require.NoError(t, x.s.Step(t.Context()))
			require.NoError(t, r.Hash(x.hasher))
		}
		require.Equal(t, []uint64{0, 1, 1000, 10, 11, 1001, 20, 21, 1002, 30, 31, 1003}, values)
		require.Equal(t, world.Moment{Incarnation: 1, Tick: 3, N: 2}, all[11])
		require.NoError(t, r.Close())

		y := newHarbor(workers)
		handled := 0
		y.speaks(t, func(at world.Moment, v uint64) {
			require.Equal(t, world.Moment{Incarnation: 1, Tick: 4, N: uint32(handled)}, at, "after the replay")
			handled++
		})
		l, err := inputlog.Open(bytes.NewReader(log.Bytes()))
		require.NoError(t, err)
		play, err := l.Play(y.World, tagCodecs())
		require.NoError(t, err)
		for play.Next() {
			require.NoError(t, play.Make(func() error { return y.s.Step(t.Context()) }))
			_, err := play.Verify(y.hasher)
			require.NoError(t, err)
		}
		require.NoError(t, play.Err())
		require.Zero(t, handled)
		var stats world.Stats
		y.Stats(&stats)
		require.EqualValues(t, 12, stats.Outputs)
		require.Zero(t, stats.OutputsHandled+stats.OutputsDropped)
		play.Close()
		require.NoError(t, y.s.Step(t.Context()))
		require.Equal(t, 2, handled)
	}
}

// TestOutputLost has a log that cannot be written: no handler is called for that tick.
func TestOutputLost(t *testing.T) {
	x := newHarbor(2)
	var log bytes.Buffer
	handled, lost := 0, errors.New("the disk is full")
	x.speaks(t, func(at world.Moment, v uint64) {
		require.Zero(t, at.Tick)
		handled++
	})
	x.record(t, &log, func() error {
		if x.Tick() == 1 {
			return lost
		}
		return nil
	}, func(error) {})
	require.NoError(t, x.s.Step(t.Context()))
	require.ErrorIs(t, x.s.Step(t.Context()), lost)
	require.Equal(t, 2, handled)
}

// TestOutputChanges changes the idle world in a handler: that panics where ticks are sealed, and the
// next value is handled. What goes by a port is fine.
func TestOutputChanges(t *testing.T) {
	x := newHarbor(1)
	var log bytes.Buffer
	p, err := x.OpenPort()
	require.NoError(t, err)
	handled := 0
	var say *world.Transaction[uint64, int]
	say = x.speaks(t, func(at world.Moment, v uint64) {
		if handled++; at.Tick > 0 {
			return
		}
		require.NoError(t, say.Call(p, 5))
		_, _ = x.all.Create(x.World, tagged{})
	})
	r := x.record(t, &log, func() error { return nil }, nil)
	err = x.s.Step(t.Context())
	require.ErrorContains(t, err, "the idle World cannot be changed while ticks are sealed")
	require.ErrorContains(t, err, "world.RegisterTransaction")
	require.NoError(t, x.Err())
	require.Equal(t, 2, handled)
	require.Zero(t, x.Count())
	require.NoError(t, x.s.Step(t.Context()))
	require.Equal(t, 6, handled)
	require.NoError(t, r.Close())
}
