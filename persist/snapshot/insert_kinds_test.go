package snapshot_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Links holds handles in all ways that CBOR writes.
	Links struct {
		One  handle.Handle
		Two  [2]handle.Handle
		Many []Link
		At   *Link
		By   map[string]handle.Handle
		Raw  uint64
	}
	Link struct{ To handle.Handle }
	// Knot is copied by a function, and holds what CBOR does not write.
	Knot struct {
		weak   reference.Weak
		any    any
		next   *Knot
		hidden []Link
		grudge map[handle.Handle]int
		each   map[handle.Handle][]*Link
	}
)

func newKinds(t testing.TB, o world.Options) *world.World {
	t.Helper()
	w, err := world.New(o)
	require.NoError(t, err)
	world.Register[Knot](w, "knot").CloneBy(func(to, from *Knot) { *to = *from })
	world.Register[Links](w, "links")
	return w
}

func TestInsertKinds(t *testing.T) {
	piece := newKinds(t, world.Options{})
	a, b, gone := create(piece, Links{}), create(piece, Knot{}), create(piece, Knot{})
	piece.Destroy(gone)
	piece.Refresh()
	*world.Write[Links](piece).Get(a) = Links{
		One: b, Two: [2]handle.Handle{a, gone}, Many: []Link{{b}, {gone}}, At: &Link{a}, By: map[string]handle.Handle{"b": b, "x": gone}, Raw: uint64(b),
	}
	last := &Knot{hidden: []Link{{b}, {gone}}}
	*world.Write[Knot](piece).Get(b) = Knot{weak: reference.To(piece, a), any: Link{a}, next: last,
		grudge: map[handle.Handle]int{b: 3, gone: 4}, each: map[handle.Handle][]*Link{a: {{b}, nil}},
	}

	w := newKinds(t, world.Options{})
	create(w, Links{})
	made, err := insert(w, piece, snapshot.InsertOptions{Codecs: knotStash()})
	require.NoError(t, err)
	c, d := made.Handle(a), made.Handle(b)
	require.Equal(t, handle.None, made.Handle(gone))
	require.NotEqual(t, a, c)
	require.Equal(t, Links{
		One: d, Two: [2]handle.Handle{c}, Many: []Link{{d}, {}}, At: &Link{c}, By: map[string]handle.Handle{"b": d, "x": handle.None}, Raw: uint64(b),
	}, *world.Read[Links](w).Get(c))
	require.Equal(t, 5, made.Cut)
	k := world.Read[Knot](w).Get(d)
	require.Equal(t, reference.To(w, c), k.weak)
	require.Equal(t, Link{c}, k.any)
	require.Equal(t, []Link{{d}, {}}, k.next.hidden)
	require.Equal(t, map[handle.Handle]int{d: 3}, k.grudge)
	require.Equal(t, map[handle.Handle][]*Link{c: {{d}, nil}}, k.each)
	require.Equal(t, []Link{{b}, {gone}}, last.hidden, "which the piece shares, by its function")
}

// TestInsertOtherNumbers inserts into a world whose components are registered in another order,
// with others among them, and which has another bundle of them.
func TestInsertOtherNumbers(t *testing.T) {
	type both struct {
		Link
		Links
	}
	piece, w := world.MustNew(world.Options{}), world.MustNew(world.Options{})
	world.Register[Link](piece, "link")
	world.Register[Links](piece, "links")
	world.Register[Tag](w, "tag")
	world.Register[Links](w, "links")
	world.Register[Extra](w, "extra")
	world.Register[Link](w, "link")
	a := create(piece, Link{})
	b := must(world.NewBundle[both](piece).Create(piece, both{Link{a}, Links{One: a, Raw: 7}}))
	made, err := insert(w, piece, snapshot.InsertOptions{})
	require.NoError(t, err)
	c, d := made.Handle(a), made.Handle(b)
	require.Equal(t, Link{}, *world.Read[Link](w).Get(c))
	require.Equal(t, Link{c}, *world.Read[Link](w).Get(d))
	require.Equal(t, Links{One: c, Raw: 7}, *world.Read[Links](w).Get(d))
	require.Nil(t, world.Read[Links](w).Get(c))
}

