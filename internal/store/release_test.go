package store_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestReleaseLitmus publishes atoms while other goroutines wait for each, knowing
// what handle it will have: whoever sees that an atom is alive sees its place and
// its components, too. It is the proof of the release store, as far as running a
// thing can prove.
func TestReleaseLitmus(t *testing.T) {
	for name, create := range map[string]func(*storage, *store.Table, int64) (handle.Handle, error){
		"in steps": func(s *storage, _ *store.Table, n int64) (handle.Handle, error) {
			return s.create(s.shards[0], set(number), n)
		},
		"at once": func(s *storage, table *store.Table, n int64) (handle.Handle, error) {
			fields, plain := table.Fields([]store.Field{{Component: number}})
			require.True(s.t, plain)
			return s.shards[0].CreatePlain(table, &fields, mem.PointerTo(&n).Address)
		},
		"as a batch": func(s *storage, table *store.Table, n int64) (handle.Handle, error) {
			rows, err := s.shards[0].CreateRows(table, 1, false)
			if err != nil {
				return handle.None, err
			}
			*s.numbers.At(rows.Atom(0).Loc()) = n
			s.shards[0].PublishRows(rows)
			return rows.Handle(0), nil
		},
	} {
		t.Run(name, func(t *testing.T) { releaseLitmus(t, create) })
	}
}

func releaseLitmus(t *testing.T, create func(*storage, *store.Table, int64) (handle.Handle, error)) {
	n := int64(iterations(400_000))
	if check.Enabled { // also under -short: the race detector sees as much
		n = 40_000
	}
	handles := handlesOf(t, int(n)) // the same calls give the same handles

	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	table := s.shards[0].Table(set(number))
	var seen [2]atomic.Int64
	done := make(chan struct{}, len(seen))
	for r := range seen {
		go func() {
			defer func() { done <- struct{}{} }()
			for i, h := range handles {
				for !s.space.Alive(h) {
					runtime.Gosched()
				}
				l := s.space.Locate(h)
				p := s.numbers.At(l)
				if l == 0 || p == nil || *p != int64(i) {
					t.Errorf("%v is alive, at %v, and holds not yet what was stored", h, l)
					return
				}
				seen[r].Store(int64(i) + 1)
			}
		}()
	}
	for i := range n {
		h, err := create(s, table, i)
		require.NoError(t, err)
		require.Equal(t, handles[i], h)
		if i%64 == 0 { // the readers are close behind
			for seen[0].Load() < i-64 && seen[1].Load() < i-64 && !t.Failed() {
				runtime.Gosched()
			}
		}
	}
	<-done
	<-done
	version, state := s.state(handles[0])
	require.Equal(t, []any{uint32(1), slots.StateAlive}, []any{version, state})
}

// handlesOf creates n atoms in a storage of their own.
func handlesOf(t *testing.T, n int) []handle.Handle {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	return s.mustCreate(s.shards[0], n)
}
