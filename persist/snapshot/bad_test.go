package snapshot_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// pond is a small world, with a snapshot of some hundred bytes.
type pond struct {
	*world.World
	plain *world.Bundle[Plain]
	extra *world.Component[Extra]
	hit   *world.Message[Hit]
	poke  *world.Func[Order]
}

func newPond() *pond {
	w := world.MustNew(world.Options{Shards: 2, ChunkRowsFirst: 2, ChunkRowsMax: 4, IndexMax: 20_000})
	x := &pond{World: w}
	world.Register[Body](w, "body")
	x.extra = world.Register[Extra](w, "extra")
	world.Register[Code](w, "code")
	x.hit = world.RegisterMessage[Hit](w, "hit")
	x.plain = world.NewBundle[Plain](w)
	x.poke = world.RegisterFunc(w, "poke", func(self *world.EntityContext, o Order) {
		_ = x.hit.Send(self, o.Who, Hit{o.N})
		_ = x.extra.Add(self, self.Handle(), Extra{1})
		_ = world.Move(self, o.Who, 1)
		_ = x.hit.SendShard(self, 0, Hit{o.N})
	})
	w.Observe("seen", world.OnCreate|world.OnAdd|world.OnSet, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		body := world.Read[Body](b)
		return func(_ *world.Context, _ world.Event, hs []handle.Handle) {
			for _, h := range hs {
				_ = body.Get(h)
			}
		}
	}, x.extra)
	return x
}

// live fills a pond.
func (x *pond) live() *pond {
	var err error
	for i := range 9 {
		h, e := x.plain.Create(x.World, Plain{Body: Body{Sum: uint64(i)}, Extra: Extra{int32(i)}})
		err = errors.Join(err, e, x.hit.Send(x.World, h, Hit{1}))
		switch i % 3 {
		case 0:
			x.Destroy(h)
		case 1:
			err = errors.Join(err, world.AddFlags(x.World, h, 1), x.extra.Remove(x.World, h), x.poke.Call(x.World, h, Order{h, 1}))
		}
		if i == 4 {
			x.Refresh()
		}
	}
	if err != nil {
		panic(err)
	}
	return x
}

func (x *pond) options(how snapshot.Compression) snapshot.Options {
	return snapshot.Options{Codecs: codecs(), Compression: how, Workers: 1, BytesMax: 1 << 20}
}

func (x *pond) save(t testing.TB, how snapshot.Compression) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, snapshot.Write(&b, x.World, x.options(how)))
	asText(t, b.Bytes())
	return b.Bytes()
}

// refusals are what Load returns for bytes that are no snapshot of this world.
var refusals = []error{snapshot.ErrNoSnapshot, snapshot.ErrVersion, snapshot.ErrTruncated, snapshot.ErrAltered, snapshot.ErrOtherWorld, snapshot.ErrTooLarge, snapshot.ErrDiffers}

// mustBeNew checks that a pond is as new after a load that has failed, and that it can load another.
func mustBeNew(t *testing.T, x *pond, at int) {
	t.Helper()
	hash, err := state.StateHash(x.World, codecs())
	require.NoError(t, err, at)
	want, err := state.StateHash(newPond().World, codecs())
	require.NoError(t, err, at)
	require.Equal(t, want, hash, at)
	good.Do(func() { goodImage = newPond().live().save(t, snapshot.None) })
	require.NoError(t, snapshot.Load(bytes.NewReader(goodImage), x.World, x.options(0)), at)
}

var (
	good      sync.Once
	goodImage []byte
)

// mustRefuse loads bytes that are not to be loaded, and checks that the world is as new.
func mustRefuse(t *testing.T, image []byte, at int) {
	t.Helper()
	x := newPond()
	err := snapshot.Load(bytes.NewReader(image), x.World, x.options(0))
	known := false
	for _, r := range refusals {
		known = known || errors.Is(err, r)
	}
	if !known {
		t.Fatalf("%d: %v", at, err)
	}
	mustBeNew(t, x, at)
}

// step is how far apart the places are that a test tries: each, but in a short run, and fewer yet in
// the check build, where each world takes long to make.
func step(apart int) int {
	switch {
	case check.Enabled:
		return 5 * apart
	case testing.Short():
		return apart
	}
	return 1
}

// TestEveryTruncation loads each beginning of a snapshot.
func TestEveryTruncation(t *testing.T) {
	for _, how := range []snapshot.Compression{snapshot.None, snapshot.Zstd, snapshot.S2} {
		image := newPond().live().save(t, how)
		for n := 0; n < len(image); n += step(5) {
			mustRefuse(t, image[:n], n)
		}
		x := newPond()
		rest := bytes.NewReader(append(image, 1, 2, 3))
		require.NoError(t, snapshot.Load(iotest.OneByteReader(rest), x.World, x.options(0)))
		require.Equal(t, 3, rest.Len(), "nothing behind it is read")
	}
}

