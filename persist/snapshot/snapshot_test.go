package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestGoesOn saves worlds at any tick, with changes of the idle world and without, loads them into
// new ones on other numbers of workers, and gives both the same from then on.
func TestGoesOn(t *testing.T) {
	apart := uint64(1)
	if check.Enabled && testing.Short() { // the others with another seed
		apart = 2
	}
	turn := seed.Of(t) % apart
	for number := range uint64(*seeds) {
		if number%apart != turn {
			continue
		}
		seed := number
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 0))
			one := newSea(t, options(), 2)
			one.options.Compression = snapshot.Compression(seed % 3)
			one.openPorts()
			for range 3 + dice.IntN(12) {
				one.send(dice, 60)
				one.meddle(dice, dice.IntN(20))
				one.step()
			}
			one.meddle(dice, int(seed%2)*60)
			if seed%3 == 0 {
				one.hooks[1].SetEnabled(false)
				require.NoError(t, one.scheduler.Disable("rare"))
			}
			if seed%2 == 0 { // else ports have handles in hand, and the new world's get others first
				one.closePorts()
			}
			image := one.save()
			require.Equal(t, image, one.save(), "a save changes nothing")
			for _, workers := range []int{1, 5} {
				one := restored(t, one, image, 2)
				mustGoOn(t, one, restored(t, one, image, workers), seed)
			}
			mustGoOn(t, one, restored(t, one, image, 2), seed)
		})
	}
}

// TestCaptured writes what was captured when the world has gone on: it is what was saved at that
// tick, its hash included, and is loaded as the same world.
func TestCaptured(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 0))
	one := newSea(t, options(), 2)
	one.openPorts()
	for range 8 {
		for range 3 {
			one.send(dice, 60)
			one.meddle(dice, 10)
			one.step()
		}
		one.meddle(dice, 10)
		sections, saved := one.sections(), one.save()
		captured, err := snapshot.Capture(one.World, one.options)
		require.NoError(t, err)
		want, err := state.StateHash(one.World, one.options.Codecs)
		require.NoError(t, err)
		var files [2]bytes.Buffer
		if dice.IntN(2) == 0 {
			require.NoError(t, captured.Write(&files[0]))
		}
		one.send(dice, 60)
		one.meddle(dice, 30)
		one.step()
		hash, err := captured.Hash()
		require.NoError(t, err)
		require.Equal(t, want, hash)
		require.NoError(t, captured.Write(&files[1]))
		captured.Release()
		captured.Release()
		require.ErrorIs(t, captured.Write(io.Discard), world.ErrClosed)
		_, err = captured.Hash()
		require.ErrorIs(t, err, world.ErrClosed)
		if files[0].Len() > 0 {
			require.Equal(t, saved, files[0].Bytes())
		}
		require.Equal(t, saved, files[1].Bytes(), "whatever the world does meanwhile")
		x := newSea(t, options(), 1)
		x.load(files[1].Bytes())
		require.Equal(t, sections, x.sections())
	}
	one.closePorts()
	var held []*snapshot.Captured
	for len(held) < one.Options().FramesMax {
		c, err := snapshot.Capture(one.World, one.options)
		require.NoError(t, err)
		held = append(held, c)
	}
	_, err := snapshot.Capture(one.World, one.options)
	require.ErrorIs(t, err, world.ErrFrames)
	for _, c := range held {
		c.Release()
	}
	one.Close()
	_, err = snapshot.Capture(one.World, one.options)
	require.ErrorIs(t, err, world.ErrClosed)
	require.PanicsWithValue(t, "snapshot: Capture with a nil World; pass one of world.New", func() { _, _ = snapshot.Capture(nil, snapshot.Options{}) })
}

// TestCapturedCodec gives the frame back when a codec panics, and writes what the codec wrote then.
func TestCapturedCodec(t *testing.T) {
	type list struct{ Items []int }
	fail := false
	o := snapshot.Options{Codecs: new(state.Codecs)}
	state.Register(o.Codecs, state.Codec[list]{
		Append: func(dst []byte, v *list) []byte {
			if fail {
				panic("codec")
			}
			return append(dst, byte(v.Items[0]))
		},
		Read: func(src []byte, v *list) error { v.Items = []int{int(src[0])}; return nil },
	})
	newWorld := func() (*world.World, *world.Component[list], handle.Handle) {
		w := world.MustNew(world.Options{FramesMax: 1})
		lists := world.Register[list](w, "list")
		h, err := world.NewBundle[struct{ list }](w).Create(w, struct{ list }{list{[]int{7}}})
		require.NoError(t, err)
		return w, lists, h
	}
	w, _, h := newWorld()
	for range 3 {
		fail = true
		require.PanicsWithValue(t, "codec", func() { _, _ = snapshot.Capture(w, o) })
		fail = false
	}
	c, err := snapshot.Capture(w, o)
	require.NoError(t, err)
	world.Write[list](w).Get(h).Items[0] = 8
	var file bytes.Buffer
	require.NoError(t, c.Write(&file))
	x := world.MustNew(world.Options{FramesMax: 1})
	world.Register[list](x, "list")
	require.NoError(t, snapshot.Load(&file, x, o))
	require.Equal(t, 7, world.Read[list](x).Get(h).Items[0])
}

