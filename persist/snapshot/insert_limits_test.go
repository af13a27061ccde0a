package snapshot_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// narrow is a world in which little has room.
type narrow struct {
	*world.World
	t   testing.TB
	kin *hierarchy.Relation
}

func newNarrow(t testing.TB, o world.Options, tree hierarchy.Memory) *narrow {
	w := world.MustNew(o)
	world.Register[Link](w, "link")
	world.Register[serial](w, "serial")
	return &narrow{w, t, hierarchy.New(w, "kin", hierarchy.Options{Memory: tree})}
}

// family creates a parent with children in all shards, who have the handle of the one before.
func (x *narrow) family(children int) (all []handle.Handle) {
	x.t.Helper()
	all = append(all, create(x.World, Link{}))
	for i := range children {
		h := create(x.World, Link{all[i]})
		require.NoError(x.t, world.Move(x.World, h, i%x.Shards()))
		require.NoError(x.t, x.kin.AddChild(x.World, all[0], h))
		all = append(all, h)
	}
	return all
}

// picture is all that is saved of the world, also what slots and relations have free.
func (x *narrow) picture() string {
	hash, err := state.StateHash(x.World, nil)
	require.NoError(x.t, err)
	return hash.String() + string((&mortal{World: x.World}).save(x.t.(*testing.T)))
}

// mustRefuse checks that the world and the piece are as they were.
func (x *narrow) mustRefuse(piece *narrow, o snapshot.InsertOptions, is error, text string, roots ...handle.Handle) {
	x.t.Helper()
	before, from := x.picture(), piece.picture()
	made, err := insert(x.World, piece.World, o, roots...)
	require.Nil(x.t, made)
	require.ErrorIs(x.t, err, is)
	require.ErrorContains(x.t, err, text)
	require.Equal(x.t, before, x.picture())
	require.Equal(x.t, from, piece.picture())
}

// mustInsert inserts a family.
func (x *narrow) mustInsert(piece *narrow, family []handle.Handle, o snapshot.InsertOptions, roots ...handle.Handle) *snapshot.Inserted {
	x.t.Helper()
	made, err := insert(x.World, piece.World, o, roots...)
	require.NoError(x.t, err)
	links, read := world.Read[Link](x.World), x.kin.Read(x.World)
	for i, old := range family {
		h := made.Handle(old)
		require.True(x.t, x.Alive(h))
		if i > 0 {
			require.Equal(x.t, made.Handle(family[i-1]), links.Get(h).To)
			require.Equal(x.t, made.Handle(family[0]), read.Parent(h))
		}
		from, _ := piece.Owner(old)
		to, _ := x.Owner(h)
		require.Equal(x.t, (from+o.Shard)%x.Shards(), to)
	}
	x.Refresh()
	return made
}

// TestInsertChunks inserts into a world that has as many chunks left as are needed, and one fewer.
func TestInsertChunks(t *testing.T) {
	rows := world.Options{Shards: 2, ChunkRowsFirst: 2, ChunkRowsFactor: 1, ChunkRowsMax: 2}
	piece, x := newNarrow(t, world.Options{Shards: 2}, hierarchy.Memory{}), newNarrow(t, rows, hierarchy.Memory{})
	all := piece.family(7) // each shard has 4
	create(x.World, Link{})
	x.leaveChunks(2) // and a row in the shard that was given one
	x.mustRefuse(piece, snapshot.InsertOptions{}, world.ErrChunks, "the piece needs 4, and 2 are left")
	x.leaveChunks(3)
	x.mustRefuse(piece, snapshot.InsertOptions{}, world.ErrChunks, "the piece needs 4, and 3 are left")
	x.leaveChunks(4)
	x.mustInsert(piece, all, snapshot.InsertOptions{})
	x.mustRefuse(piece, snapshot.InsertOptions{}, world.ErrChunks, "4, and 0 are left; with a higher ChunkRowsMax each holds more")
	x.Clear()
	x.mustInsert(piece, all, snapshot.InsertOptions{})
}

