package snapshot_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// trying returns what has a transaction do a job: by the idle world, or in the next refresh.
func (x *keep) trying(idle bool) func(job) error {
	if idle {
		return x.try
	}
	port := must(x.OpenPort())
	return func(f job) error {
		var answer world.Answer[int]
		require.NoError(x.t, x.tries.Send(port, f, &answer))
		require.NoError(x.t, x.s.Step(x.t.Context()))
		_, err := answer.Get(x.t.Context())
		return err
	}
}

// TestPieceTx takes along what a transaction has made and changed until then, and inserts it by
// another, into worlds with other numbers of shards: in a refresh, or while the world is idle.
func TestPieceTx(t *testing.T) {
	for _, shards := range [][2]int{{1, 1}, {2, 5}, {5, 2}} {
		for _, idle := range []bool{true, false} {
			x, y := newKeep(t, shards[0], 0), newKeep(t, shards[1], 0)
			doX, doY := x.trying(idle), y.trying(idle)
			top, gone := create(x.World, Link{}), create(x.World, Link{})
			old := create(x.World, Link{top})
			require.NoError(t, x.kin.AddChild(x.World, top, old))
			require.NoError(t, world.AddFlags(x.World, top, 1|2))
			must(x.timers.After(x.World, top, 30, Fuse{old, "before"}))
			cancelled := must(x.timers.After(x.World, top, 30, Fuse{}))
			require.NoError(t, x.names.Bind(x.World, top, "top"))
			type link struct{ Link }
			links := world.NewBundle[link](x.World)
			var piece *snapshot.Piece
			var young handle.Handle
			require.NoError(t, doX(func(tx *world.Tx) (err error) {
				if young, err = links.Create(tx, link{Link{top}}); err != nil {
					return err
				}
				x.links.Edit(tx, top).To = young
				must(x.timers.After(tx, young, 20, Fuse{gone, "young"}))
				err = errors.Join(
					x.kin.AddChild(tx, old, young), x.names.Bind(tx, young, "young"), x.names.Bind(tx, top, "tip"),
					world.AddFlags(tx, young, 4), world.RemoveFlags(tx, top, 1), x.timers.Cancel(tx, cancelled),
					x.links.Remove(tx, old),
				)
				if err == nil {
					piece, err = snapshot.Extract(tx, snapshot.ExtractOptions{}, top)
				}
				x.links.Edit(tx, top).To = old // not in the piece
				return errors.Join(err, x.names.Unbind(tx, young), tx.Destroy(young))
			}))
			require.ElementsMatch(t, []handle.Handle{top, old, young}, slices.Collect(piece.Handles()))
			var in *snapshot.Inserted
			require.NoError(t, doY(func(tx *world.Tx) (err error) {
				again := must(snapshot.ReadPiece(piece.Bytes()))
				if in, err = snapshot.Insert(tx, again, snapshot.InsertOptions{Shard: shards[1] - 1}); err != nil {
					return err
				}
				now := in.Handle(top)
				if got, ok := y.links.Get(tx, now); !ok || got.To != in.Handle(young) {
					return fmt.Errorf("the transaction reads %v, %v", got, ok)
				}
				y.links.Edit(tx, now).To = in.Handle(old) // after it
				return world.AddFlags(tx, now, 8)
			}))
			p, c, g := in.Handle(top), in.Handle(old), in.Handle(young)
			require.Equal(t, 3, in.Len())
			require.Equal(t, 1, in.Cut, "gone, in a message")
			read := world.Read[Link](y.World)
			require.Equal(t, Link{c}, *read.Get(p))
			require.Nil(t, read.Get(c))
			require.Equal(t, Link{p}, *read.Get(g))
			require.Equal(t, []world.Flags{2 | 8, 0, 4}, []world.Flags{world.FlagsOf(y.World, p), world.FlagsOf(y.World, c), world.FlagsOf(y.World, g)})
			kin := y.kin.Read(y.World)
			require.Equal(t, []handle.Handle{p, c}, []handle.Handle{kin.Parent(c), kin.Parent(g)})
			for name, want := range map[string]handle.Handle{"tip": p, "young": g, "top": handle.None} {
				h, _ := y.names.Lookup(name)
				require.Equal(t, want, h, name)
			}
			heard := y.ticks(31)
			first := 20
			if idle {
				first = 21 // counted from the next tick on
			}
			require.Equal(t, map[int][]world.Envelope[Fuse]{
				first: {{To: g, Body: Fuse{handle.None, "young"}}}, first + 10: {{To: p, Body: Fuse{c, "before"}}},
			}, heard)
		}
	}
}

