package snapshot_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/world"
)

// link is a file of a chain, and the whole snapshot of the same state.
type link struct{ file, whole []byte }

// save captures a world and saves it to the chain.
func (l *link) save(t testing.TB, chain *snapshot.Chain, w *world.World, o snapshot.Options) {
	t.Helper()
	c, err := snapshot.Capture(w, o)
	require.NoError(t, err)
	defer c.Release()
	var file, whole bytes.Buffer
	require.NoError(t, chain.Write(&file, c))
	require.NoError(t, c.Write(&whole))
	l.file, l.whole = file.Bytes(), whole.Bytes()
}

// mergeOf returns the reader of what links make, of which the first is whole.
func mergeOf(links []link) io.Reader {
	var all []io.Reader
	for _, l := range links {
		all = append(all, bytes.NewReader(l.file))
	}
	return snapshot.Merge(all[0], all[1:]...)
}

func merged(t testing.TB, links []link) []byte {
	t.Helper()
	image, err := io.ReadAll(mergeOf(links))
	require.NoError(t, err)
	return image
}

// TestChain saves random histories as chains: what the files make is, byte for byte, what Save
// writes at each of the states, also if a part of the chain was merged before, or the compression
// changes.
func TestChain(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 7))
			one := newSea(t, options(), 2)
			one.openPorts()
			var chain snapshot.Chain
			var links []link
			for range 6 {
				for range dice.IntN(4) {
					one.send(dice, dice.IntN(60))
					one.step()
				}
				one.meddle(dice, dice.IntN(20))
				one.options.Compression = snapshot.Compression(dice.IntN(3))
				one.options.Workers = 1 + dice.IntN(3)
				if dice.IntN(5) == 0 {
					one.options.Extras = nil
				}
				var l link
				l.save(t, &chain, one.World, one.options)
				links = append(links, l)
				require.Equal(t, l.whole, merged(t, links))
			}
			for k := range links {
				first := merged(t, links[:k+1])
				require.Equal(t, links[k].whole, first)
				rest := append([]link{{file: first}}, links[k+1:]...)
				require.Equal(t, links[len(links)-1].whole, merged(t, rest), "a chain goes on from what was merged")
			}
			info, err := snapshot.Verify(mergeOf(links))
			require.NoError(t, err)
			require.Equal(t, one.Tick(), info.Tick)
			same, err := snaptext.Compare(mergeOf(links), bytes.NewReader(links[len(links)-1].whole), 0)
			require.NoError(t, err)
			require.True(t, same.Equal(), same)
			x := newSea(t, options(), 2)
			x.options.Extras = one.options.Extras
			require.NoError(t, snapshot.Load(mergeOf(links), x.World, x.options))
			require.Equal(t, one.hash(), x.hash())
		})
	}
}

// TestSmallIncrement saves a large world of which little has changed.
func TestSmallIncrement(t *testing.T) {
	w, bundle := newAgents(t)
	const agents = 50_000
	hs, err := bundle.AppendN(nil, w, agents, func(i int, a *Agent) {
		*a = Agent{Place{float64(i), rand.Float64()}, Motion{rand.Float64(), 1}, Life{int32(i), 100, handle.None}}
	})
	require.NoError(t, err)
	var chain snapshot.Chain
	var links []link
	save := func() int {
		var l link
		l.save(t, &chain, w, snapshot.Options{Compression: snapshot.None})
		links = append(links, l)
		require.Equal(t, l.whole, merged(t, links))
		return len(l.file)
	}
	whole := save()
	require.Greater(t, whole, 56*agents)
	w.Refresh()
	require.Less(t, save(), 12_000, "nothing has changed but the tick")
	for i := range 50 {
		world.Write[Motion](w).Get(hs[i*1000]).X++
	}
	w.Refresh()
	require.Less(t, save(), 12_000+50*600)
	for _, h := range hs[:50] {
		w.Destroy(h)
	}
	w.Refresh()
	require.Less(t, save(), 100_000)
	require.NoError(t, bundle.CreateN(w, 100, nil))
	w.Refresh()
	require.Less(t, save(), 200_000)
}

