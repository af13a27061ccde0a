package store_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestRetagMarked marks atoms of a table before and after its rows went to another:
// each is among the marked once, whichever table has become dirty how often.
func TestRetagMarked(t *testing.T) {
	for _, n := range []int{1, 20, 100, 400} {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		sh, one, two := s.shards[0], set(number), set(number, text)
		var want []handle.Handle
		for range 3 {
			all := s.mustCreate(sh, n)
			dying := slices.Compact([]handle.Handle{all[0], all[n-1]})
			s.destroy(dying...)
			want = append(want, dying...)
			require.NoError(t, sh.Table(one).Retag(two, func(store.Rows) {}))
			require.Zero(t, sh.Table(one).Rows())
		}
		last := s.mustCreate(sh, n)
		s.destroy(last[0])
		want = append(want, last[0])
		require.ElementsMatch(t, want, sh.AppendMarked(nil))
		none := set()
		require.ElementsMatch(t, want, sh.AppendDying(nil, &none))
		require.Equal(t, len(want), sh.MarkedRows())
		s.refresh()
		require.Equal(t, 4*n-len(want), sh.Alive())
		require.Empty(t, sh.AppendMarked(nil))
	}
}

// TestRetagLeavesNothing moves atoms to a table that has others, few and many, and
// destroys them there: where they have come is stamped with the tick, and where they
// were nothing holds on to what they pointed to.
func TestRetagLeavesNothing(t *testing.T) {
	for _, n := range []int{1, 20, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
			sh, one, two := s.shards[0], set(number, text), set(text)
			_, err := s.create(sh, two, 0) // there before
			require.NoError(t, err)
			all, seen := []handle.Handle{}, []weak.Pointer[string]{}
			for range n {
				h, err := s.create(sh, one, 1)
				require.NoError(t, err)
				p := &[]string{fmt.Sprint(h)}[0]
				*s.texts.At(s.space.Locate(h)) = p
				all, seen = append(all, h), append(seen, weak.Make(p))
			}
			s.space.SetTick(7)
			require.NoError(t, sh.Table(one).Retag(two, func(store.Rows) {}))
			for _, h := range all {
				require.True(t, writtenNow(sh.Table(two), h), "%v has come in this tick", h)
			}
			s.destroy(all...)
			s.refresh()
			runtime.GC()
			for i, w := range seen {
				require.Nil(t, w.Value(), "what %v pointed to", all[i])
			}
			require.Equal(t, 1, sh.Alive())
			runtime.KeepAlive(s)
		})
	}
}

// writtenNow reports whether the chunk that an atom is in changed in this tick.
func writtenNow(t *store.Table, h handle.Handle) bool {
	none := store.Set{}
	for i, left := 0, t.Rows(); left > 0; i++ {
		r := t.Run(i, left)
		left -= r.Len()
		if slices.Contains(r.Handles(), h) {
			return r.WrittenSince(0, &none)
		}
	}
	return false
}

// retagged is what a model knows of an atom.
type relabelled struct {
	set    store.Set
	n      int64
	text   *string
	flags  slots.Flags
	marked bool
}

