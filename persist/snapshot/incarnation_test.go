package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// mortal is a world that dies without notice. Each entity has a number of its own.
type mortal struct {
	*world.World
	steps  *scheduler.Scheduler
	serial *world.Reader[serial]
	bundle *world.Bundle[numbered]
}

type (
	serial   struct{ N uint64 }
	numbered struct{ serial }
)

const mortalEach = 5 // versions of an incarnation

func newMortal(t *testing.T, workers int) *mortal {
	w := world.MustNew(world.Options{Shards: 2, IndexMax: 200, VersionsEach: mortalEach, VersionMax: mortalEach * 15})
	world.Register[serial](w, "serial")
	x := &mortal{World: w, serial: world.Read[serial](w), bundle: world.NewBundle[numbered](w)}
	x.steps = scheduler.New(w, scheduler.Options{Workers: workers})
	return x
}

// book has all handles that were given by any incarnation, and what for.
type book struct {
	t     *testing.T
	given map[handle.Handle]uint64
	order []handle.Handle
}

func (b *book) give(h handle.Handle, err error) {
	b.t.Helper()
	if err != nil {
		require.ErrorIs(b.t, err, world.ErrIndexes)
		return
	}
	require.NotContains(b.t, b.given, h, "is given twice")
	b.given[h] = uint64(len(b.order))
	b.order = append(b.order, h)
}

// check compares the book with a world.
func (b *book) check(x *mortal) {
	b.t.Helper()
	for _, h := range b.order {
		if x.Alive(h) {
			if n := x.serial.Get(h).N; n != b.given[h] {
				b.t.Fatalf("%v names %d, was given for %d", h, n, b.given[h])
			}
		} else if x.Status(h) == world.Unused {
			b.t.Fatalf("%v will be given again", h)
		}
	}
}

func (x *mortal) save(t *testing.T) []byte {
	var b bytes.Buffer
	require.NoError(t, snapshot.Write(&b, x.World, snapshot.Options{Compression: snapshot.None}))
	return b.Bytes()
}

// TestNoHandleTwice lets a world die again and again, and go on from one of its last snapshots: a
// handle that was given by any incarnation names the entity that it was given for, or none.
func TestNoHandleTwice(t *testing.T) {
	n, most := *seeds, uint32(15)
	if check.Enabled {
		n = 1 // which takes as long
		if testing.Short() {
			most = 7
		}
	}
	for seed := range uint64(min(n, 4)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			b := &book{t: t, given: map[handle.Handle]uint64{}}
			var images [][]byte
			for incarnation := uint32(1); incarnation <= most; incarnation++ {
				x := newMortal(t, 1+int(seed)%3)
				if n := len(images); n > 0 {
					image := images[n-1-dice.IntN(min(n, 2))]
					require.NoError(t, snapshot.Load(bytes.NewReader(image), x.World, snapshot.Options{}))
					require.LessOrEqual(t, x.Incarnation(), incarnation)
				}
				require.NoError(t, x.Reincarnate(incarnation))
				require.Equal(t, incarnation, x.Incarnation())
				b.check(x)
				port, err := x.OpenPort()
				require.NoError(t, err)
				require.ErrorContains(t, x.Reincarnate(incarnation+1), "1 ports are open")
				create := func() {
					for range dice.IntN(30) {
						b.give(x.bundle.Create(x.World, numbered{serial{uint64(len(b.order))}}))
						b.give(x.bundle.Create(port, numbered{serial{uint64(len(b.order))}}))
					}
				}
				for range 2 + dice.IntN(8) {
					create()
					for _, h := range b.order {
						if x.Alive(h) && dice.IntN(3) > 0 {
							x.Destroy(h)
						}
					}
					require.NoError(t, x.steps.Step(context.Background()))
					b.check(x)
					if dice.IntN(3) == 0 {
						images = append(images, x.save(t))
					}
				}
				create() // the crash comes before the refresh
				port.Close()
			}
			x := newMortal(t, 1)
			require.ErrorIs(t, x.Reincarnate(16), world.ErrVersions)
		})
	}
}

// TestIncarnationIsSaved goes on, within an incarnation, from a snapshot as the world does that was
// saved: slots that were retired before are used again, and retire again.
func TestIncarnationIsSaved(t *testing.T) {
	one, two := newMortal(t, 1), newMortal(t, 2)
	step := func(x *mortal) (all []handle.Handle) {
		port, err := x.OpenPort()
		require.NoError(t, err)
		defer port.Close()
		for i := range 40 {
			var by world.Actor = x.World
			if i%2 == 0 {
				by = port
			}
			h, err := x.bundle.Create(by, numbered{serial{uint64(i)}})
			require.NoError(t, err)
			all = append(all, h)
			if i%3 > 0 {
				require.NoError(t, port.Destroy(h))
			}
		}
		require.NoError(t, x.steps.Step(context.Background()))
		return all
	}
	for range 2 * mortalEach {
		step(one)
		one.Query(world.With[serial](one.World)).Destroy()
	}
	step(one)
	one.Refresh()
	require.NoError(t, one.Reincarnate(3))
	require.ErrorContains(t, one.Reincarnate(2), "is incarnation 3")
	require.NoError(t, snapshot.Load(bytes.NewReader(one.save(t)), two.World, snapshot.Options{}))
	require.Equal(t, uint32(3), two.Incarnation())
	for range 2 * mortalEach {
		all := step(one)
		require.Equal(t, all, step(two))
		for _, h := range all {
			require.Equal(t, one.Status(h), two.Status(h))
			require.Greater(t, h.Version(), uint32(2*mortalEach))
			require.LessOrEqual(t, h.Version(), uint32(3*mortalEach))
		}
		require.Equal(t, one.save(t), two.save(t))
		one.Query(world.With[serial](one.World)).Destroy()
		two.Query(world.With[serial](two.World)).Destroy()
	}
	var stats world.Stats
	one.Stats(&stats)
	require.Positive(t, stats.Retired)
}
