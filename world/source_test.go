package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// The examples of the first source document: a handle manager whose refresh
// puts the living in front and makes the handles of the dead stale.

// storage is what its diagrams show, in its words.
type storage struct {
	entity  []string // atoms in order of the rows
	control []int    // for each row, the index of the atom's controller
	index   []int    // for each controller, the row; -1 for a free one
	counter []int    // for each controller, the version less one, as the source starts at 0
}

func (f *fixture) storage(controllers int) storage {
	s := storage{index: make([]int, controllers), counter: make([]int, controllers)}
	name := world.Read[Name](f.World)
	for ch := range f.Query(name).Chunks() {
		for i, n := range name.Slice(ch) {
			s.entity = append(s.entity, n.Text)
			s.control = append(s.control, int(ch.Handle(i).Index()))
		}
	}
	for i := range controllers {
		s.index[i] = -1
		for h := handle.New(0, uint32(i), 1); ; h++ {
			if l := f.Locate(h); l != 0 {
				s.index[i] = l.Row()
			}
			if f.Status(h) != world.Stale { // the version of today
				s.counter[i] = int(h.Version()) - 1
				break
			}
		}
	}
	return s
}

// TestSourceDiagram has six atoms, of which number 4 dies.
func TestSourceDiagram(t *testing.T) {
	type Atom struct{ Name }
	f := newFixture(t, world.Options{Shards: 1})
	atoms := world.NewBundle[Atom](f.World)
	var all []handle.Handle
	for _, text := range []string{"A00", "A01", "A02", "A03", "A04", "A05"} {
		h, err := atoms.Create(f.World, Atom{Name{text}})
		require.NoError(t, err)
		all = append(all, h)
	}
	start := storage{
		entity:  []string{"A00", "A01", "A02", "A03", "A04", "A05"},
		control: []int{0, 1, 2, 3, 4, 5},
		index:   []int{0, 1, 2, 3, 4, 5},
		counter: []int{0, 0, 0, 0, 0, 0},
	}
	require.Equal(t, start, f.storage(6), "we have 6 alive entities")

	require.True(t, f.Destroy(all[4]))
	require.Equal(t, start, f.storage(6), "number 4 is marked; its handle is still valid")
	require.True(t, f.Alive(all[4]))
	require.Equal(t, "A04", world.Read[Name](f.World).Get(all[4]).Text)

	f.Refresh()
	require.Equal(t, storage{
		entity:  []string{"A00", "A01", "A02", "A03", "A05"},
		control: []int{0, 1, 2, 3, 5},
		index:   []int{0, 1, 2, 3, -1, 4}, // number 5 is found in its new place
		counter: []int{0, 0, 0, 0, 1, 0},
	}, f.storage(6), "the dead one is gone, the last has its place")
	require.False(t, f.Alive(all[4]), "the incremented counter says so")
	require.Equal(t, "A05", world.Read[Name](f.World).Get(all[5]).Text)

	h, err := atoms.Create(f.World, Atom{Name{"A06"}})
	require.NoError(t, err)
	require.Equal(t, handle.New(0, 4, 2), h, "the controller is used again, under the next counter")
	require.Equal(t, storage{
		entity:  []string{"A00", "A01", "A02", "A03", "A05", "A06"},
		control: []int{0, 1, 2, 3, 5, 4},
		index:   []int{0, 1, 2, 3, 5, 4},
		counter: []int{0, 0, 0, 0, 1, 0},
	}, f.storage(6))
	require.False(t, f.Alive(all[4]))
	require.False(t, f.Destroy(all[4]), "a stale handle does not kill the new tenant")
	f.Refresh()
	require.True(t, f.Alive(h))
}

// TestSourceUsage is its usage example.
func TestSourceUsage(t *testing.T) {
	type Text struct{ Name }
	for _, shards := range []int{1, 4} {
		f := newFixture(t, world.Options{Shards: shards})
		texts := world.NewBundle[Text](f.World)
		text := world.Write[Name](f.World)
		create := func(s string) handle.Handle {
			h, err := texts.Create(f.World, Text{Name{s}})
			require.NoError(t, err)
			return h
		}
		require.Zero(t, f.Count())
		h0, h1, h2, h3 := create("hi"), create("bye"), create("hello"), create("goodbye")
		require.Equal(t, 4, f.Count())

		text.Get(h0).Text += " sir"
		require.True(t, f.Destroy(h1))
		text.Get(h2).Text += " madam"
		require.True(t, f.Destroy(h3))
		require.Equal(t, 4, f.Count(), "marked ones count until the refresh")

		f.Refresh()
		require.False(t, f.Alive(h1))
		require.False(t, f.Alive(h3))
		require.Equal(t, "hi sir", text.Get(h0).Text)
		require.Equal(t, "hello madam", text.Get(h2).Text)
		require.Equal(t, 2, f.Count())
	}
}