// TestRetagAgainstModel moves whole tables, and parts of them, to other sets of
// components at random, and compares everything with a map.
func TestRetagAgainstModel(t *testing.T) {
	for seed := range uint64(iterations(40)) {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		r := newRand(t, seed)
		sh := s.shards[0]
		sets := []store.Set{set(number), set(text), set(number, text), set()}
		model := map[handle.Handle]*relabelled{}
		sorted := func() []handle.Handle { return slices.Sorted(maps.Keys(model)) }
		// moved takes note of rows that have come, whose new components are zero.
		moved := func(to store.Set) func(store.Rows) {
			return func(rows store.Rows) {
				for _, h := range rows.Handles() {
					m := model[h]
					if !m.set.Has(number) {
						m.n = 0
					}
					if !m.set.Has(text) {
						m.text = nil
					}
					m.set = to
				}
			}
		}
		for range 60 {
			from, to := sets[r.IntN(4)], sets[r.IntN(4)]
			switch r.IntN(6) {
			case 0, 1:
				for n := range int64(r.IntN([]int{5, 30, 300}[r.IntN(3)])) {
					h, err := s.create(sh, from, n+1)
					require.NoError(t, err)
					m := &relabelled{set: from, n: n + 1}
					if from.Has(text) {
						m.text = *s.texts.At(s.space.Locate(h))
					}
					model[h] = m
				}
			case 2:
				require.NoError(t, sh.Table(from).Retag(to, moved(to)))
			case 3:
				f := store.Filter{With: slots.Flags(r.IntN(2)), Without: slots.Flags(2 * r.IntN(2))}
				most, matching := r.IntN(50), sh.Table(from).MatchingRows(&f)
				want := 0
				for _, m := range model {
					if m.set == from && m.matches(&f) {
						want++
					}
				}
				require.Equal(t, want, matching)
				came := 0
				require.NoError(t, sh.Table(from).RetagMatching(&f, most, to, func(rows store.Rows) {
					for _, h := range rows.Handles() {
						require.True(t, model[h].matches(&f))
					}
					came += rows.Len()
					moved(to)(rows)
				}))
				if from != to {
					require.Equal(t, min(most, matching), came)
				}
			case 4:
				for _, h := range sorted() {
					if m, l := model[h], s.space.Locate(h); r.IntN(8) == 0 {
						s.change(r.IntN(4), sh, l, m)
					}
				}
			default:
				var dying []handle.Handle
				for h, m := range model {
					if m.marked {
						dying = append(dying, h)
						delete(model, h)
					}
				}
				require.ElementsMatch(t, dying, sh.AppendMarked(nil))
				require.Equal(t, len(dying), sh.MarkedRows())
				sh.KeepOrder = r.IntN(2) == 0
				s.refresh()
			}
			s.mustBe(sh, model)
		}
	}
}

func (m *relabelled) matches(f *store.Filter) bool {
	return m.flags&f.With == f.With && m.flags&f.Without == 0
}

// change marks or flags an atom.
func (s *storage) change(what int, sh *store.Shard, l slots.Loc, m *relabelled) {
	switch what {
	case 0:
		require.Equal(s.t, !m.marked, s.space.Mark(l))
		m.marked = true
	default:
		f := slots.Flags(1) << (what - 1)
		m.flags ^= f
		sh.SetFlags(l, m.flags&f, ^m.flags&f)
	}
}

// mustBe compares all atoms of a shard with a model.
func (s *storage) mustBe(sh *store.Shard, model map[handle.Handle]*relabelled) {
	s.t.Helper()
	held := 0
	for _, table := range sh.Tables() {
		for _, h := range rows(table) {
			m, l := model[h], s.space.Locate(h)
			held++
			if m == nil || m.set != table.Set() || *s.space.Set(l) != m.set {
				s.t.Fatalf("%v is in the table of %v", h, table.Set())
			}
			if p := s.numbers.At(l); (p != nil) != m.set.Has(number) || p != nil && *p != m.n {
				s.t.Fatalf("%v holds another's number", h)
			}
			if p := s.texts.At(l); (p != nil) != m.set.Has(text) || p != nil && *p != m.text {
				s.t.Fatalf("%v holds another's text", h)
			}
			if s.space.FlagsAt(l) != m.flags || s.space.Marked(l) != m.marked {
				s.t.Fatalf("%v has other flags, or a mark or none", h)
			}
		}
	}
	require.Equal(s.t, len(model), held)
}

// TestRetagKeepsOrder moves whole tables to an empty one: the rows stay in order, those of
// a chunk that is not full, too, of which one is flagged.
func TestRetagKeepsOrder(t *testing.T) {
	for _, n := range []int{40, 79, 80, 100, 335, 336, 340} {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		sh := s.shards[0]
		all := s.mustCreate(sh, n)
		sh.SetFlags(s.space.Locate(all[n-1]), 1, 0)
		var came []handle.Handle
		require.NoError(t, sh.Table(set(number)).Retag(set(), func(r store.Rows) { came = append(came, r.Handles()...) }))
		require.Equal(t, all, rows(sh.Table(set())))
		require.Equal(t, all, came)
	}
}