// leaveChunks makes the world believe that it has given all chunks but n: a million take seconds.
func (x *narrow) leaveChunks(n int) {
	f := reflect.ValueOf(engine.Of(x.World).Space()).Elem().FieldByName("mu").FieldByName("chunks")
	reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem().SetInt(int64(slots.ChunksMax - n))
}

// TestInsertFull inserts into a world that has as many indexes left as are needed, and one fewer:
// such that were never used, and such that were given back.
func TestInsertFull(t *testing.T) {
	o := world.Options{Shards: 3, IndexMax: 15, VersionMax: 2}
	piece, x := newNarrow(t, world.Options{Shards: 1}, hierarchy.Memory{}), newNarrow(t, o, hierarchy.Memory{})
	all := piece.family(8)
	on1 := snapshot.InsertOptions{Shard: 1}
	x.mustInsert(piece, all, on1)
	x.mustRefuse(piece, on1, world.ErrIndexes, "home 1 has 7 left, of IndexMax = 15; the piece needs 9")
	x.mustInsert(piece, nil, snapshot.InsertOptions{Shard: 1}, all[1:8]...)
	x.mustRefuse(piece, on1, world.ErrIndexes, "home 1 has 0 left", all[1])
	x.mustInsert(piece, all, snapshot.InsertOptions{Shard: 2})
	for range 2 { // each slot is used twice
		x.Clear()
		if _, err := insert(x.World, piece.World, on1); err != nil {
			require.ErrorIs(t, err, world.ErrIndexes)
		}
	}
	x.Clear()
	x.mustRefuse(piece, on1, world.ErrIndexes, "home 1 has ")
	x.mustInsert(piece, all, snapshot.InsertOptions{})
}

// TestInsertShards inserts pieces of fewer and more shards than the world has.
func TestInsertShards(t *testing.T) {
	for _, shards := range [][2]int{{1, 3}, {3, 1}, {5, 2}, {2, 5}} {
		piece := newNarrow(t, world.Options{Shards: shards[0]}, hierarchy.Memory{})
		x := newNarrow(t, world.Options{Shards: shards[1]}, hierarchy.Memory{})
		all := piece.family(13)
		for i := range shards[1] {
			x.mustInsert(piece, all, snapshot.InsertOptions{Shard: i})
		}
		require.Equal(t, 14*shards[1], x.Count())
	}
}

// TestInsertLimit refuses lists that have more words than a tree can have.
func TestInsertLimit(t *testing.T) {
	large := hierarchy.Memory{Buckets: []int{1, hierarchy.WordsMax/2 + 1}}
	piece, x := newNarrow(t, world.Options{}, hierarchy.Memory{}), newNarrow(t, world.Options{}, large)
	all := piece.family(2)
	pair := piece.family(1)
	piece.family(2)
	x.mustInsert(piece, pair, snapshot.InsertOptions{}, pair[0])
	x.mustRefuse(piece, snapshot.InsertOptions{}, hierarchy.ErrLimit, `relation "kin"`)
	x.mustInsert(piece, pair, snapshot.InsertOptions{}, all[1], pair[0])
	require.Equal(t, 2, x.kin.Links())
}

// TestInsertManualGrowth makes room in a relation that makes none by itself, and goes on not to.
func TestInsertManualGrowth(t *testing.T) {
	manual := hierarchy.Memory{ManualGrowth: true, Buckets: []int{4, 16}}
	piece, x := newNarrow(t, world.Options{}, hierarchy.Memory{}), newNarrow(t, world.Options{}, manual)
	a, b := create(x.World, Link{}), create(x.World, Link{})
	require.ErrorIs(t, x.kin.AddChild(x.World, a, b), hierarchy.ErrRoom)
	all := piece.family(40)
	for range 3 {
		made := x.mustInsert(piece, all, snapshot.InsertOptions{})
		require.Len(t, x.kin.Read(x.World).Children(made.Handle(all[0])), 40)
	}
	parents := 0
	for err := error(nil); err == nil; parents++ {
		require.Less(t, parents, 1000)
		h := create(x.World, Link{})
		err = x.kin.Add(x.World, h)
		if err != nil {
			require.ErrorIs(t, err, hierarchy.ErrRoom)
		}
	}
}

