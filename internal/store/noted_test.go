package store_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestNotesForNobody creates atoms that no hook is told of: there is nothing to do for them, until
// one of them gets the component of a hook.
func TestNotesForNobody(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, texts := s.shards[0], set(text)
	s.space.SetWatch(store.Watch{
		Created: true, Told: []store.Set{texts}, Changes: []store.Set{texts}, Stored: texts,
	}, s.shards)
	all := s.mustCreate(sh, 100)
	require.Equal(t, 3, sh.NotedRuns()) // by chunk
	require.Equal(t, 100, sh.Noted())
	require.Zero(t, sh.Due())
	require.Zero(t, sh.Noted())
	require.Zero(t, sh.NotedRuns())
	born := s.mustCreate(sh, 3)
	for _, h := range []handle.Handle{born[1], all[7]} {
		a, err := sh.Change(s.space.Locate(h), set(number, text))
		require.NoError(t, err)
		*s.texts.At(a.Loc()) = nil
	}
	require.Equal(t, 5, sh.Due())
	sh.BeginNotify()
	require.Equal(t, born[1:2], sh.AppendCreated(nil, &texts))
	require.Equal(t, all[7:8], sh.AppendAdded(nil, &texts))
	sh.EndNotify()
	require.Zero(t, sh.Noted())
}

// TestNotesOfRows creates, changes and destroys atoms in many ways, so that rows move that were
// noted, and compares what hooks are told of with what a list of handles says.
func TestNotesOfRows(t *testing.T) {
	r := newRand(t, 7)
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	s.space.Growth = store.Growth{RowsFirst: 16, RowsFactor: 4, RowsMax: 64}
	sh, texts, numbers := s.shards[0], set(text), set(number)
	s.space.SetWatch(store.Watch{Created: true, Told: []store.Set{{}}, Changes: []store.Set{texts}}, s.shards)
	sets := []store.Set{numbers, texts, set(number, text)}
	tables := func() (all []*store.Table) {
		for _, x := range sets {
			all = append(all, sh.Table(x))
		}
		return all
	}
	has := func(h handle.Handle) bool { return s.space.Set(s.space.Locate(h)).Has(text) }
	var alive, created, changed []handle.Handle
	had := map[handle.Handle]bool{}
	change := func(h handle.Handle, to store.Set) {
		if was := has(h); was != to.Has(text) {
			if _, known := had[h]; !known && !slices.Contains(created, h) {
				had[h] = was
				changed = append(changed, h)
			}
		}
	}
	for range iterations(2000) {
		switch to := sets[r.IntN(3)]; r.IntN(6) {
		case 0:
			h, err := s.create(sh, to, 1)
			require.NoError(t, err)
			alive, created = append(alive, h), append(created, h)
		case 1:
			for n := 1 + r.IntN(90); n > 0; {
				rows, err := sh.CreateRows(sh.Table(to), n, true)
				require.NoError(t, err)
				n -= rows.Len()
				alive, created = append(alive, rows.Handles()...), append(created, rows.Handles()...)
			}
		case 2:
			for range min(len(alive), r.IntN(5)) {
				h := alive[r.IntN(len(alive))]
				change(h, to)
				a, err := sh.Change(s.space.Locate(h), to)
				require.NoError(t, err)
				_ = a
			}
		case 3:
			from := tables()[r.IntN(3)]
			if from.Set() == to {
				continue
			}
			var moved []handle.Handle
			before := rows(sh.Table(to))
			require.NoError(t, from.Retag(to, func(store.Rows) {}))
			for _, h := range rows(sh.Table(to)) {
				if !slices.Contains(before, h) {
					moved = append(moved, h)
				}
			}
			for _, h := range moved {
				if was := from.Set(); was.Has(text) != to.Has(text) && !slices.Contains(created, h) {
					if _, known := had[h]; !known {
						had[h] = was.Has(text)
						changed = append(changed, h)
					}
				}
			}
		default:
			dead := map[handle.Handle]bool{}
			for range r.IntN(20) {
				if len(alive) == 0 {
					break
				}
				if h := alive[r.IntN(len(alive))]; !dead[h] {
					dead[h] = true
					s.destroy(h)
				}
			}
			var added, removed []handle.Handle
			for _, h := range changed {
				switch {
				case had[h] && !has(h):
					removed = append(removed, h)
				case !had[h] && has(h):
					added = append(added, h)
				}
			}
			sh.Due()
			sh.BeginNotify()
			require.Equal(t, created, sh.AppendCreated(nil, &store.Set{}))
			require.ElementsMatch(t, added, sh.AppendAdded(nil, &texts))
			require.ElementsMatch(t, removed, sh.AppendRemoved(nil, &texts))
			created, changed = nil, nil
			clear(had)
			if r.IntN(2) == 0 { // as a hook does
				rows, err := sh.CreateRows(sh.Table(to), 5, true)
				require.NoError(t, err)
				alive, created = append(alive, rows.Handles()...), append(created, rows.Handles()...)
			}
			sh.EndNotify()
			s.refresh()
			alive = slices.DeleteFunc(alive, func(h handle.Handle) bool { return dead[h] })
		}
	}
	require.NotEmpty(t, alive)
}

// TestNotesSettle creates atoms as a hook does, in rows that the same refresh then moves or puts
// tombstones in.
func TestNotesSettle(t *testing.T) {
	for name, move := range map[string]func(sh *store.Shard){
		"coalesce": func(sh *store.Shard) { sh.EndTick() },
		"migrate": func(sh *store.Shard) {
			sh.MigrateSome(1, 10, new(store.Set))
			sh.CollectOutgoing()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
			s.space.SetWatch(store.Watch{Created: true}, s.shards)
			s.space.Growth = store.Growth{RowsFirst: 16, RowsFactor: 4, RowsMax: 4096}
			all := s.mustCreate(s.shards[0], 30)
			move(s.shards[0])
			require.Equal(t, all, s.shards[0].Image().Created)
		})
	}
}
