package near_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// walk is a world in which all sorts of things happen at random.
type walk struct {
	*game
	r        *rand.Rand
	all      []handle.Handle
	flag     world.Flags
	frame    []kept
	view     *world.View
	matching *world.Query
}

// kept is a frame that is held, and what was where.
type kept struct {
	*world.Frame
	of   *near.Reader
	what naive
}

// TestModel compares each query with a look at all entities: of the idle world, in systems, and on
// frames that are held while the world goes on.
func TestModel(t *testing.T) {
	for seed := range uint64(iterations(25)) {
		r := newRand(t, seed)
		o := space
		if seed%2 == 0 {
			o.Max.Z = 20
		}
		var flag world.Flags = 1
		g := newGame(t, world.Options{Shards: 1 + r.IntN(4), Seed: seed}, 1+r.IntN(3), o, func(w *world.World) []world.Term {
			if seed%3 == 0 {
				return []world.Term{world.WithoutFlags(w, flag)}
			}
			return nil
		})
		x := &walk{game: g, r: r, flag: flag}
		var err error
		x.view, err = g.NewView(g.index)
		require.NoError(t, err)
		x.run(seed%3 == 0)
	}
}

func (x *walk) run(flags bool) {
	pos := world.Read[Position](x.World)
	all := x.Query(pos)
	if flags {
		all = x.Query(pos, world.WithoutFlags(x.World, x.flag))
	}
	x.matching = all
	for range 400 + x.r.IntN(3000) {
		x.create()
	}
	for range 12 {
		x.change()
		before := naively(pos, all)
		seeds := x.r.Uint64()
		x.systems = func(c *world.Context, read *near.Reader, w *world.Writer[Position], q *world.Query) {
			r := rand.New(rand.NewPCG(seeds, uint64(c.Shard())))
			before.same(x.t, x.index, read, r, 3)
			x.move(r, w, q)
			before.same(x.t, x.index, read, r, 3)
		}
		x.step()
		naively(pos, all).same(x.t, x.index, x.index.Read(x.World), x.r, 3)
		for _, f := range x.frame {
			f.what.same(x.t, x.index, f.of, x.r, 2)
		}
	}
}

func (x *walk) create() {
	p := place(x.r)
	var h handle.Handle
	var err error
	if x.r.IntN(2) == 0 {
		h, err = x.units.Create(x.World, Unit{p})
	} else {
		h, err = x.trees.Create(x.World, Tree{Position: p})
	}
	require.NoError(x.t, err)
	x.all = append(x.all, h)
}

// change changes the idle world.
func (x *walk) change() {
	for range x.r.IntN(20) {
		switch h := x.all[x.r.IntN(len(x.all))]; x.r.IntN(6) {
		case 0:
			x.create()
		case 1:
			x.Destroy(h)
		case 2:
			_ = world.Move(x.World, h, x.r.IntN(x.Shards()))
		case 3:
			if x.Alive(h) {
				*world.Write[Position](x.World).Get(h) = place(x.r)
			}
		case 4:
			_ = world.AddFlags(x.World, h, x.flag)
		case 5:
			_ = world.RemoveFlags(x.World, h, x.flag)
		}
	}
	if x.r.IntN(3) == 0 {
		for i := range 30 {
			x.Destroy(x.all[(x.r.IntN(len(x.all))+i)%len(x.all)])
		}
	}
	if x.r.IntN(2) == 0 {
		if len(x.frame) == 3 {
			x.frame[0].Release()
			x.frame = x.frame[1:]
		}
		f, err := x.view.Now()
		require.NoError(x.t, err)
		x.frame = append(x.frame, kept{f, x.index.Read(f), naively(world.Read[Position](x.World), x.matching)})
	}
}

// move moves nobody, a few, those of one table, or all.
func (x *walk) move(r *rand.Rand, pos *world.Writer[Position], all *world.Query) {
	how := r.IntN(4)
	n := 0
	for ch := range all.Chunks() {
		n++
		if how == 0 || how == 1 && n%3 != 0 {
			continue
		}
		for i := range pos.Slice(ch) {
			if how != 2 || i%7 == 0 {
				p := &pos.Slice(ch)[i]
				p.X += r.Float64()*4 - 2
				p.Y += r.Float64()*4 - 2
			}
		}
	}
}
