package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	rowNumber struct{ N int64 }
	rowPair   struct{ A, B int64 }
	rowText   struct{ Text string }
	rowTag    struct{}
	rowTriple [3]int32

	rowPlain struct {
		rowTriple
		rowPair
	}
	rowMixed struct {
		rowText
		rowPair
		rowTag
	}
)

// rowDeed is one request, or what an idle world does instead.
type rowDeed struct {
	h    handle.Handle
	kill bool
	do   func(f *rows, by world.Actor, h handle.Handle) error
}

// rows is a world whose entities change as a test says.
type rows struct {
	*scheduler.Scheduler
	w      *world.World
	number *world.Component[rowNumber]
	pair   *world.Component[rowPair]
	text   *world.Component[rowText]
	tag    *world.Component[rowTag]
	triple *world.Component[rowTriple]
	plain  *world.Bundle[rowPlain]
	mixed  *world.Bundle[rowMixed]
	hasher *state.Hasher
	ports  []*world.Port
	asked  []rowDeed // of the system
	seen   [][]string
}

func newRows(t *testing.T, o world.Options, workers int, ports int) *rows {
	w := world.MustNew(o)
	f := &rows{
		w: w, Scheduler: scheduler.New(w, scheduler.Options{Workers: workers}), seen: make([][]string, o.Shards),
		number: world.Register[rowNumber](w, "number"), pair: world.Register[rowPair](w, "pair"), text: world.Register[rowText](w, "text"),
		tag: world.Register[rowTag](w, "tag"), triple: world.Register[rowTriple](w, "triple"),
		plain: world.NewBundle[rowPlain](w), mixed: world.NewBundle[rowMixed](w), hasher: state.NewHasher(w, nil),
	}
	f.MustAdd("ask", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { f.send(t, c, f.asked) }
	}, scheduler.Global())
	for i, parts := range [][]world.ComponentSet{{f.pair}, {f.text, f.number}, {f.tag}} {
		w.Observe(fmt.Sprint("look ", i), world.OnAdd|world.OnRemove|world.OnSet|world.OnDestroy, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(c *world.Context, on world.Event, hs []handle.Handle) {
				f.seen[c.Shard()] = append(f.seen[c.Shard()], fmt.Sprint(i, on, hs))
			}
		}, parts...)
	}
	for range ports {
		p, err := w.OpenPort()
		require.NoError(t, err)
		f.ports = append(f.ports, p)
	}
	return f
}

func (f *rows) send(t *testing.T, by world.Actor, all []rowDeed) {
	for _, d := range all {
		require.NoError(t, d.do(f, by, d.h))
	}
}

// act does everything at once, one after the other.
func (f *rows) act(t *testing.T, all []rowDeed) {
	for _, d := range all {
		switch {
		case f.w.Status(d.h) == world.Dying:
		case d.kill:
			f.w.Destroy(d.h)
		default:
			if err := d.do(f, f.w, d.h); err != nil {
				require.ErrorIs(t, err, world.ErrMissing)
			}
		}
	}
}

// create creates an entity, of one of some kinds.
func (f *rows) create(t *testing.T, i int) {
	n, err, h := int64(i), error(nil), handle.None
	if i%7 < 4 {
		h, err = f.plain.Create(f.w, rowPlain{rowTriple{int32(n)}, rowPair{n, n}})
	} else {
		h, err = f.mixed.Create(f.w, rowMixed{rowText{fmt.Sprint(n)}, rowPair{n, n}, rowTag{}})
	}
	require.NoError(t, err)
	if i%97 < 2 {
		require.NoError(t, world.AddFlags(f.w, h, world.Flags(1+i%3)))
	}
}

// ways are the requests, for a number.
var ways = []func(n int64) rowDeed{
	func(n int64) rowDeed {
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.number.Add(by, h, rowNumber{n}) }}
	},
	func(n int64) rowDeed {
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.text.Add(by, h, rowText{fmt.Sprint(n)}) }}
	},
	func(int64) rowDeed {
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.tag.Add(by, h, rowTag{}) }}
	},
	func(int64) rowDeed {
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.pair.Remove(by, h) }}
	},
	func(int64) rowDeed {
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.text.Remove(by, h) }}
	},
	func(int64) rowDeed {
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.tag.Remove(by, h) }}
	},
	func(n int64) rowDeed {
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.pair.Set(by, h, rowPair{n, n}) }}
	},
	func(n int64) rowDeed {
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.text.Set(by, h, rowText{fmt.Sprint(n)}) }}
	},
	func(n int64) rowDeed {
		v := rowPlain{rowTriple{int32(n), 1, int32(n)}, rowPair{n, n}}
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.plain.Add(by, h, v, f.number) }}
	},
	func(n int64) rowDeed {
		v, remove := rowMixed{rowText{fmt.Sprint(n)}, rowPair{n, n}, rowTag{}}, n/16%2 == 0
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error {
			if remove {
				return f.mixed.Add(by, h, v, f.triple)
			}
			return f.mixed.Add(by, h, v)
		}}
	},
	func(n int64) rowDeed {
		v := rowPlain{rowTriple{1, int32(n), int32(n)}, rowPair{n, -n}}
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.plain.Set(by, h, v) }}
	},
	func(n int64) rowDeed {
		v := rowMixed{rowText{fmt.Sprint(-n)}, rowPair{-n, n}, rowTag{}}
		return rowDeed{do: func(f *rows, by world.Actor, h handle.Handle) error { return f.mixed.Set(by, h, v) }}
	},
	func(int64) rowDeed {
		return rowDeed{kill: true, do: func(_ *rows, by world.Actor, h handle.Handle) error {
			switch by := by.(type) {
			case *world.Context:
				return by.Destroy(h)
			default:
				return by.(*world.Port).Destroy(h)
			}
		}}
	},
}

