package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestTellStored stores anew one component, or the other, of old and new atoms: those are
// told of that were there before, to who asked for that component.
func TestTellStored(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, both := s.shards[0], set(number, text)
	var old, all []handle.Handle
	for i := range int64(600) {
		if i == 250 {
			s.space.SetWatch(store.Watch{Created: true, Stored: both}, s.shards)
		}
		h, err := s.create(sh, both, i)
		require.NoError(t, err)
		all = append(all, h)
		if i < 250 {
			old = append(old, h)
		}
	}
	for i, h := range all {
		s.noteStored(h, []int{number, text}[i%2])
	}
	var even, odd []handle.Handle
	for i, h := range old {
		if i%2 == 0 {
			even = append(even, h)
		} else {
			odd = append(odd, h)
		}
	}
	numbers, texts := set(number), set(text)
	sh.BeginNotify()
	require.Equal(t, even, sh.AppendStored(nil, &numbers))
	require.Equal(t, odd, sh.AppendStored(nil, &texts))
	require.Equal(t, old, sh.AppendStored(nil, &both))
	require.Equal(t, all[250:], sh.AppendCreated(nil, &both))
	sh.EndNotify()
}

// TestTellDying marks an atom, and one that the same refresh has created: it never was alive,
// and nobody is told that it dies.
func TestTellDying(t *testing.T) {
	o := newOffice(t, 1)
	sh := o.shards[0]
	all := o.mustCreate(sh, 3)
	drawn, err := o.outside.Take(nil, 1, 0)
	require.NoError(t, err)
	o.askCreate(drawn[0], 0, func(h handle.Handle, _ slots.Loc) queue.Outcome {
		a, err := sh.Adopt(sh.Table(set(number)), h)
		require.NoError(t, err)
		o.fill(a, set(number), 1)
		return queue.Applied
	})
	o.askDestroy(all[1])
	o.askDestroy(drawn[0])
	o.apply(func() {
		none := set()
		require.Equal(t, []handle.Handle{7, all[1]}, sh.AppendDying([]handle.Handle{7}, &none))
	})
	require.Equal(t, 2, sh.Alive())
}

// TestTellDyingInOrder marks atoms, the last first, in chunks of some sizes: they are told of in the
// order of their rows, table by table.
func TestTellDyingInOrder(t *testing.T) {
	for _, rows := range []int{1, 8, 64} {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		s.space.Growth = store.Growth{RowsFirst: rows, RowsFactor: 1, RowsMax: rows}
		sh, none := s.shards[0], set()
		all := s.mustCreate(sh, 40)
		other, err := s.create(sh, set(number, text), 1)
		require.NoError(t, err)
		s.destroy(all[30], other, all[2], all[39], all[31])
		want := []handle.Handle{all[2], all[30], all[31], all[39], other}
		require.Equal(t, want, sh.AppendMarked(nil), rows)
		s.destroy(all[0])
		require.Equal(t, append(all[:1:1], want...), sh.AppendDying(nil, &none), rows)
		s.refresh()
		require.Equal(t, 35, sh.Alive())
	}
}
