package names_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestIdle changes names by the idle world, at once.
func TestIdle(t *testing.T) {
	f := newFixture(t, 2, names.Options{})
	h := f.make(4)
	require.NoError(t, f.names.Bind(f.World, h[0], "ann"))
	f.has(h[0], "ann")
	require.NoError(t, f.names.Bind(f.World, h[0], "ann"), "it has that name")
	require.ErrorIs(t, f.names.Bind(f.World, h[1], "ann"), names.ErrTaken)
	f.nameless(h[1])
	require.NoError(t, f.names.Bind(f.World, h[1], "bob"))
	require.ErrorIs(t, f.names.Bind(f.World, h[1], "ann"), names.ErrTaken)
	f.has(h[1], "bob")
	require.NoError(t, f.names.Bind(f.World, h[0], "anna"))
	f.has(h[0], "anna")
	f.finds("ann", handle.None)
	require.Equal(t, 2, f.names.Len())
	require.NoError(t, f.names.Unbind(f.World, h[0]))
	require.ErrorIs(t, f.names.Unbind(f.World, h[0]), names.ErrUnnamed)
	f.nameless(h[0])
	require.Equal(t, 1, f.names.Len())

	f.Destroy(h[1])
	f.has(h[1], "bob")
	require.NoError(t, f.names.Bind(f.World, h[2], "bob"), "the name of one that is dying is free")
	f.has(h[2], "bob")
	f.nameless(h[1])
	require.Equal(t, 1, f.names.Len())
	f.Refresh()
	f.has(h[2], "bob")
	require.ErrorIs(t, f.names.Bind(f.World, h[1], "cat"), world.ErrStale)
	require.ErrorIs(t, f.names.Unbind(f.World, h[1]), world.ErrStale)
	f.Clear()
	require.Zero(t, f.names.Len())
	f.finds("bob", handle.None)
}

// TestZero gives the zero names.
func TestZero(t *testing.T) {
	f := newFixture(t, 1, names.Options{})
	ids := names.New[uint64](f.World, "ids", names.Options{})
	h := f.make(1)[0]
	_, ok := ids.Lookup(0)
	require.False(t, ok)
	_, ok = ids.NameOf(handle.None)
	require.False(t, ok)
	require.NoError(t, ids.Bind(f.World, h, 0))
	require.NoError(t, f.names.Bind(f.World, h, ""))
	f.has(h, "")
	got, ok := ids.Lookup(0)
	require.True(t, ok)
	require.Equal(t, h, got)
	require.NoError(t, ids.Unbind(f.World, h))
	_, ok = ids.Lookup(0)
	require.False(t, ok)
	_, ok = ids.NameOf(handle.None)
	require.False(t, ok)
}

// TestRequests has ports and systems ask in one tick; the order decides.
func TestRequests(t *testing.T) {
	f := newFixture(t, 3, names.Options{})
	h := f.make(6) // 0 and 3 in shard 0 …
	first, second := f.port(), f.port()
	require.NoError(t, f.names.Bind(f.World, h[5], "old"))

	var done [6]world.Completion
	require.NoError(t, f.names.Bind(second.Notify(&done[0]), h[1], "ann"))
	require.NoError(t, f.names.Bind(first.Notify(&done[1]), h[0], "ann"))
	require.NoError(t, f.names.Bind(second.Notify(&done[2]), h[1], "bob"))
	require.NoError(t, f.names.Unbind(first.Notify(&done[3]), h[2]))
	fresh, err := f.things.Create(second, Thing{})
	require.NoError(t, err)
	require.NoError(t, f.names.Bind(second.Notify(&done[4]), fresh, "old"), "whose holder is destroyed by a system")
	f.tick(h[5], func(c *world.Context) {
		require.NoError(t, c.Destroy(h[5]))
		require.NoError(t, f.names.Bind(c, h[2], "bob"))
		require.NoError(t, f.names.Bind(c, h[4], "eve"))
		f.finds("eve", handle.None)
	})
	for i, want := range []world.Outcome{world.Refused, world.Applied, world.Applied, world.Missing, world.Applied} {
		require.Equal(t, want, done[i].Outcome(), "request %d", i)
	}
	f.has(h[0], "ann")
	f.has(h[1], "bob")
	f.has(fresh, "old")
	f.has(h[4], "eve")
	f.nameless(h[2], h[3], h[5])
	require.Equal(t, []names.Conflict[string]{
		{Entity: h[1], Name: "ann", Holder: h[0]}, {Entity: h[2], Name: "bob", Holder: h[1]},
	}, f.names.Conflicts())

	require.NoError(t, first.Destroy(h[0]))
	require.NoError(t, f.names.Bind(second.Notify(&done[5]), h[0], "zoe"))
	f.Refresh()
	require.Equal(t, world.Gone, done[5].Outcome())
	f.finds("ann", handle.None)
	f.finds("zoe", handle.None)
	require.Empty(t, f.names.Conflicts())
	require.Equal(t, 3, f.names.Len())
}

