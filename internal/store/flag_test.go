package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestFlagPages flags atoms of several shards and pages, while pages are added.
func TestFlagPages(t *testing.T) {
	s := newStorage(t, 3, handle.IndexMax, handle.VersionMax)
	want := map[handle.Handle]slots.Flags{}
	mustHold := func() {
		t.Helper()
		for h, f := range want {
			require.Equal(t, f, s.space.Flags(h))
			require.Zero(t, s.space.Flags(h+1), "of a later tenant")
		}
	}
	for round := range 4 {
		for i, sh := range s.shards {
			all := s.mustCreate(sh, 1000*(round+1))
			require.Zero(t, s.space.Flags(all[0]))
			for k := 0; k < len(all); k += 97 {
				f := slots.Flags(1 + (round+i+k)%255)
				sh.SetFlags(s.space.Locate(all[k]), f, 0)
				require.Zero(t, s.space.Flags(all[k]), "not before they are published")
				want[all[k]] = f
			}
			sh.PublishFlags()
		}
		mustHold()
	}
	for h := range want {
		sh := s.shards[h.Home()]
		sh.SetFlags(s.space.Locate(h), 0, 255)
		sh.PublishFlags()
		want[h] = 0
		break
	}
	mustHold()
}

// TestFlagsForgotten flags atoms that then die, one by one, whole chunks of
// them, or in order: who takes their rows is as new.
func TestFlagsForgotten(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for _, dies := range []func(i int) bool{
			func(int) bool { return true }, func(i int) bool { return i%2 == 0 }, func(i int) bool { return i > 3 }, func(i int) bool { return i < 90 },
		} {
			s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
			sh := s.shards[0]
			sh.KeepOrder = keep
			all := s.mustCreate(sh, 100)
			for i, h := range all {
				l := s.space.Locate(h)
				sh.SetFlags(l, slots.Flags(1+i%3), 0)
				if dies(i) {
					s.destroy(h)
				}
			}
			s.refresh()
			for i, h := range all {
				if l := s.space.Locate(h); l != 0 {
					require.Equal(t, slots.Flags(1+i%3), s.space.FlagsAt(l))
				}
			}
			for _, h := range s.mustCreate(sh, 100) {
				require.Zero(t, s.space.FlagsAt(s.space.Locate(h)))
			}
		}
	}
}

// TestFlagPageAdded flags an atom of a page that came after the words of flags were made,
// where those of an older page stand.
func TestFlagPageAdded(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	flag := func(h handle.Handle, f slots.Flags) {
		sh.SetFlags(s.space.Locate(h), f, 0)
		sh.PublishFlags()
	}
	all := s.mustCreate(sh, 1)
	flag(all[0], 1)
	all = append(all, s.mustCreate(sh, 2000)...)
	flag(all[2000], 2)
	require.Equal(t, []slots.Flags{1, 2}, []slots.Flags{s.space.Flags(all[0]), s.space.Flags(all[2000])})
}

// TestFlagsChange flags an atom, and then takes a component away and gives it another.
func TestFlagsChange(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	h, err := s.create(sh, set(number, text), 1)
	require.NoError(t, err)
	sh.SetFlags(s.space.Locate(h), 5, 0)
	for _, to := range []store.Set{set(number), set(text), set(), set(number, text)} {
		a, err := sh.Change(s.space.Locate(h), to)
		require.NoError(t, err)
		require.Equal(t, slots.Flags(5), s.space.FlagsAt(a.Loc()))
	}
}