// draw draws requests, many of them for rows that follow one another, up or down. One in some is
// left out, comes twice, or is for another entity.
func (f *rows) draw(dice *rand.Rand) (all []rowDeed) {
	var known []handle.Handle
	for ch := range f.w.Query().Chunks() {
		known = append(known, ch.Handles()...)
	}
	odd := []int{0, 0, 3, 30}[dice.IntN(4)] // in a thousand
	for range 1 + dice.IntN(12) {
		n, way := int64(dice.IntN(1<<20)), ways[dice.IntN(len(ways))]
		if len(all) > 0 && dice.IntN(3) == 0 {
			way = ways[dice.IntN(3)] // so that enough come back
		}
		from := dice.IntN(len(known))
		to := min(len(known), from+1+dice.IntN(1<<dice.IntN(10)))
		some := slices.Clone(known[from:to])
		if dice.IntN(3) == 0 {
			slices.Reverse(some)
		}
		for _, h := range some {
			d := way(n)
			d.h = h
			n++
			switch i := dice.IntN(1000); {
			case i < odd/3:
				continue
			case i < 2*odd/3:
				d.h = known[dice.IntN(len(known))]
			case i < odd:
				all = append(all, d)
			}
			all = append(all, d)
		}
	}
	return all
}

// TestAdjacent has an idle world change entities one by one, and others do the same by requests of a
// system, of a port, and of three ports: many of them are for adjacent rows, and are applied at
// once. All worlds are the same behind each tick, with the order of their rows, and hooks see the
// same.
func TestAdjacent(t *testing.T) {
	turn := int(seed.Of(t) % 2)
	for i, first := range []int{4, 16, 64} {
		for j, keep := range []bool{false, true} {
			if check.Enabled && (i+j)%2 != turn {
				continue // with another seed
			}
			t.Run(fmt.Sprint(first, keep), func(t *testing.T) { testAdjacent(t, first, keep) })
		}
	}
}

func testAdjacent(t *testing.T, first int, keep bool) {
	number := seed.Of(t)
	dice := rand.New(rand.NewPCG(number, 1))
	o := world.Options{Shards: 2, ChunkRowsFirst: first, ChunkRowsFactor: 4, ChunkRowsMax: 64 << dice.IntN(3), KeepOrder: keep, OutboxRequests: 1 << 16}
	var all []*rows
	for i := range 4 {
		all = append(all, newRows(t, o, 1+i%2, 3))
	}
	for tick := range 12 {
		for _, f := range all {
			for i := f.w.Count(); i < 900; i++ {
				f.create(t, i+tick)
			}
		}
		deeds := all[0].draw(dice)
		all[0].act(t, deeds)
		all[1].asked = deeds
		all[2].send(t, all[2].ports[1], deeds)
		a, b := len(deeds)/5, len(deeds)/2
		for i, part := range [][]rowDeed{deeds[:a], deeds[a:b], deeds[b:]} {
			all[3].send(t, all[3].ports[i], part)
		}
		var want []state.Section
		for i, f := range all {
			require.NoError(t, f.Step(context.Background()))
			sections, err := f.hasher.Sections()
			require.NoError(t, err)
			if i == 0 {
				want = sections
			}
			require.Equal(t, want, sections, "world %d, tick %d", i, tick)
			require.Equal(t, all[0].seen, f.seen, "what hooks of world %d saw in tick %d", i, tick)
		}
		for _, f := range all {
			f.asked = nil
			for i := range f.seen {
				f.seen[i] = f.seen[i][:0]
			}
		}
	}
}

// TestAdjacentFreed removes a component with a pointer from many entities at once: nothing keeps
// alive what they pointed to.
func TestAdjacentFreed(t *testing.T) {
	type (
		box    struct{ to *[64]byte }
		holder struct {
			rowNumber
			box
		}
	)
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[rowNumber](w, "number")
	boxes, holders := world.Register[box](w, "box"), world.NewBundle[holder](w)
	p, err := w.OpenPort()
	require.NoError(t, err)
	var kept []weak.Pointer[[64]byte]
	for range 100 {
		to := new([64]byte)
		h, err := holders.Create(w, holder{box: box{to}})
		require.NoError(t, err)
		kept = append(kept, weak.Make(to))
		require.NoError(t, boxes.Remove(p, h))
	}
	w.Refresh()
	runtime.GC()
	for i, x := range kept {
		require.Nil(t, x.Value(), "entity %d", i)
	}
	runtime.KeepAlive(w)
}