// TestRetagRefused moves rows to a table that has room for some of them: these have
// zeroes in what is new to them, and the others stay.
func TestRetagRefused(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, both := s.shards[0], set(number, text)
	var all []handle.Handle
	for n := range int64(16) {
		h, err := s.create(sh, both, n+1)
		require.NoError(t, err)
		all = append(all, h)
	}
	s.destroy(all[14:]...)
	s.refresh()
	var texts []handle.Handle
	for range 5 {
		h, err := s.create(sh, set(text), 0)
		require.NoError(t, err)
		texts = append(texts, h)
	}
	s.space.SetChunks(slots.ChunksMax)
	var came []handle.Handle
	err := sh.Table(set(text)).Retag(both, func(r store.Rows) { came = append(came, r.Handles()...) })
	require.ErrorIs(t, err, store.ErrChunks)
	require.Equal(t, texts[3:], came)
	require.Equal(t, came, rows(sh.Table(both))[14:])
	for _, h := range came {
		require.Zero(t, *s.numbers.At(s.space.Locate(h)))
	}
	require.Equal(t, texts[:3], rows(sh.Table(set(text))))
}

// TestRetagRowsAgain creates rows where some were that went to another table, few of them
// or many: they hold zeroes.
func TestRetagRowsAgain(t *testing.T) {
	for _, n := range []int{5, 16, 20, 100} {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		sh, one := s.shards[0], s.shards[0].Table(set(number))
		for i := range int64(n) {
			_, err := s.create(sh, set(number), i+1)
			require.NoError(t, err)
		}
		require.NoError(t, one.Retag(set(), func(store.Rows) {}))
		for left := 100; left > 0; {
			r, err := sh.CreateRows(one, left, true)
			require.NoError(t, err)
			left -= r.Len()
			for i := range r.Len() {
				require.Zero(t, *s.numbers.At(r.Loc(i)), "%d", n)
			}
		}
	}
}

// TestRetagOrder moves the rows of a table to one that has some, in a chunk of which more rows are
// ready or fewer, with a hook, a flag and marks, or without: nothing of that shows in the order of
// rows.
func TestRetagOrder(t *testing.T) {
	for _, n := range []int{1, 20, 40, 5000} {
		var want []int64
		for what := range 16 {
			s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
			sh, one, both := s.shards[0], set(number), set(number, text)
			if what&1 != 0 {
				s.space.SetWatch(store.Watch{Changes: []store.Set{both}}, s.shards)
			}
			require.NoError(t, sh.Reserve(sh.Table(one), slots.RowsMax))
			had := s.mustCreate(sh, 1020)
			if what&2 != 0 { // more rows are ready
				s.destroy(s.mustCreate(sh, 3000)...)
				s.refresh()
			}
			var come []handle.Handle
			for i := range n {
				h, err := s.create(sh, both, int64(10_000+i))
				require.NoError(t, err)
				come = append(come, h)
			}
			if what&4 != 0 {
				sh.SetFlags(s.space.Locate(come[n/2]), 2, 0)
			}
			if what&8 != 0 {
				s.destroy(had[7], come[n/2])
			}
			came := map[handle.Handle]bool{}
			require.NoError(t, sh.Table(both).Retag(one, func(r store.Rows) {
				for _, h := range r.Handles() {
					came[h] = true
				}
			}))
			var got []int64
			for _, h := range rows(sh.Table(one)) {
				got = append(got, *s.numbers.At(s.space.Locate(h)))
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(want, got) {
				t.Fatalf("%d rows, case %04b: the last are %v, want %v", n, what, got[max(0, len(got)-20):], want[max(0, len(want)-20):])
			}
			require.Len(t, came, n)
			for i, h := range come {
				l := s.space.Locate(h)
				require.Equal(t, what&4 != 0 && i == n/2, s.space.FlagsAt(l) == 2)
				require.Equal(t, what&8 != 0 && i == n/2, s.space.Marked(l))
			}
			if what&1 != 0 {
				require.Equal(t, n, sh.Noted())
			}
			if what&8 != 0 {
				require.Equal(t, 2, sh.MarkedRows())
			}
		}
	}
}
