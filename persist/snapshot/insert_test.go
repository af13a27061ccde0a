package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// insert copies entities of a world into another, or all if there are none: through bytes.
func insert(w, from *world.World, o snapshot.InsertOptions, roots ...handle.Handle) (*snapshot.Inserted, error) {
	piece, err := extract(from, o.Codecs, roots...)
	if err != nil {
		return nil, err
	}
	again, err := snapshot.ReadPiece(piece.Bytes())
	if err != nil {
		return nil, err
	}
	return snapshot.Insert(w, again, o)
}

// extract extracts entities of a world, or all if there are none.
func extract(from *world.World, codecs *state.Codecs, roots ...handle.Handle) (*snapshot.Piece, error) {
	if len(roots) == 0 {
		return snapshot.ExtractAll(from, snapshot.ExtractOptions{Codecs: codecs})
	}
	return snapshot.Extract(from, snapshot.ExtractOptions{Codecs: codecs}, roots...)
}

// pieceOf returns a world that has lived a while, with nobody marked.
func pieceOf(t *testing.T, seed uint64, n int) *sea {
	x := newSea(t, options(), 2)
	dice := rand.New(rand.NewPCG(seed, 7))
	x.openPorts()
	for range 3 {
		x.send(dice, n)
		x.meddle(dice, n/4)
		x.step()
	}
	x.closePorts()
	for _, h := range x.known {
		if k := dice.IntN(9); k == 0 {
			_ = x.kin.SetPlaces(x.World, h, 6)
		} else if k == 1 {
			_ = x.refs.Add(x.World, h)
		} else if k < 6 {
			_ = x.refs.Put(x.World, h, x.someone(dice), k-2)
		}
	}
	x.step()
	x.Refresh()
	return x
}

// living returns all entities.
func (x *sea) living() (all []handle.Handle) {
	for ch := range x.Query().Chunks() {
		all = append(all, ch.Handles()...)
	}
	return all
}

// tell tells all of an entity that can be asked for, with other handles in the place of those that
// are there. It counts handles in components that have none, where all is set.
func (x *sea) tell(h handle.Handle, to func(handle.Handle) handle.Handle, cut *int) string {
	var s strings.Builder
	if b := world.Read[Body](x.World).Get(h); b != nil {
		c := *b
		if c.Target = to(b.Target); c.Target == handle.None && b.Target != handle.None {
			*cut++
		}
		fmt.Fprintf(&s, "body %v ", c)
	}
	if l := world.Read[Label](x.World).Get(h); l != nil {
		fmt.Fprintf(&s, "label %q %v %v %v ", l.Text, l.Items, l.Bag, l.Next == nil)
		if l.Next != nil {
			fmt.Fprintf(&s, "next %v ", *l.Next)
		}
		if l.Code.N != nil {
			fmt.Fprintf(&s, "code %d ", *l.Code.N)
		}
	}
	if e := world.Read[Extra](x.World).Get(h); e != nil {
		fmt.Fprintf(&s, "extra %v ", *e)
	}
	fmt.Fprintf(&s, "tag %v flags %v ", world.Read[Tag](x.World).Get(h) != nil, world.FlagsOf(x.World, h))
	for _, r := range []*hierarchy.Relation{x.kin, x.refs} {
		read := r.Read(x.World)
		fmt.Fprintf(&s, "%s %v under %v: ", r.Name(), read.Fixed(h), to(read.Parent(h)))
		for _, child := range read.Children(h) {
			fmt.Fprintf(&s, "%v ", to(child))
		}
	}
	return s.String()
}

func itself(h handle.Handle) handle.Handle { return h }

// mustBeCopied compares entities with what was inserted of them.
func (x *sea) mustBeCopied(from *sea, made *snapshot.Inserted, names bool) {
	x.t.Helper()
	cut, none := 0, 0
	for old, h := range made.All() {
		require.True(x.t, x.Alive(h))
		require.Equal(x.t, h, made.Handle(old))
		require.Equal(x.t, from.tell(old, made.Handle, &cut), x.tell(h, itself, &none))
		for i, r := range []*hierarchy.Relation{from.kin, from.refs} {
			if up := r.Read(from.World).Parent(old); up == handle.None || made.Handle(up) != handle.None {
				require.Equal(x.t, r.Read(from.World).Has(old), []*hierarchy.Relation{x.kin, x.refs}[i].Read(x.World).Has(h))
			}
		}
		name, named := from.names.NameOf(old)
		now, has := x.names.NameOf(h)
		require.Equal(x.t, named && names, has)
		if has {
			require.Equal(x.t, name, now)
		}
	}
	require.Equal(x.t, cut, made.Cut)
}

// forgetNames makes room for the names of pieces.
func (x *sea) forgetNames() {
	for h := range x.names.All() {
		_ = x.names.Unbind(x.World, h)
	}
}