// TestPieceBack takes a tree out of the world and puts it back: what has happened to the entities since
// then stays, and the rest is as it was. Timers go on where they were.
func TestPieceBack(t *testing.T) {
	for _, idle := range []bool{true, false} {
		x := newKeep(t, 3, 0)
		do := x.trying(idle)
		other := create(x.World, Link{})
		top, child := create(x.World, Link{other}), create(x.World, Body{Small: 7, Target: other})
		require.NoError(t, x.kin.AddChild(x.World, top, child))
		require.NoError(t, x.names.Bind(x.World, top, "top"))
		require.NoError(t, world.AddFlags(x.World, child, 3))
		must(x.timers.After(x.World, other, 9, Fuse{top, "other"}))
		must(x.timers.Every(x.World, child, 10, Fuse{other, "child"}))
		extras := world.Register[Extra](x.World, "extra")
		var piece *snapshot.Piece
		take := func(tx *world.Tx) (err error) {
			piece, err = snapshot.Extract(tx, snapshot.ExtractOptions{Take: true}, top)
			return err
		}
		before := must(state.StateHash(x.World, nil))
		require.ErrorIs(t, do(func(tx *world.Tx) error { return errors.Join(take(tx), errAsked) }), errAsked)
		if idle {
			require.Equal(t, before, must(state.StateHash(x.World, nil)))
		}
		require.NoError(t, do(take))
		for _, h := range []handle.Handle{top, child} {
			require.True(t, x.Alive(h))
			require.Zero(t, world.FlagsOf(x.World, h))
			require.False(t, x.Has(h, x.links) || world.Read[Body](x.World).Get(h) != nil)
		}
		require.Equal(t, 1, x.timers.Len())
		require.Equal(t, top, x.kin.Read(x.World).Parent(child), "places stay")
		require.NoError(t, x.names.Bind(x.World, top, "tip"))
		require.NoError(t, extras.Add(x.World, top, Extra{3}))
		require.NoError(t, world.AddFlags(x.World, child, 4))
		require.NoError(t, world.Move(x.World, child, 2))
		x.ticks(5)
		require.NoError(t, do(func(tx *world.Tx) error {
			again := must(snapshot.ReadPiece(piece.Bytes()))
			return snapshot.PutBack(tx, again, snapshot.InsertOptions{})
		}))
		require.Equal(t, Link{other}, *world.Read[Link](x.World).Get(top), "no handle is cut")
		require.Equal(t, Body{Small: 7, Target: other}, *world.Read[Body](x.World).Get(child))
		require.Equal(t, Extra{3}, *world.Read[Extra](x.World).Get(top))
		require.Equal(t, world.Flags(7), world.FlagsOf(x.World, child))
		name, _ := x.names.NameOf(top)
		require.Equal(t, "tip", name)
		for tick, heard := range x.ticks(10) {
			for _, e := range heard {
				require.Contains(t, []world.Envelope[Fuse]{{To: other, Body: Fuse{top, "other"}}, {To: child, Body: Fuse{other, "child"}}}, e, tick)
			}
		}
		require.Equal(t, 1, x.timers.Len(), "the one of Every")

		require.NoError(t, do(take))
		require.NoError(t, x.kin.Remove(x.World, child))
		require.True(t, x.Destroy(child))
		back := func(tx *world.Tx) error { return snapshot.PutBack(tx, piece, snapshot.InsertOptions{}) }
		require.ErrorIs(t, do(back), world.ErrStale, "marked")
		require.ErrorIs(t, do(back), world.ErrStale, "dead")
		require.False(t, x.Has(top, x.links))
	}
}

