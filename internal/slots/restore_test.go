package slots_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// TestRestoreAlike gives in a new space what another has given, in few and in many homes,
// up to indexes whose pages are rotated: both are alike then, and give the same.
func TestRestoreAlike(t *testing.T) {
	for _, test := range []struct{ shards, each int }{{1, 10}, {1, 3000}, {3, 5000}, {300, 40_000}} {
		if test.shards > handle.ShardMax {
			continue // more than this layout of handles can name
		}
		t.Run(fmt.Sprintf("%d shards, %d each", test.shards, test.each), func(t *testing.T) {
			const versionMax = 2
			last := test.shards - 1
			a, b := newHomes(t, test.shards, handle.IndexMax, versionMax), newHomes(t, test.shards, handle.IndexMax, versionMax)
			all := a.mustCreate(a.shards[last], test.each)
			a.destroy(a.shards[last], all[1], all[5], all[7])
			a.refresh()
			again := a.mustCreate(a.shards[last], 1)
			a.destroy(a.shards[last], again...) // one retires
			a.refresh()
			drawn, err := a.outside.Take(nil, 512, 0)
			for n := 512; n < test.each && err == nil; n += 512 {
				_, err = a.outside.Take(nil, 512, 0)
			}
			require.NoError(t, err)
			a.outside.Recycle(drawn[:3])

			r, err := slots.NewRestore(b.outside)
			require.NoError(t, err)
			for _, h := range all {
				if !a.dir.Alive(h) {
					continue
				}
				if err := r.Claim(h); err != nil {
					t.Fatal(err)
				}
				b.shards[last].store(h)
			}
			free, retired := a.shards[last].AppendVacant(nil, nil)
			require.Len(t, retired, 1)
			free, retired = a.outside.AppendVacant(free, retired)
			for _, h := range free {
				if err := r.Claim(h); err != nil {
					t.Fatal(err)
				}
				r.Free(h)
			}
			for _, h := range retired {
				if err := r.Claim(h); err != nil {
					t.Fatal(err)
				}
				r.Retire(h)
			}
			r.Finish()
			require.Equal(t, a.shards[last].AppendSlots(nil), b.shards[last].AppendSlots(nil))
			require.Equal(t, a.shards[last].FreeList(), b.shards[last].FreeList())
			require.Equal(t, a.shards[last].Retired(), b.shards[last].Retired())
			require.Equal(t, a.shards[last].Size().Used, b.shards[last].Size().Used)
			freeThere, retiredThere := b.outside.AppendVacant(b.shards[last].AppendVacant(nil, nil))
			require.Equal(t, retired, retiredThere)
			require.Equal(t, slices.Sorted(slices.Values(free)), slices.Sorted(slices.Values(freeThere)))
			require.Equal(t, a.mustCreate(a.shards[last], 200), b.mustCreate(b.shards[last], 200))
		})
	}
}

// TestRestoreUsed begins where something was given: a handle to a port, indexes to a shard
// that gave none of them yet, an atom by a restore that was not finished.
func TestRestoreUsed(t *testing.T) {
	for name, use := range map[string]func(s *homes, r *slots.Restore){
		"drawn": func(s *homes, r *slots.Restore) {
			_, err := s.outside.Take(nil, 1, 0)
			require.ErrorIs(t, err, slots.ErrIndexes, "not before it is restored")
			r.Finish()
			_, err = s.outside.Take(nil, 1, 0)
			require.NoError(t, err)
		},
		"indexes": func(s *homes, _ *slots.Restore) { require.NoError(t, s.shards[1].Refill(1)) },
		"an atom": func(s *homes, r *slots.Restore) {
			h := handle.New(0, 0, 1)
			require.NoError(t, r.Claim(h))
			s.shards[1].store(h)
		},
	} {
		for _, indexMax := range []uint32{0, 100} {
			t.Run(fmt.Sprintf("%s, of %d", name, indexMax), func(t *testing.T) {
				s := newHomes(t, 2, indexMax, handle.VersionMax)
				r, err := slots.NewRestore(s.outside)
				require.NoError(t, err)
				use(s, r)
				_, err = slots.NewRestore(s.outside)
				require.ErrorIs(t, err, slots.ErrUsed)
			})
		}
	}
}

// TestRestoreClaims claims handles at the limits and beyond, and some that then nobody gives.
func TestRestoreClaims(t *testing.T) {
	const indexMax = 3000
	wide := newHomes(t, 2, handle.IndexMax, handle.VersionMax)
	all := wide.mustCreate(wide.shards[1], indexMax+2)
	s := newHomes(t, 2, indexMax, 7)
	r, err := slots.NewRestore(s.outside)
	require.NoError(t, err)
	require.ErrorIs(t, r.Claim(all[indexMax+1]), slots.ErrHandle)
	require.ErrorIs(t, r.Claim(all[0]+7), slots.ErrHandle, "version 8")
	require.ErrorIs(t, r.Claim(all[0]-1), slots.ErrHandle, "version 0")
	require.ErrorIs(t, r.Claim(handle.New(3, 3*slots.PageSlots, 1)), slots.ErrHandle, "there are homes 0 to 2")
	require.NoError(t, r.Claim(all[indexMax]+6))
	require.NoError(t, r.Claim(all[indexMax]), "nobody gave it")
	require.NoError(t, r.Claim(all[10]))
	r.Retire(all[10])
	require.ErrorIs(t, r.Claim(all[10]+1), slots.ErrGiven)
	r.Finish()
	require.Equal(t, 1, s.shards[1].Retired())
	require.Equal(t, indexMax, s.shards[1].Free())
	require.Contains(t, s.shards[1].FreeList(), all[indexMax].Index())
}

// TestRestoreExhausted has a home of which more was asked than there is.
func TestRestoreExhausted(t *testing.T) {
	s := newHomes(t, 1, 20, handle.VersionMax)
	for range 6 {
		_, _ = s.outside.Take(nil, 4, 0)
	}
	free, _ := s.outside.AppendVacant(nil, nil)
	require.Len(t, free, 20)
}

// TestRestoreFar reaches for slots so far out that their number times the slots of a page
// is more than 32 bits hold.
func TestRestoreFar(t *testing.T) {
	const far = 1 << 22
	for name, reach := range map[string]func(s *homes) error{
		"claim": func(s *homes) error {
			r, err := slots.NewRestore(s.outside)
			require.NoError(t, err)
			return r.Claim(handle.New(1, far/slots.PageSlots*2*slots.PageSlots^slots.PageSlots, 1))
		},
		"deal": func(s *homes) error { return s.outside.Follow(far + 1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newHomes(t, 1, handle.IndexMax, handle.VersionMax)
			require.NoError(t, reach(s))
		})
	}
}

// TestRestoreThenDraw draws where a restore has ended within a page, and not at a multiple of
// what is drawn at once: no slot is given twice, or one that is not there.
func TestRestoreThenDraw(t *testing.T) {
	s := newHomes(t, 1, handle.IndexMax, handle.VersionMax)
	r, err := slots.NewRestore(s.outside)
	require.NoError(t, err)
	last := handle.New(1, slots.PageSlots|1020, 1) // the 1021st of home 1
	require.NoError(t, r.Claim(last))
	r.Free(last)
	r.Finish()
	given := map[handle.Handle]bool{}
	for range 300 {
		drawn, err := s.outside.Take(nil, 8, 0)
		require.NoError(t, err)
		require.NotEmpty(t, drawn)
		for _, h := range drawn {
			require.False(t, given[h], "%v is given twice", h)
			require.True(t, s.outside.Pending(h))
			given[h] = true
		}
	}
}