// TestEveryBitFlip loads a snapshot with each bit of it flipped.
func TestEveryBitFlip(t *testing.T) {
	for _, how := range []snapshot.Compression{snapshot.None, snapshot.Zstd} {
		image := newPond().live().save(t, how)
		for i := 0; i < 8*len(image); i += step(19) {
			image[i/8] ^= 1 << (i % 8)
			mustRefuse(t, image, i)
			image[i/8] ^= 1 << (i % 8)
		}
	}
}

// TestBehindChecksums changes bytes and makes the checksums right again: what is loaded then is
// refused, or a world that can be used.
func TestBehindChecksums(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 3))
	image := newPond().live().save(t, snapshot.None)
	loaded := 0
	for range 3000 / step(4) {
		changed := bytes.Clone(image)
		for range 1 + dice.IntN(3) {
			changed[12+dice.IntN(len(changed)-12)] = [...]byte{0, 1, 2, 0x7f, 0xff, byte(dice.IntN(256))}[dice.IntN(6)]
		}
		if try(t, snapshot.Repair(changed)) {
			loaded++
		}
	}
	require.NotZero(t, loaded)
	require.True(t, try(t, snapshot.Repair(image)))
}

// try loads bytes that need not be a snapshot, and uses the world if that worked.
func try(t testing.TB, image []byte) bool { return tryFrom(t, bytes.NewReader(image)) }

func tryFrom(t testing.TB, src io.Reader) bool {
	x := newPond()
	world.Register[Tag](x.World, "tag") // so that the hash is another anyway
	o := x.options(0)
	if err := snapshot.Load(src, x.World, o); err != nil {
		return false
	}
	s := scheduler.New(x.World, scheduler.Options{Workers: 1})
	require.NoError(t, s.Step(t.Context()))
	_, err := x.plain.Create(x.World, Plain{})
	_ = err // all versions may be used up
	x.Query().Destroy()
	x.Refresh()
	p, err := x.OpenPort()
	require.NoError(t, err)
	_, _ = x.plain.Create(p, Plain{})
	x.Refresh()
	_, err = state.StateHash(x.World, codecs())
	require.NoError(t, err)
	return true
}

// TestBytesMax refuses a snapshot whose chunks have room for more than a limit, before they are
// made.
func TestBytesMax(t *testing.T) {
	if check.Enabled {
		t.Skip("one goroutine does this, and it takes long with the checks")
	}
	x := newPond()
	require.NoError(t, x.plain.Reserve(x.World, 16_000))
	image := x.save(t, snapshot.None)
	require.Less(t, len(image), 300_000)
	y := newPond()
	err := snapshot.Load(bytes.NewReader(image), y.World, y.options(0))
	require.ErrorIs(t, err, snapshot.ErrTooLarge)
	require.ErrorContains(t, err, "BytesMax = 1048576")
	require.NoError(t, snapshot.Load(bytes.NewReader(image), y.World, snapshot.Options{Codecs: codecs()}))
	require.Equal(t, image, y.save(t, snapshot.None), "what was reserved is")
}

// otherPond returns a snapshot of a world like a pond, whose types are others.
func otherPond(f *testing.F) []byte {
	type body struct {
		Sum   uint16
		Loud  [2]bool
		Small uint8
	}
	type extra struct{ N int8 }
	w := world.MustNew(world.Options{Shards: 2, ChunkRowsFirst: 2, ChunkRowsMax: 4, IndexMax: 20_000})
	world.Register[body](w, "body")
	world.Register[extra](w, "extra")
	world.RegisterMessage[struct{ Damage uint8 }](w, "hit")
	if err := world.NewBundle[struct {
		body
		extra
	}](w).CreateN(w, 5, nil); err != nil {
		f.Fatal(err)
	}
	var image bytes.Buffer
	if err := snapshot.Write(&image, w, snapshot.Options{Compression: snapshot.None}); err != nil {
		f.Fatal(err)
	}
	x := newPond()
	if err := snapshot.Load(bytes.NewReader(image.Bytes()), x.World, x.options(0)); err != nil {
		f.Fatal(err)
	}
	return image.Bytes()
}

// FuzzLoad loads bytes, with the checksums that they should have.
func FuzzLoad(f *testing.F) {
	image := newPond().live().save(f, snapshot.None)
	f.Add(image)
	f.Add(newPond().live().save(f, snapshot.Zstd))
	f.Add(newPond().live().save(f, snapshot.S2))
	f.Add(otherPond(f))
	for _, at := range snapshot.SectionsOf(image) {
		f.Add(image[:at])
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		_, _ = snapshot.Inspect(bytes.NewReader(image))
		_, _ = snaptext.Compare(bytes.NewReader(snapshot.Repair(image)), bytes.NewReader(image), 10)
		try(t, image)
		try(t, snapshot.Repair(image))
	})
}