// TestSwap lets two entities trade names in one refresh, by way of none.
func TestSwap(t *testing.T) {
	f := newFixture(t, 2, names.Options{})
	h, p := f.make(2), f.port()
	require.NoError(t, f.names.Bind(f.World, h[0], "ann"))
	require.NoError(t, f.names.Bind(f.World, h[1], "bob"))
	require.NoError(t, f.names.Unbind(p, h[0]))
	require.NoError(t, f.names.Bind(p, h[1], "ann"))
	require.NoError(t, f.names.Bind(p, h[0], "bob"))
	f.Refresh()
	f.has(h[0], "bob")
	f.has(h[1], "ann")
}

// TestHierarchy takes away the names of those who die with their parent, and leaves
// those of who is spared.
func TestHierarchy(t *testing.T) {
	f := newFixture(t, 2, names.Options{})
	tree := hierarchy.New(f.World, "tree", hierarchy.Options{OnParentDeath: hierarchy.Destroy})
	guard := hierarchy.New(f.World, "guard", hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
	h, p := f.make(6), f.port()
	for i := range 6 {
		require.NoError(t, f.names.Bind(f.World, h[i], fmt.Sprint("n", i)))
	}
	require.NoError(t, tree.AddChild(f.World, h[0], h[1]))
	require.NoError(t, tree.AddChild(f.World, h[1], h[2]))
	require.NoError(t, guard.AddChild(f.World, h[3], h[4]))
	require.NoError(t, p.Destroy(h[0]))
	require.NoError(t, p.Destroy(h[3]))
	var done world.Completion
	require.NoError(t, f.names.Bind(p.Notify(&done), h[5], "n2"))
	f.Refresh()
	require.Equal(t, world.Refused, done.Outcome(), "that it dies is known too late")
	f.nameless(h[:3]...)
	f.has(h[3], "n3")
	f.has(h[4], "n4")
	f.finds("n2", handle.None)
	require.Equal(t, 3, f.names.Len())

	require.NoError(t, p.Destroy(h[3]))
	require.NoError(t, f.names.Bind(p, h[5], "n3"))
	f.Refresh()
	f.has(h[5], "n3")
	f.nameless(h[3])
	require.True(t, f.Alive(h[3]), "spared, but another has asked for its name")
}

// TestMoved keeps the name of one that moves to another shard.
func TestMoved(t *testing.T) {
	f := newFixture(t, 3, names.Options{})
	h := f.make(1)[0]
	require.NoError(t, f.names.Bind(f.World, h, "nomad"))
	for i := range 3 {
		require.NoError(t, world.Move(f.World, h, i))
		f.has(h, "nomad")
		require.NoError(t, world.Move(f.port(), h, (i+1)%3))
		f.Refresh()
		f.has(h, "nomad")
	}
}

// TestAll yields the named in the order of their handles.
func TestAll(t *testing.T) {
	f := newFixture(t, 3, names.Options{})
	h := f.make(300)
	want := map[handle.Handle]string{}
	for i := len(h) - 1; i >= 0; i -= 2 {
		want[h[i]] = fmt.Sprint("name ", i)
		require.NoError(t, f.names.Bind(f.World, h[i], want[h[i]]))
	}
	got, last := map[handle.Handle]string{}, handle.None
	for h, name := range f.names.All() {
		require.Less(t, last, h)
		got[h], last = name, h
	}
	require.Equal(t, want, got)
	for range f.names.All() {
		break
	}
}

// TestLimits names the limits.
func TestLimits(t *testing.T) {
	type title string
	f := newFixture(t, 1, names.Options{LengthMax: 5, ConflictsMax: 2})
	titles := names.New[title](f.World, "titles", names.Options{})
	h := f.make(5)
	require.Equal(t, names.Options{LengthMax: 256, ConflictsMax: 1024}, titles.Options())
	require.ErrorIs(t, titles.Bind(f.World, h[0], title(strings.Repeat("x", 257))), names.ErrLength)
	require.NoError(t, titles.Bind(f.World, h[0], title(strings.Repeat("x", 256))))
	err := f.names.Bind(f.port(), h[0], "longer")
	require.ErrorIs(t, err, names.ErrLength)
	require.EqualError(t, err, `names: name is longer than LengthMax, which is 5 of "names"`)
	require.NoError(t, f.names.Bind(f.World, h[0], "short"))

	p := f.port()
	for _, h := range h[1:] {
		require.NoError(t, f.names.Bind(p, h, "short"))
	}
	f.Refresh()
	require.Len(t, f.names.Conflicts(), 2)
	require.Panics(t, func() { names.New[string](f.World, "bad", names.Options{ConflictsMax: -1}) })
}

// TestMisuse panics and says what to do.
func TestMisuse(t *testing.T) {
	f, other := newFixture(t, 1, names.Options{}), newFixture(t, 1, names.Options{})
	h := f.make(1)[0]
	require.PanicsWithValue(t, `world: a request: extension "names" belongs to another world than the *world.World it is used with; use that world's own`,
		func() { _ = f.names.Bind(other.World, h, "x") })
	f.tick(h, func(*world.Context) {
		require.Panics(t, func() { _ = f.names.Bind(f.World, h, "x") })
		require.Panics(t, func() { _ = f.names.Unbind(f.World, h) })
		require.Panics(t, func() { f.names.All() })
	})
}

// TestAllocations counts what looking up, failing and a refresh allocate: nothing. A
// binding is one allocation.
func TestAllocations(t *testing.T) {
	f := newFixture(t, 2, names.Options{})
	ids := names.New[[16]byte](f.World, "ids", names.Options{})
	h, p := f.make(100), f.port()
	for i, h := range h {
		require.NoError(t, f.names.Bind(f.World, h, fmt.Sprint("name ", i)))
		require.NoError(t, ids.Bind(f.World, h, [16]byte{byte(i)}))
	}
	buf := []byte("name 77")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		f.names.Lookup(string(buf))
		f.names.Lookup("nobody")
		f.names.NameOf(h[0])
		ids.Lookup([16]byte{5})
		ids.NameOf(h[1])
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() { f.Refresh() }))
	cycle := func() {
		_ = f.names.Unbind(p, h[0])
		_ = f.names.Bind(p, h[0], "again")
		_ = ids.Unbind(p, h[0])
		f.Refresh()
	}
	for range 200 {
		cycle()
	}
	require.InDelta(t, 1, testing.AllocsPerRun(200, cycle), 0.5)
}

