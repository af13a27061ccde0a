package hierarchy_test

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/world"
)

// newImage is a tree that random things were done to, and its image.
func newImage(t testing.TB, seed uint64, steps int) (*pair, []byte) {
	p := newPair(t, seed, hierarchy.Memory{Buckets: []int{1, 3}}, 30)
	for range steps {
		p.step()
	}
	return p, p.tree.Save(nil)
}

func TestImage(t *testing.T) {
	p, image := newImage(t, 1, 500)
	require.Equal(t, append([]byte("before"), image...), p.tree.Save([]byte("before")), "it is appended")
	require.Len(t, image, p.tree.SaveSize())

	loaded, err := hierarchy.Load(image, hierarchy.Memory{})
	require.NoError(t, err)
	p.tree = loaded
	p.compare()
	other, _ := newImage(t, 2, 300)
	read := other.tree.Read()
	require.NoError(t, other.tree.Load(image), "into an existing one")
	p.tree = other.tree
	p.compare()
	require.Equal(t, p.tree.Read(), read, "a Reader from before reads what was loaded")
	for range 300 {
		p.step() // and it goes on
	}
	p.compare()

	empty := hierarchy.NewTree(hierarchy.Memory{})
	image = empty.Save(nil)
	require.NoError(t, p.tree.Load(image))
	require.Zero(t, p.tree.Links())
	require.NoError(t, p.tree.AddChild(h(1), h(2)))
}

// TestImageSame: the same changes in the same order give the same image.
func TestImageSame(t *testing.T) {
	_, a := newImage(t, 7, 400)
	_, b := newImage(t, 7, 400)
	require.Equal(t, a, b)
}

// TestImageRefused refuses every image that is cut short anywhere, that has one byte
// changed anywhere, or that goes on; the tree is as it was.
func TestImageRefused(t *testing.T) {
	p, image := newImage(t, 3, 200)
	keep := p.tree.Save(nil)
	for n := range image {
		if n%7 == 0 || n < 300 || n > len(image)-50 {
			require.ErrorIs(t, p.tree.Load(image[:n]), hierarchy.ErrImage, "%d bytes of %d", n, len(image))
		}
	}
	for i := range image {
		if i%5 == 0 || i < 300 {
			image[i] ^= 1 << (i % 8)
			require.ErrorIs(t, p.tree.Load(image), hierarchy.ErrImage, "byte %d altered", i)
			image[i] ^= 1 << (i % 8)
		}
	}
	for _, more := range []int{1, 8, 64} {
		require.ErrorIs(t, p.tree.Load(append(slices.Clone(image), make([]byte, more)...)), hierarchy.ErrImage)
	}
	require.ErrorIs(t, p.tree.Load(nil), hierarchy.ErrImage)
	_, err := hierarchy.Load(image[8:], hierarchy.Memory{})
	require.ErrorIs(t, err, hierarchy.ErrImage)
	require.Equal(t, keep, p.tree.Save(nil))
}

// seal gives an image the checksum of what is in it.
func seal(image []byte) []byte {
	n := len(image) - 8
	binary.LittleEndian.PutUint64(image[n:], uint64(crc32.Checksum(image[:n], crc32.MakeTable(crc32.Castagnoli))))
	return image
}

// TestImageForged loads images that were altered and sealed again: whoever made
// them, what is loaded is a tree, and what is not is refused. Nothing panics.
func TestImageForged(t *testing.T) {
	p, image := newImage(t, 4, 400)
	refused := 0
	n := iterations(20_000)
	for range n {
		forged := slices.Clone(image)
		for range 1 + p.rand.IntN(3) {
			at := 8 * p.rand.IntN(len(forged)/8-1)
			v := binary.LittleEndian.Uint64(forged[at:])
			switch p.rand.IntN(4) {
			case 0:
				v = p.rand.Uint64()
			case 1:
				v ^= 1 << p.rand.IntN(64)
			case 2:
				v += uint64(p.rand.IntN(5)) - 2
			default: // another of its words
				v = binary.LittleEndian.Uint64(forged[8*p.rand.IntN(len(forged)/8-1):])
			}
			binary.LittleEndian.PutUint64(forged[at:], v)
		}
		x, err := hierarchy.Load(seal(forged), hierarchy.Memory{})
		if err != nil {
			require.ErrorIs(t, err, hierarchy.ErrImage)
			refused++
			continue
		}
		require.NoError(t, x.Verify())
		for _, e := range p.all {
			for range x.Read().DepthFirst(e) {
			}
		}
	}
	require.Greater(t, refused, n/3)
}

func FuzzLoad(f *testing.F) {
	for seed := range uint64(3) {
		_, image := newImage(f, seed, 50)
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		if len(image) < 8 {
			return
		}
		if x, err := hierarchy.Load(seal(slices.Clone(image)), hierarchy.Memory{}); err == nil {
			require.NoError(t, x.Verify())
		}
	})
}

// TestImageRelation loads into a world: who is dead there is refused.
func TestImageRelation(t *testing.T) {
	f := newFixture(t, 3, hierarchy.Options{})
	h := f.make(6)
	f.add(h[0], h[1:4]...)
	f.add(h[1], h[4])
	image := f.rel.Save(nil)
	before := f.everything(h)
	f.rel.Reserve(hierarchy.Room{Entities: 5})
	require.NoError(t, f.rel.Move(f.World, h[4], h[5]))
	require.NoError(t, f.rel.Load(image))
	require.Equal(t, before, f.everything(h))
	f.sound()

	f.Destroy(h[4])
	f.Refresh()
	after := f.everything(h)
	err := f.rel.Load(image)
	require.ErrorIs(t, err, world.ErrStale)
	require.ErrorContains(t, err, h[4].String())
	require.ErrorIs(t, f.rel.Load(image[1:]), hierarchy.ErrImage)
	require.Equal(t, after, f.everything(h))
	f.sound()
}

// BenchmarkImage saves and loads a million relations.
func BenchmarkImage(b *testing.B) {
	x := hierarchy.NewTree(hierarchy.Memory{})
	for p := range 100_000 {
		for c := range 10 {
			require.NoError(b, x.AddChild(h(p), h(100_000+10*p+c)))
		}
	}
	image := x.Save(nil)
	rate := func(b *testing.B, f func()) {
		b.SetBytes(int64(len(image)))
		best := time.Hour
		for b.Loop() {
			start := time.Now()
			f()
			best = min(best, time.Since(start))
		}
		b.ReportMetric(float64(len(image))/float64(best), "GB/s-best")
	}
	b.Run("save", func(b *testing.B) { rate(b, func() { image = x.Save(image[:0]) }) })
	b.Run("load", func(b *testing.B) { rate(b, func() { require.NoError(b, x.Load(image)) }) })
}
