package names_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/world"
)

// naive is what names are, as two maps and lists of what was asked.
type naive struct {
	names map[handle.Handle]string
	asked [][]wish // by port, then by shard
	dying map[handle.Handle]bool
}

type wish struct {
	h    handle.Handle
	name string
	bind bool
	done *world.Completion
}

func (n *naive) holder(name string) handle.Handle {
	for h, other := range n.names {
		if other == name {
			return h
		}
	}
	return handle.None
}

// do makes a change.
func (n *naive) do(x wish, alive func(handle.Handle) bool) world.Outcome {
	holder := n.holder(x.name)
	_, named := n.names[x.h]
	switch {
	case !alive(x.h) || n.dying[x.h]:
		return world.Gone
	case !x.bind && !named:
		return world.Missing
	case !x.bind:
		delete(n.names, x.h)
	case holder != handle.None && holder != x.h && !n.dying[holder]:
		return world.Refused
	default:
		delete(n.names, holder)
		n.names[x.h] = x.name
	}
	return world.Applied
}

// TestRandom acts by ports, systems and the idle world, and compares with the naive.
func TestRandom(t *testing.T) {
	for round := range iterations(10) + 2 {
		seed := seed.Of(t)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random(t, rand.New(rand.NewPCG(seed, 7)), 1+round%4, 40<<(round%3*2))
		})
	}
}

func random(t *testing.T, r *rand.Rand, shards, words int) {
	const ports = 3
	f := newFixture(t, shards, names.Options{ConflictsMax: 1 << 20})
	n := &naive{names: map[handle.Handle]string{}, dying: map[handle.Handle]bool{}, asked: make([][]wish, ports+shards)}
	hs, known := f.make(50), []handle.Handle(nil)
	var senders [ports]*world.Port
	for i := range senders {
		senders[i] = f.port()
	}
	any := func() handle.Handle { return hs[r.IntN(len(hs))] }
	ask := func(from int, by world.Actor, h handle.Handle) {
		x := wish{h: h, name: fmt.Sprint("w", r.IntN(words)), bind: r.IntN(4) > 0}
		if p, ok := by.(*world.Port); ok {
			x.done = new(world.Completion)
			by = p.Notify(x.done)
		}
		if x.bind {
			require.NoError(t, f.names.Bind(by, x.h, x.name))
		} else {
			require.NoError(t, f.names.Unbind(by, x.h))
		}
		n.asked[from] = append(n.asked[from], x)
	}
	for range iterations(300) {
		for range r.IntN(4) { // the idle world
			x := wish{h: any(), name: fmt.Sprint("w", r.IntN(words)), bind: r.IntN(4) > 0}
			want := n.do(x, f.Alive)
			if x.bind {
				require.Equal(t, want == world.Applied, f.names.Bind(f.World, x.h, x.name) == nil)
			} else {
				require.Equal(t, want == world.Applied, f.names.Unbind(f.World, x.h) == nil)
			}
		}
		for i, p := range senders {
			for range r.IntN(words / 8) {
				ask(i, p, any())
			}
			if r.IntN(3) == 0 {
				h, err := f.things.Create(p, Thing{})
				require.NoError(t, err)
				hs = append(hs, h)
			}
			if h := any(); r.IntN(4) == 0 {
				require.NoError(t, p.Destroy(h))
				n.dying[h] = true
			}
		}
		tick := engine.Of(f.World).BeginTick()
		for i := range shards {
			c := (*world.Context)(engine.Of(f.World).Context(i))
			(*engine.Context)(c).Acting().Start("test", &extend.Access{})
			for range r.IntN(words / 8) {
				if h := any(); c.Alive(h) {
					ask(ports+i, c, h)
				}
			}
			if h := any(); c.Alive(h) && r.IntN(2) == 0 {
				require.NoError(t, c.Destroy(h))
				n.dying[h] = true
			}
			(*engine.Context)(c).Acting().Stop()
		}
		tick.End(func(n int, f func(int)) {
			for i := range n {
				f(i)
			}
		})
		known = append(known[:0], hs...)
		n.refresh(t, f, &hs)
		n.compare(t, f, known)
	}
}

// refresh does what was asked and frees the dead.
func (n *naive) refresh(t *testing.T, f *fixture, hs *[]handle.Handle) {
	was := func(h handle.Handle) bool { return slices.Contains(*hs, h) }
	refused := 0
	for i, asked := range n.asked {
		for _, x := range asked {
			o := n.do(x, was)
			if o == world.Refused {
				refused++
			}
			if x.done != nil {
				require.Equal(t, o, x.done.Outcome())
			}
		}
		n.asked[i] = nil
	}
	require.Len(t, f.names.Conflicts(), refused)
	for h := range n.dying {
		delete(n.names, h)
	}
	clear(n.dying)
	*hs = slices.DeleteFunc(*hs, func(h handle.Handle) bool { return !f.Alive(h) })
	for len(*hs) < 20 {
		*hs = append(*hs, f.make(10)...)
	}
}

func (n *naive) compare(t *testing.T, f *fixture, known []handle.Handle) {
	require.Equal(t, len(n.names), f.names.Len())
	for h, name := range n.names {
		f.has(h, name)
	}
	for _, h := range known {
		if _, ok := n.names[h]; !ok {
			f.nameless(h)
		}
	}
	all := 0
	for h, name := range f.names.All() {
		require.Equal(t, n.names[h], name)
		all++
	}
	require.Equal(t, len(n.names), all)
	_, err := f.names.Verify()
	require.NoError(t, err)
}
