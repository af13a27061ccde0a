package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/internal/hash"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// What the benchmarks hash: 32 bytes without padding, 32 with.
type (
	dense  struct{ A, B, C, D float64 }
	padded struct {
		A uint64
		B uint32
		C uint64
		D uint8
	}
)

// BenchmarkStateHash reports how many bytes of components, handles and slots are
// hashed in a second.
func BenchmarkStateHash(b *testing.B) {
	b.Run("dense", func(b *testing.B) { benchmarkHash[dense](b) })
	b.Run("padded", func(b *testing.B) { benchmarkHash[padded](b) })
}

func benchmarkHash[T any](b *testing.B) {
	const n = 1 << 20
	w := world.MustNew(world.Options{})
	addRows[T](b, w, n)
	h := state.NewHasher(w, nil)
	b.SetBytes(n * (32 + 8 + 4))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.StateHash(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTurns hashes the parts whose turn it is, which recording does with each tick.
func BenchmarkTurns(b *testing.B) {
	w := world.MustNew(world.Options{})
	addRows[padded](b, w, 1<<20)
	turns := hash.NewTurns(w, nil)
	b.ReportAllocs()
	for b.Loop() {
		turns.Sum()
		b.StopTimer()
		w.Refresh()
		b.StartTimer()
	}
}

// bare is the bundle of addRows. A bundle for each component would be compiled for each.
type bare struct{}

// addRows creates n entities that have only a T.
func addRows[T any](t testing.TB, w *world.World, n int) {
	c, all := world.Register[T](w, "c"), world.NewBundle[bare](w)
	require.NoError(t, all.CreateN(w, n, nil))
	require.NoError(t, c.AddTo(w.Query(), nil))
}

// TestHashAllocates checks that a hasher that is warm allocates little: by the
// number of chunks, not of entities.
func TestHashAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build allocates")
	}
	f := newFixture(t, options()).populate(20_000)
	f.hash()
	require.Less(t, testing.AllocsPerRun(10, func() { f.hash() }), 300.0)
}