// TestChainErrors writes to what fails: the chain goes on as if that save had not been.
func TestChainErrors(t *testing.T) {
	x := newPond().live()
	var chain snapshot.Chain
	links := make([]link, 3)
	links[0].save(t, &chain, x.World, x.options(0))
	for i := 1; i < 3; i++ {
		x.Refresh()
		c, err := snapshot.Capture(x.World, x.options(0))
		require.NoError(t, err)
		room := failing(i * 200)
		require.ErrorIs(t, chain.Write(&room, c), errFull)
		c.Release()
		require.ErrorIs(t, chain.Write(io.Discard, c), world.ErrClosed)
		links[i].save(t, &chain, x.World, x.options(0))
		require.Equal(t, links[i].whole, merged(t, links[:i+1]))
	}
}

// mustSayBase checks that an increment alone is refused, by all that read snapshots.
func mustSayBase(t *testing.T, image []byte, want string) {
	t.Helper()
	x := newPond()
	_, planned := snapshot.PlanLoad(bytes.NewReader(image), x.World, x.options(0))
	_, files := snapshot.PlanFiles(bytes.NewReader(image), bytes.NewReader(image), x.options(0))
	_, compared := snaptext.Compare(bytes.NewReader(image), bytes.NewReader(image), 0)
	_, verified := snapshot.Verify(bytes.NewReader(image))
	for _, err := range []error{snapshot.Load(bytes.NewReader(image), x.World, x.options(0)), planned, files, compared, verified} {
		require.ErrorIs(t, err, snapshot.ErrBase)
		require.ErrorContains(t, err, want)
		require.NoError(t, x.Err())
	}
}

// TestBase refuses files that do not belong together, and says what they need.
func TestBase(t *testing.T) {
	chainOf := func(spare int) []link {
		x := newPond().live()
		var chain snapshot.Chain
		links := make([]link, 4)
		for i := range links {
			o := x.options(0)
			o.Extras = []snapshot.Extra{{Name: "spare", Append: func(dst []byte) []byte { return append(dst, byte(spare)) }, Read: func([]byte) error { return nil }}}
			links[i].save(t, &chain, x.World, o)
			x.Refresh()
		}
		return links
	}
	a, b := chainOf(1), chainOf(2) // the same ticks and hashes
	info, err := snapshot.Inspect(bytes.NewReader(a[2].file))
	require.NoError(t, err)
	below, err := snapshot.Inspect(bytes.NewReader(a[1].whole))
	require.NoError(t, err)
	require.True(t, info.Increment)
	require.Equal(t, below.Tick, info.BaseTick)
	require.Equal(t, below.Hash, info.BaseHash)
	mustSayBase(t, a[2].file, fmt.Sprintf("it is an increment on that of tick %d with hash %v", below.Tick, below.Hash))

	for want, links := range map[string][]link{
		"the snapshot before it is that of tick 1 with hash": {a[0], a[2]},
		"it is an increment on that of tick 3 with hash":     {a[0], a[1], a[3]},
		"is of that tick and hash, and yet another":          {b[0], a[1]},
		"(of increment 2)":                                                            {a[0], a[1], b[2]},
		"pass both to Merge (of the base)":                                            {a[1], a[2]},
		"it is whole, and so the first of a chain (of increment 1)":                   {a[0], a[0]},
		"the snapshot before it is that of tick 2":                                    {a[0], a[1], a[1]},
		"it is an increment on that of tick 1 with hash " + hashOf(t, a[0]) + ", and": {a[0], a[1], a[2], a[1]}, // a cycle
	} {
		for _, err := range errorsOf(links) {
			require.ErrorIs(t, err, snapshot.ErrBase, want)
			require.ErrorContains(t, err, want)
		}
	}
	require.Equal(t, a[0].whole, merged(t, a[:1]), "one alone")
	twice := mergeOf(a)
	_, err = snapshot.Inspect(twice)
	require.NoError(t, err)
	_, err = snapshot.Verify(twice)
	require.ErrorContains(t, err, "is read already")
	require.ErrorIs(t, errorsOf([]link{{file: []byte("something else")}})[0], snapshot.ErrNoSnapshot)
}

