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

// TestCompactPatterns marks rows in patterns, of tables of many sizes, and sweeps:
// the living keep their components, the dead are gone, rows are without a hole.
func TestCompactPatterns(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 17, 63, 64, 65, 79, 80, 81, 144, 335, 336, 337, 1500, 6000} {
		for name, dies := range map[string]func(i int) bool{
			"none":      func(int) bool { return false },
			"all":       func(int) bool { return true },
			"first":     func(i int) bool { return i == 0 },
			"last":      func(i int) bool { return i == n-1 },
			"all but 0": func(i int) bool { return i != 0 },
			"all but 1": func(i int) bool { return i != n-1 },
			"even":      func(i int) bool { return i%2 == 0 },
			"odd":       func(i int) bool { return i%2 == 1 },
			"front":     func(i int) bool { return i < n/2 },
			"back":      func(i int) bool { return i >= n/2 },
			"word":      func(i int) bool { return i >= 64 && i < 128 },
			"chunk":     func(i int) bool { return i >= 16 && i < 80 },
		} {
			t.Run(fmt.Sprintf("%s of %d", name, n), func(t *testing.T) {
				s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
				all := s.mustCreate(s.shards[0], n)
				dead := map[handle.Handle]bool{}
				for i, h := range all {
					if dies(i) {
						s.destroy(h)
						require.False(t, s.space.Mark(s.space.Locate(h)), "marked once")
						require.True(t, s.space.Marked(s.space.Locate(h)))
						require.True(t, s.space.Alive(h), "until the sweep")
						dead[h] = true
					}
				}
				require.Equal(t, len(dead), s.shards[0].MarkedRows())
				require.Equal(t, n, s.shards[0].Alive())
				s.refresh()
				s.mustHold(all, dead)
				require.Zero(t, s.shards[0].MarkedRows())
				s.refresh()
				s.mustHold(all, dead)
			})
		}
	}
}

// mustHold checks that shard 0 holds those of all that are not dead, each with
// its place in all as its number.
func (s *storage) mustHold(all []handle.Handle, dead map[handle.Handle]bool) {
	s.t.Helper()
	sh := s.shards[0]
	require.Equal(s.t, len(all)-len(dead), sh.Alive())
	held := rows(sh.Table(set(number)))
	require.Equal(s.t, len(all)-len(dead), len(held))
	seen := map[handle.Handle]bool{}
	for _, h := range held {
		if dead[h] || seen[h] || s.space.Marked(s.space.Locate(h)) {
			s.t.Fatalf("%v is there, but dead, twice or marked", h)
		}
		seen[h] = true
	}
	for i, h := range all {
		l := s.space.Locate(h)
		switch {
		case dead[h]:
			if l != 0 || s.space.Alive(h) {
				s.t.Fatalf("%v is dead and at %v", h, l)
			}
		case l == 0 || *s.numbers.At(l) != int64(i):
			s.t.Fatalf("%v is at %v and holds another's number", h, l)
		}
	}
}

// TestCompactAgainstModel creates, marks and sweeps at random in several tables,
// and compares everything with a map. Slots retire.
func TestCompactAgainstModel(t *testing.T) {
	for seed := range uint64(iterations(20)) {
		s := newStorage(t, 1, handle.IndexMax, 7)
		r := newRand(t, seed)
		sh := s.shards[0]
		sets := []store.Set{set(number), set(number, text), set(text)}
		type entity struct {
			set    store.Set
			n      int64
			text   *string
			marked bool
		}
		model := map[handle.Handle]*entity{}
		var dead []handle.Handle
		for round := range int64(60) {
			c := sets[r.IntN(3)]
			for n := range int64(r.IntN(400)) {
				h, err := s.create(sh, c, round<<32|n)
				require.NoError(t, err)
				require.Nil(t, model[h])
				model[h] = &entity{set: c, n: round<<32 | n}
				if p := s.texts.At(s.space.Locate(h)); p != nil {
					model[h].text = *p
				}
			}
			if r.IntN(12) == 0 {
				fresh := 0
				for _, e := range model {
					if !e.marked {
						fresh++
						e.marked = true
					}
				}
				require.Equal(t, fresh, sh.MarkAll())
			}
			odds := 1 + r.IntN(5)
			for _, h := range slices.Sorted(maps.Keys(model)) { // maps have no order
				if e := model[h]; r.IntN(odds) == 0 {
					require.Equal(t, !e.marked, s.space.Mark(s.space.Locate(h)))
					e.marked = true
				}
			}
			dying := 0
			for h, e := range model {
				require.Equal(t, e.marked, s.space.Marked(s.space.Locate(h)))
				if e.marked {
					dying++
					delete(model, h)
					dead = append(dead, h)
				}
			}
			require.Equal(t, dying, sh.MarkedRows())
			s.refresh()
			require.Equal(t, len(model), sh.Alive())
			for h, e := range model {
				l := s.space.Locate(h)
				if l == 0 || *s.space.Set(l) != e.set {
					t.Fatalf("%v is at %v", h, l)
				}
				if e.set.Has(number) && *s.numbers.At(l) != e.n || e.set.Has(text) && *s.texts.At(l) != e.text {
					t.Fatalf("%v holds another's components", h)
				}
			}
			held := 0
			for _, table := range sh.Tables() {
				for _, h := range rows(table) {
					held++
					if model[h] == nil || model[h].set != table.Set() {
						t.Fatalf("%v is in a table", h)
					}
				}
			}
			require.Equal(t, len(model), held)
			for _, h := range dead {
				if s.space.Alive(h) || s.space.Locate(h) != 0 {
					t.Fatalf("%v is dead and alive", h)
				}
			}
		}
		require.Equal(t, int(sh.Created()-sh.Destroyed()), sh.Alive())
		require.NotZero(t, sh.Retired())
	}
}