// TestChurn gives up and binds names for long: the indexes stay as small as a few
// entities need.
func TestChurn(t *testing.T) {
	f := newFixture(t, 1, names.Options{})
	h := f.make(400)
	for i := range iterations(200_000) {
		require.NoError(t, f.names.Bind(f.World, h[i%400], fmt.Sprint(i)))
		if i%3 == 0 {
			require.NoError(t, f.names.Unbind(f.World, h[i%400]))
		}
	}
	slots, err := f.names.Verify()
	require.NoError(t, err)
	require.LessOrEqual(t, slots, 2*400*16)
}

// TestGivenBack has many names and then few: the indexes shrink with them, and who has a
// name is found all the time.
func TestGivenBack(t *testing.T) {
	const few, many = 100, 20_000
	f := newFixture(t, 1, names.Options{})
	h := f.make(many)
	for range 3 {
		for i, h := range h {
			require.NoError(t, f.names.Bind(f.World, h, fmt.Sprint(i)))
		}
		for i := many - 1; i >= few; i-- {
			require.NoError(t, f.names.Unbind(f.World, h[i]))
			if i%500 == 0 {
				for k := range few {
					got, ok := f.names.Lookup(fmt.Sprint(k))
					require.True(t, ok)
					require.Equal(t, h[k], got)
				}
			}
		}
		slots, err := f.names.Verify()
		require.NoError(t, err)
		require.LessOrEqual(t, slots, 2*64*64, "64 stripes of two indexes")
		require.Equal(t, few, f.names.Len())
	}
}

// TestTaken makes extensions whose name another has, of whichever kind: a snapshot could not tell
// them apart.
func TestTaken(t *testing.T) {
	w := world.MustNew(world.Options{})
	names.New[string](w, "players", names.Options{})
	hierarchy.New(w, "bags", hierarchy.Options{})
	for want, do := range map[string]func(){
		`names: New of "players", a name that is taken in this world; pass another`:     func() { names.New[string](w, "players", names.Options{}) },
		`names: New of "bags", a name that is taken in this world; pass another`:        func() { names.New[string](w, "bags", names.Options{}) },
		`hierarchy: New of "players", a name that is taken in this world; pass another`: func() { hierarchy.New(w, "players", hierarchy.Options{}) },
		`names: New without a name; pass one that errors and snapshots can use`:         func() { names.New[string](w, "", names.Options{}) },
		`hierarchy: New without a name; pass one that errors and snapshots can use`:     func() { hierarchy.New(w, "", hierarchy.Options{}) },
	} {
		require.PanicsWithValue(t, want, do)
	}
}