func hashOf(t *testing.T, l link) string {
	t.Helper()
	info, err := snapshot.Inspect(bytes.NewReader(l.whole))
	require.NoError(t, err)
	return info.Hash.String()
}

// errorsOf merges links, as bytes and without writing them.
func errorsOf(links []link) []error {
	_, read := io.ReadAll(mergeOf(links))
	_, verified := snapshot.Verify(mergeOf(links))
	return []error{read, verified}
}

// TestMergeBad merges chains of which a file is cut off, or has another bit somewhere.
func TestMergeBad(t *testing.T) {
	x := newPond().live()
	var chain snapshot.Chain
	links := make([]link, 3)
	for i := range links {
		links[i].save(t, &chain, x.World, x.options(snapshot.None))
		x.live()
		x.Refresh()
	}
	for at := range links {
		changed := append([]link{}, links...)
		for n := 0; n < len(links[at].file); n += step(7) {
			changed[at].file = links[at].file[:n]
			mustNotMerge(t, changed, n)
		}
		image := bytes.Clone(links[at].file)
		changed[at].file = image
		for i := 0; i < 8*len(image); i += 3 * step(19) {
			image[i/8] ^= 1 << (i % 8)
			mustNotMerge(t, changed, i)
			image[i/8] ^= 1 << (i % 8)
		}
	}
	require.Equal(t, links[2].whole, merged(t, links))
}

func mustNotMerge(t *testing.T, links []link, at int) {
	t.Helper()
	for _, err := range errorsOf(links) {
		if err == nil {
			t.Fatalf("%d: it is merged", at)
		}
	}
	x := newPond()
	if err := snapshot.Load(mergeOf(links), x.World, x.options(0)); err == nil {
		t.Fatalf("%d: it is loaded", at)
	}
}

// TestMergeBounded refuses an increment that takes bytes of its base twice, or that are not there:
// so a small file makes no large one.
func TestMergeBounded(t *testing.T) {
	x := newPond().live()
	var chain snapshot.Chain
	links := make([]link, 2)
	for i := range links {
		links[i].save(t, &chain, x.World, x.options(snapshot.None))
	}
	for want, body := range map[string][]byte{
		"20 bytes at 3 of section 1 of its base are not there, or are used already": {20<<1 | 1, 1, 0, 20<<1 | 1, 1, 3},
		"1 bytes at 0 of section 0 of its base are not there":                       {20<<1 | 1, 1, 0, 1<<1 | 1, 0, 0},
		"60 bytes at 0 of section 90 of its base are not there":                     {60<<1 | 1, 90, 0},
		"bytes at 0 of section 1 of its base are not there":                         {255<<1&255 | 1, 127, 1, 0},
		"section 'N' 0, at byte":                                                    {0x80},
	} {
		changed := []link{links[0], {file: snapshot.Exchange(links[1].file, 'N', func([]byte) []byte { return body })}}
		for _, err := range errorsOf(changed) {
			require.ErrorIs(t, err, snapshot.ErrAltered, want)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "(of increment 1)")
		}
	}
}

// FuzzMerge merges bytes with checksums as they should be, and loads what they make.
func FuzzMerge(f *testing.F) {
	x := newPond().live()
	var chain snapshot.Chain
	links := make([]link, 3)
	for i, how := range []snapshot.Compression{snapshot.None, snapshot.None, snapshot.Zstd} {
		links[i].save(f, &chain, x.World, x.options(how))
		x.live()
		x.Refresh()
	}
	f.Add(links[0].file, links[1].file, links[2].file)
	f.Add(links[0].file, links[1].file, links[1].file)
	f.Add(links[0].file, links[0].file, links[2].file)
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		for _, repair := range []func([]byte) []byte{bytes.Clone, snapshot.Repair} {
			links := []link{{file: repair(a)}, {file: repair(b)}, {file: repair(c)}}
			image, err := io.ReadAll(mergeOf(links))
			if err == nil {
				if _, err := snapshot.Verify(bytes.NewReader(image)); err != nil {
					t.Fatal("what was merged is not whole:", err)
				}
			}
			tryFrom(t, mergeOf(links))
		}
	})
}