func restored(t *testing.T, one *sea, image []byte, workers int) *sea {
	x := newSea(t, options(), workers)
	x.options.Compression = one.options.Compression
	x.load(image)
	x.known = slices.Clone(one.known)
	if mine, theirs := one.sections(), x.sections(); !slices.Equal(mine, theirs) {
		require.Equal(t, mine, theirs)
	}
	require.Equal(t, one.hash(), x.hash())
	require.Equal(t, one.clock, x.clock)
	require.Equal(t, image, x.save(), "the loaded world is saved as the same bytes")
	return x
}

// mustGoOn gives two worlds the same, and compares what they become and what is seen there.
func mustGoOn(t *testing.T, one, other *sea, seed uint64) {
	t.Helper()
	a, b := rand.New(rand.NewPCG(seed, 9)), rand.New(rand.NewPCG(seed, 9))
	one.openPorts()
	other.openPorts()
	requests := 40 * int(1-seed%2)
	for i := range 12 {
		clear(one.saw)
		clear(other.saw)
		one.send(a, requests)
		other.send(b, requests)
		one.meddle(a, 10*(i%2))
		other.meddle(b, 10*(i%2))
		require.Equal(t, one.known, other.known, "the same handles are given")
		one.step()
		other.step()
		require.Equal(t, one.saw, other.saw, "%d ticks later", i+1)
		require.Equal(t, one.sections(), other.sections(), "%d ticks later", i+1)
	}
}

func (x *sea) sections() (all []string) {
	sections, err := x.hasher.Sections()
	require.NoError(x.t, err)
	for _, s := range sections {
		all = append(all, fmt.Sprint(s.Name, " ", s.Hash))
	}
	return all
}

var seeds = flag.Int("seeds", 4, "worlds of TestGoesOn")

// TestBlocks packs and unpacks what takes several blocks, and none.
func TestBlocks(t *testing.T) {
	body := make([]byte, 5<<19)
	for i := range body {
		body[i] = byte(i / 1000)
	}
	for _, how := range []snapshot.Compression{snapshot.Zstd, snapshot.S2} {
		for _, body := range [][]byte{nil, body[:1], body[:1<<20], body} {
			got, err := snapshot.Unpack(how, nil, snapshot.Pack(how, nil, body), len(body))
			require.NoError(t, err)
			require.True(t, slices.Equal(body, got))
		}
	}
}

// TestTables loads into a world whose queries were asked before, when tables had another order.
func TestTables(t *testing.T) {
	one := newPond()
	h, err := one.plain.Create(one.World, Plain{})
	require.NoError(t, err)
	require.NoError(t, one.extra.Remove(one.World, h))
	later := world.NewBundle[struct{ Extra }](one.World)
	require.NoError(t, later.CreateN(one.World, 3, nil))
	x := newPond()
	world.NewBundle[struct{ Extra }](x.World)
	all, extras := x.Query(), x.Query(world.With[Extra](x.World))
	require.Zero(t, all.Count()+extras.Count())
	require.NoError(t, snapshot.Load(bytes.NewReader(one.save(t, snapshot.None)), x.World, x.options(0)))
	var hs, was []handle.Handle
	for ch := range all.Chunks() {
		hs = append(hs, ch.Handles()...)
	}
	for ch := range one.Query().Chunks() {
		was = append(was, ch.Handles()...)
	}
	require.Equal(t, was, hs)
	require.Equal(t, 4, all.Count())
	require.Equal(t, 3, extras.Count())
}

// TestTwoRows refuses a snapshot in which one entity has two rows, and one that lives has none.
func TestTwoRows(t *testing.T) {
	x := newPond()
	hs, err := x.plain.AppendN(nil, x.World, 2, nil)
	require.NoError(t, err)
	x.Refresh() // hooks are told
	image := x.save(t, snapshot.None)
	word := func(h handle.Handle) []byte { return binary.NativeEndian.AppendUint64(nil, uint64(h)) }
	require.Equal(t, 1, bytes.Count(image, append(word(hs[0]), word(hs[1])...)), "the handles are side by side")
	forged := snapshot.Repair(bytes.Replace(image, append(word(hs[0]), word(hs[1])...), append(word(hs[0]), word(hs[0])...), 1))
	y := newPond()
	err = snapshot.Load(bytes.NewReader(forged), y.World, y.options(0))
	require.ErrorIs(t, err, snapshot.ErrAltered)
	require.ErrorContains(t, err, "has two rows")
}

// TestNextRow saves a table whose second chunk has just been emptied: the next row goes there, and
// the chunks are not gathered for that.
func TestNextRow(t *testing.T) {
	make := func() (*world.World, *world.Bundle[struct{ Body }]) {
		w := world.MustNew(world.Options{Shards: 1, ChunkRowsFirst: 2, ChunkRowsMax: 8})
		world.Register[Body](w, "body")
		return w, world.NewBundle[struct{ Body }](w)
	}
	w, bundle := make()
	var hs []handle.Handle
	for range 10 { // one by one, so that the first chunk is a small one
		h, err := bundle.Create(w, struct{ Body }{})
		require.NoError(t, err)
		hs = append(hs, h)
	}
	w.Refresh()
	for _, h := range hs[2:] {
		w.Destroy(h)
	}
	w.Refresh()
	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, w, snapshot.Options{}))
	again, others := make()
	require.NoError(t, snapshot.Load(&image, again, snapshot.Options{}))
	for range 2 {
		a, err := bundle.Create(w, struct{ Body }{})
		require.NoError(t, err)
		b, err := others.Create(again, struct{ Body }{})
		require.NoError(t, err)
		require.Equal(t, a, b)
		w.Refresh()
		again.Refresh()
		before, err := state.StateHash(w, nil)
		require.NoError(t, err)
		after, err := state.StateHash(again, nil)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}