// TestCompactForgets lets the collector have what the components of the dead point
// to, and nothing of the living.
func TestCompactForgets(t *testing.T) {
	for name, dies := range map[string]func(i int) bool{
		"all":    func(int) bool { return true },
		"first":  func(i int) bool { return i < 10 },
		"last":   func(i int) bool { return i > 390 },
		"spread": func(i int) bool { return i%3 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
			var living, dead []weak.Pointer[string]
			for i := range 400 {
				h, err := s.create(s.shards[0], set(text), 0)
				require.NoError(t, err)
				w := weak.Make(*s.texts.At(s.space.Locate(h)))
				if dies(i) {
					s.destroy(h)
					dead = append(dead, w)
				} else {
					living = append(living, w)
				}
			}
			s.refresh()
			runtime.GC()
			runtime.GC()
			for _, w := range dead {
				require.Nil(t, w.Value())
			}
			for _, w := range living {
				require.NotNil(t, w.Value())
			}
			runtime.KeepAlive(s)
		})
	}
}

// TestCompactSpared sweeps, in order, a table whose chunk is full and of which all that were
// marked were spared.
func TestCompactSpared(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	sh.KeepOrder = true
	all := s.mustCreate(sh, 16)
	s.destroy(all[3])
	s.space.Spare(s.space.Locate(all[3]))
	s.refresh()
	require.Equal(t, all, rows(sh.Table(set(number))))
}

// TestCompactOrder marks atoms in some chunks of a table and in many, in any order: each hole
// gets the last row, the highest hole first.
func TestCompactOrder(t *testing.T) {
	for _, n := range []int{2, 5, 40, 300} {
		t.Run(fmt.Sprintf("%d dead", n), func(t *testing.T) {
			s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
			s.space.Growth = store.Growth{RowsFirst: 128, RowsFactor: 1, RowsMax: 128}
			want := s.mustCreate(s.shards[0], 100*128-7)
			r := newRand(t, uint64(n))
			dead := r.Perm(len(want))[:n]
			for _, i := range dead {
				s.destroy(want[i])
			}
			slices.Sort(dead)
			for _, i := range slices.Backward(dead) {
				last := len(want) - 1
				want[i], want = want[last], want[:last]
			}
			s.refresh()
			require.Equal(t, want, rows(s.shards[0].Table(set(number))))
		})
	}
}

// TestCompactRuns marks runs of rows, of atoms with components with and without pointers and with
// flags: everything moves as if each hole got the last row, the highest hole first.
func TestCompactRuns(t *testing.T) {
	for seed := range uint64(iterations(200)) {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		s.space.Growth = store.Growth{RowsFirst: 16, RowsFactor: 2, RowsMax: 64}
		r, sh, both := newRand(t, seed), s.shards[0], set(number, text)
		type atom struct {
			handle handle.Handle
			number int64
			text   *string
			flags  slots.Flags
		}
		want := []atom{}
		for round := range 5 {
			for i := range r.IntN(300) {
				h, err := s.create(sh, both, int64(1000*round+i))
				require.NoError(t, err)
				l, a := s.space.Locate(h), atom{handle: h, number: int64(1000*round + i)}
				if a.text = *s.texts.At(l); seed%2 == 0 {
					a.flags = slots.Flags(r.IntN(8))
					sh.SetFlags(l, a.flags, 0)
				}
				want = append(want, a)
			}
			for at := r.IntN(50); at < len(want); at += 1 + r.IntN(200) {
				for n := 1 + r.IntN(100); n > 0 && at < len(want); at, n = at+1, n-1 {
					s.destroy(want[at].handle)
					want[at].text = nil
				}
			}
			for i := len(want) - 1; i >= 0; i-- {
				if want[i].text == nil {
					last := len(want) - 1
					want[i], want = want[last], want[:last]
				}
			}
			s.refresh()
			got := []atom{}
			for _, h := range rows(sh.Table(both)) {
				l := s.space.Locate(h)
				got = append(got, atom{h, *s.numbers.At(l), *s.texts.At(l), s.space.FlagsAt(l)})
			}
			require.Equal(t, want, got)
		}
	}
}