var errAsked = errors.New("the transaction was asked to fail")

// TestPieceTxRefused looks at each error: it has changed nothing, and the transaction goes on.
func TestPieceTxRefused(t *testing.T) {
	codecs := new(state.Codecs)
	panics := false
	state.Register(codecs, state.Codec[string]{
		Append: func(dst []byte, v *string) []byte {
			if panics {
				panic("the codec panics")
			}
			return append(dst, *v...)
		},
		Read: func(src []byte, v *string) error {
			if panics {
				panic("the codec panics")
			}
			if string(src) == "bad" {
				return errAsked
			}
			*v = string(src)
			return nil
		},
	})
	x, y := newKeep(t, 1, 0), newKeep(t, 1, 20)
	doX, doY := x.trying(true), y.trying(true)
	require.NoError(t, y.names.Bind(y.World, create(y.World, Link{}), "taken"))
	piece := func(prepare func(h handle.Handle)) (p *snapshot.Piece) {
		h := create(x.World, Link{})
		prepare(h)
		require.NoError(t, doX(func(tx *world.Tx) (err error) {
			p, err = snapshot.Extract(tx, snapshot.ExtractOptions{Codecs: codecs}, h)
			return err
		}))
		return p
	}
	fuses := func(n int, text string) func(h handle.Handle) {
		return func(h handle.Handle) {
			for range n {
				must(x.timers.After(x.World, h, 3, Fuse{h, text}))
			}
		}
	}
	unknown := newKeep(t, 1, 0)
	world.Register[Extra](unknown.World, "extra")
	other := must(snapshot.Extract(unknown.World, snapshot.ExtractOptions{Codecs: codecs}, create(unknown.World, Extra{})))
	good := piece(func(h handle.Handle) {
		require.NoError(t, x.names.Bind(x.World, h, "good"))
		fuses(1, "good")(h)
	})
	for name, c := range map[string]struct {
		piece *snapshot.Piece
		o     snapshot.InsertOptions
		is    error
		text  string
	}{
		"name":      {piece(func(h handle.Handle) { require.NoError(t, x.names.Bind(x.World, h, "taken")) }), snapshot.InsertOptions{}, names.ErrTaken, ""},
		"timers":    {piece(fuses(21, "")), snapshot.InsertOptions{}, timer.ErrMax, ""},
		"codec":     {piece(fuses(1, "bad")), snapshot.InsertOptions{}, errAsked, ""},
		"bytes":     {good, snapshot.InsertOptions{BytesMax: 7}, snapshot.ErrTooLarge, "BytesMax"},
		"component": {other, snapshot.InsertOptions{}, snapshot.ErrOtherWorld, `component "extra"`},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Codecs = codecs
			before, err := state.StateHash(y.World, codecs)
			require.NoError(t, err)
			refused := func(tx *world.Tx) {
				_, err := snapshot.Insert(tx, c.piece, c.o)
				require.ErrorIs(t, err, c.is)
				require.ErrorContains(t, err, c.text)
			}
			require.ErrorIs(t, doY(func(tx *world.Tx) error { refused(tx); return errAsked }), errAsked)
			require.NoError(t, doY(func(tx *world.Tx) error { refused(tx); return nil }))
			after, err := state.StateHash(y.World, codecs)
			require.NoError(t, err)
			require.NotEqual(t, before, after, "how many transactions have run")
			count := y.Count()
			require.NoError(t, doY(func(tx *world.Tx) error {
				refused(tx)
				in, err := snapshot.Insert(tx, good, snapshot.InsertOptions{Codecs: codecs})
				if err == nil {
					for _, h := range in.All() {
						err = errors.Join(err, tx.Destroy(h))
					}
				}
				return err
			}))
			y.Clear()
			require.NoError(t, y.names.Bind(y.World, create(y.World, Link{}), "taken"))
			require.Equal(t, count, y.Count())
		})
	}
	panics = true
	require.PanicsWithValue(t, "the codec panics", func() {
		_ = doY(func(tx *world.Tx) error {
			_, err := snapshot.Insert(tx, good, snapshot.InsertOptions{Codecs: codecs})
			return err
		})
	})
	for h := range good.Handles() {
		require.PanicsWithValue(t, "the codec panics", func() {
			_ = doX(func(tx *world.Tx) error {
				_, err := snapshot.Extract(tx, snapshot.ExtractOptions{Codecs: codecs}, h)
				return err
			})
		})
	}
	require.Equal(t, 1, y.Count())
}

