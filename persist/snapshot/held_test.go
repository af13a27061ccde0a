package snapshot_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

type (
	thinItem  struct{ A uint8 }
	thickItem struct {
		A    uint8
		More [4096]uint8
	}
	thinBag  struct{ List []thinItem }
	thickBag struct{ List []thickItem }
)

// withBags returns a world with bags, or with timers that have them in their messages.
func withBags[B any](timers bool) (*world.World, *timer.Timers[B]) {
	w := world.MustNew(world.Options{})
	world.Register[Link](w, "link")
	if timers {
		return w, timer.New(w, "fuses", world.RegisterMessage[B](w, "fuse"), timer.Options{})
	}
	world.Register[B](w, "bag")
	return w, nil
}

// TestHeldMemory loads and inserts slices whose elements are a few bytes each in the bytes, and 4 KB in
// memory. They may take no more memory than BytesMax.
func TestHeldMemory(t *testing.T) {
	const n, most = 20_000, 4 << 20
	took := func(f func() error) error {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := f()
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*most))
		return err
	}
	for _, timers := range []bool{false, true} {
		for _, fits := range []bool{false, true} {
			w, fuses := withBags[thinBag](timers)
			bag := thinBag{make([]thinItem, n)}
			if fits {
				bag.List = bag.List[:500]
			}
			if timers {
				must(fuses.After(w, create(w, Link{}), 5, bag))
			} else {
				create(w, bag)
			}
			check := func(err error, to *world.World) {
				t.Helper()
				if fits {
					require.NoError(t, err)
					require.Equal(t, 1, to.Count())
					return
				}
				require.ErrorIs(t, err, snapshot.ErrTooLarge)
				require.NotErrorIs(t, err, snapshot.ErrAltered)
				require.ErrorContains(t, err, "more memory than it may")
				require.Zero(t, to.Count())
			}
			p := must(snapshot.ExtractAll(w, snapshot.ExtractOptions{}))
			to, _ := withBags[thickBag](timers)
			check(took(func() error {
				_, err := snapshot.Insert(to, p, snapshot.InsertOptions{BytesMax: most})
				return err
			}), to)

			var b bytes.Buffer
			require.NoError(t, snapshot.Write(&b, w, snapshot.Options{}))
			to, _ = withBags[thickBag](timers)
			saved := b.Bytes()
			check(took(func() error { return snapshot.Load(bytes.NewReader(saved), to, snapshot.Options{BytesMax: most}) }), to)
			require.NoError(t, to.Err())
			if to.Count() == 0 {
				require.NoError(t, snapshot.Load(bytes.NewReader(saved), to, snapshot.Options{}), "by default more")
			}
		}
	}
}