// TestInsert inserts random worlds into others, on 1, 2 and 5 workers, and goes on.
func TestInsert(t *testing.T) {
	seed := seed.Of(t)
	piece := pieceOf(t, seed, 40)
	before := piece.save()
	var worlds []*sea
	for _, workers := range []int{1, 2, 5} {
		x := newSea(t, options(), workers)
		dice := rand.New(rand.NewPCG(seed, 1))
		x.openPorts()
		x.send(dice, 80)
		x.step()
		x.meddle(dice, 30) // some are marked
		x.closePorts()
		x.forgetNames()
		was := map[handle.Handle]string{}
		none := 0
		for _, h := range x.living() {
			was[h] = x.tell(h, itself, &none)
		}
		for i := range 3 {
			made, err := insert(x.World, piece.World, snapshot.InsertOptions{Codecs: codecs(), Shard: i, WithoutNames: i > 0})
			require.NoError(t, err)
			require.Equal(t, len(piece.living()), made.Len())
			x.mustBeCopied(piece, made, i == 0)
			for old, h := range made.All() {
				from, _ := piece.Owner(old)
				to, _ := x.Owner(h)
				require.Equal(t, (from+i)%3, to)
				x.known = append(x.known, h)
			}
		}
		for h, tells := range was {
			require.Equal(t, tells, x.tell(h, itself, &none))
		}
		require.Equal(t, before, piece.save(), "the piece stays as it is")
		worlds = append(worlds, x)
	}
	for _, x := range worlds[1:] {
		require.Equal(t, worlds[0].hash(), x.hash())
	}
	again := newSea(t, options(), 2)
	image := worlds[0].save()
	again.load(image)
	again.known = slices.Clone(worlds[0].known)
	require.Equal(t, image, again.save())
	c := worlds[1].capture()
	fork := worlds[1].fork(c, 2)
	c.Release()
	mustGoOn(t, worlds[0], again, seed|1)
	mustGoOn(t, worlds[1], fork, seed|1)
}

// TestPieceShards takes random worlds of some shards into worlds of others, and back again.
func TestPieceShards(t *testing.T) {
	seed := seed.Of(t)
	var bytes []byte
	for _, n := range []int{1, 2, 5} {
		o := options()
		o.Shards = n
		from := pieceOf(t, seed, 40)
		to := newSea(t, o, 1+n%3)
		made, err := insert(to.World, from.World, snapshot.InsertOptions{Codecs: codecs()})
		require.NoError(t, err)
		to.mustBeCopied(from, made, true)
		to.step()
		back := newSea(t, options(), 2)
		again, err := insert(back.World, to.World, snapshot.InsertOptions{Codecs: codecs()})
		require.NoError(t, err)
		back.mustBeCopied(to, again, true)
		back.step()
		piece, err := extract(from.World, codecs())
		require.NoError(t, err)
		if bytes == nil {
			bytes = piece.Bytes()
		}
		require.Equal(t, bytes, piece.Bytes(), "the same entities give the same bytes")
	}
}

// TestInsertRoots inserts some entities with all below them.
func TestInsertRoots(t *testing.T) {
	seed := seed.Of(t)
	piece := pieceOf(t, seed, 60)
	dice := rand.New(rand.NewPCG(seed, 3))
	x := newSea(t, options(), 2)
	all := piece.living()
	for i := range 20 {
		roots := []handle.Handle{all[dice.IntN(len(all))], all[dice.IntN(len(all))]}
		roots = append(roots, roots[0])
		want := map[handle.Handle]bool{}
		var follow func(h handle.Handle)
		follow = func(h handle.Handle) {
			if want[h] {
				return
			}
			want[h] = true
			for _, r := range []*hierarchy.Relation{piece.kin, piece.refs} {
				for _, child := range slices.Clone(r.Read(piece.World).Children(h)) {
					if child != handle.None {
						follow(child)
					}
				}
			}
		}
		follow(roots[0])
		follow(roots[1])
		made, err := insert(x.World, piece.World, snapshot.InsertOptions{Codecs: codecs(), WithoutNames: i > 0}, roots...)
		require.NoError(t, err)
		got := map[handle.Handle]bool{}
		for old := range made.All() {
			got[old] = true
		}
		require.Equal(t, want, got)
		x.mustBeCopied(piece, made, i == 0)
		x.known = slices.Collect(x.values(made))
	}
	x.step()
	none, err := snapshot.Extract(piece.World, snapshot.ExtractOptions{Codecs: codecs()})
	require.NoError(t, err)
	made, err := snapshot.Insert(x.World, none, snapshot.InsertOptions{})
	require.NoError(t, err)
	require.Zero(t, made.Len())
}

func (x *sea) values(made *snapshot.Inserted) func(func(handle.Handle) bool) {
	return func(yield func(handle.Handle) bool) {
		for _, h := range made.All() {
			if !yield(h) {
				return
			}
		}
	}
}