// TestPieceTxMarked extracts what dies in this refresh, or is below that.
func TestPieceTxMarked(t *testing.T) {
	x := newKeep(t, 2, 0)
	do := x.trying(true)
	top, child := create(x.World, Link{}), create(x.World, Link{})
	require.NoError(t, x.kin.AddChild(x.World, top, child))
	extract := func(tx *world.Tx, h handle.Handle) error {
		_, err := snapshot.Extract(tx, snapshot.ExtractOptions{Take: true}, h)
		return err
	}
	require.NoError(t, do(func(tx *world.Tx) error {
		require.ErrorIs(t, extract(tx, handle.None), world.ErrStale)
		require.NoError(t, tx.Destroy(child))
		for _, h := range []handle.Handle{top, child} {
			err := extract(tx, h)
			require.ErrorIs(t, err, world.ErrStale)
			require.ErrorContains(t, err, "it dies in this refresh")
		}
		return nil
	}))
	require.NoError(t, do(func(tx *world.Tx) error {
		require.ErrorIs(t, extract(tx, top), world.ErrStale, "marked before")
		return nil
	}))
	x.Refresh()
	require.NoError(t, do(func(tx *world.Tx) error { return extract(tx, top) }))
}

// TestPieceTxLimits reaches the limits of a transaction by pieces. What can be taken can be put back.
func TestPieceTxLimits(t *testing.T) {
	x := newKeep(t, 1, 0)
	do := x.trying(true)
	type large struct{ Bytes [1 << 10]byte }
	world.Register[large](x.World, "large")
	type one struct{ large }
	top := create(x.World, Link{})
	put := func(n int, h func() handle.Handle) {
		for range n {
			require.NoError(t, x.kin.AddChild(x.World, top, h()))
		}
	}
	var piece *snapshot.Piece
	take := func(tx *world.Tx) (err error) {
		piece, err = snapshot.Extract(tx, snapshot.ExtractOptions{Take: true}, top)
		_ = err // the transaction fails all the same
		return nil
	}
	back := func(tx *world.Tx) error { return snapshot.PutBack(tx, piece, snapshot.InsertOptions{}) }
	link := func() handle.Handle { return create(x.World, Link{top}) }
	put(engine.TxEntitiesMax-1, link)
	require.NoError(t, do(take))
	require.NoError(t, do(back))
	put(1, link)
	before := must(state.StateHash(x.World, nil))
	require.ErrorIs(t, do(take), world.ErrTx)
	require.Equal(t, before, must(state.StateHash(x.World, nil)))
	x.Clear()
	top = create(x.World, Link{})
	bundle := world.NewBundle[one](x.World)
	put(1_000, func() handle.Handle { return must(bundle.Create(x.World, one{})) })
	require.NoError(t, do(take))
	require.NoError(t, do(back))
	put(30, func() handle.Handle { return must(bundle.Create(x.World, one{})) })
	require.ErrorIs(t, do(take), world.ErrTx)
	whole := must(snapshot.Extract(x.World, snapshot.ExtractOptions{}, top))
	require.ErrorIs(t, do(func(tx *world.Tx) error { _, _ = snapshot.Insert(tx, whole, snapshot.InsertOptions{}); return nil }), world.ErrTx)
	require.Equal(t, 1_031, x.Count())
	x.Clear()
	top = create(x.World, Link{})
	for n := range engine.TxBytesMax / (64 + 40) { // what a timer counts, and less than its message
		must(x.timers.After(x.World, top, 10+n, Fuse{}))
	}
	err := do(take)
	require.True(t, err == nil || errors.Is(err, world.ErrTx))
	if err == nil {
		require.NoError(t, do(back))
	}
}