// create makes an entity of one component.
func create[T any](w *world.World, v T) handle.Handle {
	type only struct{ One T }
	return must(world.NewBundle[only](w).Create(w, only{v}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestInsertRefused looks at what is refused, and that nothing has changed.
func TestInsertRefused(t *testing.T) {
	type other struct{ N int64 }
	type fixture struct {
		piece, w *world.World
		roots    []handle.Handle
	}
	named := func(w *world.World, o names.Options, h handle.Handle) {
		_ = names.New[string](w, "titles", o).Bind(w, h, "king")
	}
	one := func(f *fixture) handle.Handle { return create(f.piece, Links{}) }
	for name, c := range map[string]struct {
		set  func(f *fixture)
		text string
		is   error
	}{
		"a component that is not there": {func(f *fixture) {
			world.Register[other](f.piece, "odd")
			create(f.piece, other{})
		}, `component "odd": is not in this world: say Renamed("odd", …), or register it beside`, snapshot.ErrOtherWorld},
		"a component of another type": {func(f *fixture) {
			world.Register[other](f.piece, "odd")
			create(f.piece, other{})
			world.Register[Link](f.w, "odd")
		}, `component "odd", field N (int64): is not in this world: say RenamedField("odd", "N", …)`, snapshot.ErrOtherWorld},
		"a relation that is not there": {func(f *fixture) {
			_ = hierarchy.New(f.piece, "kin", hierarchy.Options{}).Add(f.piece, one(f))
		}, `extension "kin": is not in this world: say Renamed("kin", …)`, snapshot.ErrOtherWorld},
		"a relation of fewer places": {func(f *fixture) {
			kin := hierarchy.New(f.piece, "kin", hierarchy.Options{Places: 4})
			parent, child := one(f), one(f)
			require.NoError(t, kin.Put(f.piece, child, parent, 3))
			hierarchy.New(f.w, "kin", hierarchy.Options{Places: 3})
		}, `relation "kin" has Places 4 where the piece comes from, and 3 here: a child is at a place from 3 on`, nil},
		"names that are a relation": {func(f *fixture) {
			named(f.piece, names.Options{}, one(f))
			hierarchy.New(f.w, "titles", hierarchy.Options{})
		}, `extension "titles" (names of string → children): is of another kind`, snapshot.ErrOtherWorld},
		"names of another type": {func(f *fixture) {
			named(f.piece, names.Options{}, one(f))
			names.New[uint64](f.w, "titles", names.Options{})
		}, `extension "titles" (names of string → names of uint64): is of another kind`, snapshot.ErrOtherWorld},
		"a name that is taken": {func(f *fixture) {
			named(f.piece, names.Options{}, one(f))
			named(f.w, names.Options{}, create(f.w, Links{}))
		}, "king is the name of", names.ErrTaken},
		"a name that is too long": {func(f *fixture) {
			named(f.piece, names.Options{}, one(f))
			names.New[string](f.w, "titles", names.Options{LengthMax: 3})
		}, `which is 3 of "titles": king`, names.ErrLength},
		"too few indexes": {func(f *fixture) {
			for range 65 {
				one(f)
			}
		}, "home 0 has 64 left, of IndexMax = 63; the piece needs 65", world.ErrIndexes},
		"marked entities":     {func(f *fixture) { f.piece.Destroy(one(f)) }, "marked to be destroyed; call Refresh first", nil},
		"a root that is dead": {func(f *fixture) { f.roots = []handle.Handle{one(f), 9} }, "snapshot.Extract of the root 0:0@9", world.ErrStale},
		"a value without an end": {func(f *fixture) {
			k := &Knot{}
			k.next = k
			create(f.piece, Knot{next: k})
		}, "snapshot_test.Knot: a value holds itself", nil},
		"a type without a codec": {func(f *fixture) {
			type hidden struct{ value any }
			world.Register[hidden](f.piece, "odd")
			create(f.piece, hidden{value: 1})
			world.Register[hidden](f.w, "odd")
		}, `component "odd"`, state.ErrNoCodec},
		"a type with an owner": {func(f *fixture) {
			type held struct{ by [2]*reference.Owner }
			clone := func(to, from *held) {
				c := from.by[0].Clone()
				to.by[0] = &c
			}
			world.Register[held](f.piece, "odd").CloneBy(clone)
			world.Register[held](f.w, "odd").CloneBy(clone)
			owner := reference.Own(f.piece, one(f), nil)
			create(f.piece, held{[2]*reference.Owner{&owner}})
			t.Cleanup(func() { require.Equal(t, 1, owner.Shares()) })
		}, `component "odd": it holds a reference.Owner`, nil},
		"an owner in an interface": {func(f *fixture) {
			owner := reference.Own(f.piece, one(f), nil)
			create(f.piece, Knot{any: &owner})
		}, "snapshot_test.Knot: it holds a reference.Owner", nil},
		"a closed piece": {func(f *fixture) { f.piece.Close() }, "", world.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{}
			f.piece = newKinds(t, world.Options{Shards: 1})
			f.w = newKinds(t, world.Options{Shards: 1, IndexMax: 63})
			c.set(f)
			before, err := state.StateHash(f.w, knotCodec())
			if name != "a type without a codec" && name != "a type with an owner" {
				require.NoError(t, err)
			}
			made, err := insert(f.w, f.piece, snapshot.InsertOptions{Codecs: knotStash()}, f.roots...)
			require.Nil(t, made)
			require.ErrorContains(t, err, c.text)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			after, _ := state.StateHash(f.w, knotCodec())
			require.Equal(t, before, after)
		})
	}
}

// knotStash returns a codec of values that no bytes can have: it keeps them.
func knotStash() *state.Codecs {
	c, kept := new(state.Codecs), []Knot{}
	state.Register(c, state.Codec[Knot]{
		Append: func(dst []byte, v *Knot) []byte {
			kept = append(kept, *v)
			return append(dst, byte(len(kept)-1))
		},
		Read: func(src []byte, v *Knot) error {
			*v = kept[src[0]]
			return nil
		},
	})
	return c
}

// knotCodec makes a hash possible.
func knotCodec() *state.Codecs {
	c := new(state.Codecs)
	state.Register(c, state.Codec[Knot]{Append: func(dst []byte, _ *Knot) []byte { return dst }})
	return c
}

// TestInsertCodecFails reports the error of a method that writes, before anything is touched.
func TestInsertCodecFails(t *testing.T) {
	var worlds [2]*world.World
	for i := range worlds {
		worlds[i] = world.MustNew(world.Options{})
		world.Register[unwritten](worlds[i], "unwritten")
	}
	create(worlds[1], unwritten{new(int)})
	_, err := insert(worlds[0], worlds[1], snapshot.InsertOptions{})
	require.ErrorIs(t, err, errUnwritten)
	require.ErrorContains(t, err, `component "unwritten"`)
	require.Zero(t, worlds[0].Query().Count())
}

var errUnwritten = errors.New("it fails")

type unwritten struct{ n *int }

func (unwritten) MarshalBinary() ([]byte, error) { return nil, errUnwritten }
func (*unwritten) UnmarshalBinary([]byte) error  { return nil }

// TestInsertPanics looks at calls that are mistakes.
func TestInsertPanics(t *testing.T) {
	w := newKinds(t, world.Options{Shards: 2})
	piece, err := extract(newKinds(t, world.Options{}), nil)
	require.NoError(t, err)
	insert := func(w *world.World, piece *snapshot.Piece, o snapshot.InsertOptions) func() {
		return func() { _, _ = snapshot.Insert(w, piece, o) }
	}
	for text, f := range map[string]func(){
		"snapshot: Insert by a nil Actor; pass an idle *world.World, or a *world.Tx":  insert(nil, piece, snapshot.InsertOptions{}),
		"snapshot: Insert with a nil Piece; pass one of Extract or ReadPiece":         insert(w, nil, snapshot.InsertOptions{}),
		"snapshot: Insert with InsertOptions.Shard = 2; want 0 to 1":                  insert(w, piece, snapshot.InsertOptions{Shard: 2}),
		"snapshot: Insert with InsertOptions.BytesMax = -1; want 0 or more":           insert(w, piece, snapshot.InsertOptions{BytesMax: -1}),
		"snapshot: Extract by a nil Actor; pass an idle *world.World, or a *world.Tx": func() { _, _ = snapshot.Extract(nil, snapshot.ExtractOptions{}) },
		`snapshot: Extract with ExtractOptions.Relations that have "kin"; the world has no relation of that name`: func() {
			_, _ = snapshot.Extract(w, snapshot.ExtractOptions{Relations: []string{"kin"}})
		},
	} {
		require.PanicsWithValue(t, text, f)
	}
	create(w, Links{})
	for range w.Query().Chunks() {
		defer func() {
			require.Contains(t, recover(), "world: snapshot.Insert inside a query loop would move the rows it walks; call it after the loop")
		}()
		insert(w, piece, snapshot.InsertOptions{})()
	}
}

// TestInsertOften inserts a piece many times, between frames that show each.
func TestInsertOften(t *testing.T) {
	piece, x := newSea(t, options(), 1), newSea(t, options(), 2)
	top := must(piece.plain.Create(piece.World, Plain{}))
	for i := range 3 {
		h := must(piece.plain.Create(piece.World, Plain{Body: Body{Target: top, Small: uint8(i)}}))
		require.NoError(t, piece.kin.Put(piece.World, h, top, 2*i))
	}
	require.NoError(t, piece.names.Bind(piece.World, top, "top"))
	piece.Refresh()
	view, err := x.NewView(x.body, x.kin, x.names)
	require.NoError(t, err)
	read := x.kin.Read(x.World)
	for i := range 100 {
		before := must(view.Now())
		made, err := insert(x.World, piece.World, snapshot.InsertOptions{Codecs: codecs(), Shard: i % 3, WithoutNames: i > 0})
		require.NoError(t, err)
		h := made.Handle(top)
		after := must(view.Now())
		require.False(t, x.kin.Read(before).Has(h))
		require.Equal(t, read.Children(h), x.kin.Read(after).Children(h))
		require.Equal(t, 5, len(x.kin.Read(after).Children(h)))
		require.Equal(t, h, world.Read[Body](after).Get(read.At(h, 4)).Target)
		if _, had := x.names.Read(before).Lookup("top"); i == 0 {
			require.False(t, had)
			require.Equal(t, h, first(x.names.Read(after).Lookup("top")))
		}
		before.Release()
		after.Release()
		if i%10 == 0 {
			x.Refresh()
			require.Contains(t, fmt.Sprint(x.saw), h.String(), "hooks are told")
		}
	}
	require.Equal(t, 300, x.kin.Links())
}

func first[A, B any](a A, _ B) A { return a }
