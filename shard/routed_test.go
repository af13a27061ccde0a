package shard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// finished is a Finisher that remembers what it was told.
type finished []shard.Outcome

func (f *finished) Finish(o shard.Outcome) { *f = append(*f, o) }

// action is a Stream whose requests do what the payload, a function, does.
type action struct{}

func (action) Next() any { return nil }
func (action) Size() int { return 0 }
func (action) Release()  {}
func (action) Apply(s *shard.Shard, h handle.Handle, l shard.Loc, payload any) shard.Outcome {
	return payload.(func(handle.Handle, shard.Loc) shard.Outcome)(h, l)
}

// TestRouted applies creates and other requests, each in their order, and tells
// the outcomes when asked to.
func TestRouted(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	there := s.mustCreate(sh, 3)
	pending, _, err := s.outside.Draw(1)
	require.NoError(t, err)
	refused, _, err := s.outside.Draw(1)
	require.NoError(t, err)

	var order []string
	do := func(name string, o shard.Outcome) func(handle.Handle, shard.Loc) shard.Outcome {
		return func(h handle.Handle, l shard.Loc) shard.Outcome {
			order = append(order, name)
			return o
		}
	}
	var told [8]finished
	var creates, others []shard.Routed
	put := func(i int, h handle.Handle, f func(handle.Handle, shard.Loc) shard.Outcome) {
		others = append(others, shard.Routed{Handle: h, Stream: action{}, Payload: f, Done: &told[i]})
	}
	put(0, pending, do("set pending", shard.Applied))
	put(1, there[0], do("set", shard.Missing))
	others = append(others, shard.Routed{Handle: there[0], Done: &told[2]}) // destroy
	put(3, there[0], do("set the marked", shard.Applied))
	others = append(others,
		shard.Routed{Handle: there[0], Done: &told[4]},
		shard.Routed{Handle: there[1] + 1, Done: &told[5]},
		shard.Routed{Handle: there[2]}) // nobody waits
	creates = append(creates, shard.Routed{Handle: pending, Stream: action{}, Done: &told[6], Payload: func(h handle.Handle, l shard.Loc) shard.Outcome {
		require.Zero(t, l)
		order = append(order, "create")
		a, err := sh.Adopt(sh.Table(set(number)), h)
		require.NoError(t, err)
		s.fill(a, set(number), 1)
		return shard.Applied
	}})
	creates = append(creates, shard.Routed{Handle: refused, Stream: action{}, Done: &told[7], Payload: do("refuse", shard.Refused)})

	sh.ApplyCreates(creates)
	require.Equal(t, []string{"create", "refuse"}, order)
	require.True(t, s.space.Alive(pending))
	sh.ApplyRequests(others, []uint32{0, 1, 2, 3, 4, 5, 6}, 0)
	require.Equal(t, []string{"create", "refuse", "set pending", "set"}, order)
	for _, f := range told {
		require.Empty(t, f, "told at the end of the refresh")
	}
	require.Contains(t, sh.Exiled(), refused, "its slot goes back")
	s.refresh()
	s.refresh() // which has nothing to tell

	want := []shard.Outcome{
		shard.Applied, shard.Missing, shard.Applied, shard.Gone, shard.Gone, shard.Gone, shard.Applied, shard.Refused,
	}
	for i, f := range told {
		require.Equal(t, finished{want[i]}, f, "request %d", i)
	}
	require.Equal(t, []uint64{4, 3, 1, 1}, []uint64{
		sh.Count(shard.Applied), sh.Count(shard.Gone), sh.Count(shard.Missing), sh.Count(shard.Refused),
	})
	require.False(t, s.space.Alive(there[0]))
	require.False(t, s.space.Alive(there[2]))
	require.False(t, s.space.Alive(refused))
	version, state := s.state(refused)
	require.Equal(t, []any{uint32(2), shard.StateUnused}, []any{version, state})
	require.Equal(t, 2, sh.Alive())
}