// TestInsertIncarnation inserts a piece of one incarnation into a world of another: no handle is
// given twice, and the handles are of the world's incarnation.
func TestInsertIncarnation(t *testing.T) {
	o := world.Options{Shards: 2, VersionsEach: 4, VersionMax: 40, IndexMax: 20}
	for _, numbers := range [][2]uint32{{1, 3}, {3, 1}, {5, 5}} {
		piece, x := newNarrow(t, o, hierarchy.Memory{}), newNarrow(t, o, hierarchy.Memory{})
		create(x.World, Link{}) // a slot of the first incarnation
		piece.family(6)
		piece.Clear()
		require.NoError(t, piece.Reincarnate(numbers[0]))
		all := piece.family(9)
		require.NoError(t, x.Reincarnate(numbers[1]))
		given := map[handle.Handle]bool{}
		for n := numbers[1]; n < numbers[1]+2; n++ {
			require.NoError(t, x.Reincarnate(n))
			inserts := 0
			for ; ; inserts++ {
				made, err := insert(x.World, piece.World, snapshot.InsertOptions{})
				if err != nil {
					require.ErrorIs(t, err, world.ErrIndexes)
					break
				}
				for _, h := range made.All() {
					require.False(t, given[h], "%v is given twice", h)
					given[h] = true
					require.Equal(t, n, (h.Version()-1)/4+1, "the incarnation of %v", h)
				}
				x.Clear()
			}
			require.GreaterOrEqual(t, inserts, 4)
			x.mustRefuse(piece, snapshot.InsertOptions{}, world.ErrIndexes, "home ")
		}
		require.NoError(t, x.Reincarnate(numbers[1]+2))
		x.mustInsert(piece, all, snapshot.InsertOptions{})
	}
}

// TestRefusedRows refuses rows of a new set of components, because the world has no chunk left:
// nothing stays of the table that they were for.
func TestRefusedRows(t *testing.T) {
	type freight struct {
		Link
		serial
	}
	x := newNarrow(t, world.Options{Shards: 2}, hierarchy.Memory{})
	freights := world.NewBundle[freight](x.World)
	h := create(x.World, Link{})
	port, err := x.OpenPort()
	require.NoError(t, err)
	tables := func() (n int) {
		for i := range x.Shards() {
			n += len(engine.Of(x.World).Survey().Shard(i).Tables())
		}
		return n
	}
	had := tables()
	x.leaveChunks(0)
	tries := map[string]func() error{
		"create":  func() error { _, err := freights.Create(x.World, freight{}); return err },
		"change":  func() error { return freights.Add(x.World, h, freight{}) },
		"reserve": func() error { return freights.Reserve(x.World, 1) },
	}
	sections := func() []state.Section {
		all, err := state.NewHasher(x.World, nil).Sections()
		require.NoError(t, err)
		require.Equal(t, "the world", all[0].Name)
		return all[1:] // the world counts what it creates in a shard in a row
	}
	for what, try := range tries {
		before := sections()
		require.ErrorIs(t, try(), world.ErrChunks, what)
		require.Equal(t, before, sections(), what)
	}
	_, err = freights.Create(port, freight{})
	require.NoError(t, err)
	require.NoError(t, freights.Add(port, h, freight{}))
	x.Refresh()
	require.Equal(t, had, tables())
	x.leaveChunks(100)
	_, err = freights.Create(x.World, freight{})
	require.NoError(t, err)
	require.Equal(t, had+1, tables())
}
