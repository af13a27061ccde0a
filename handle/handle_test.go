package handle_test

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
)

var (
	_ fmt.Stringer               = handle.None
	_ encoding.TextAppender      = handle.None
	_ encoding.TextMarshaler     = handle.None
	_ encoding.TextUnmarshaler   = (*handle.Handle)(nil)
	_ encoding.BinaryAppender    = handle.None
	_ encoding.BinaryMarshaler   = handle.None
	_ encoding.BinaryUnmarshaler = (*handle.Handle)(nil)
	_ json.Marshaler             = handle.None
	_ json.Unmarshaler           = (*handle.Handle)(nil)
)

// malformed is a value that New never returns: version 0, but not None.
const malformed = handle.Handle(1) << handle.VersionBits

// fields is the tuple that a handle packs.
type fields struct{ home, index, version uint32 }

func (f fields) handle() handle.Handle { return handle.New(f.home, f.index, f.version) }

func (f fields) compare(other fields) int {
	return cmp.Or(
		cmp.Compare(f.home, other.home),
		cmp.Compare(f.index, other.index),
		cmp.Compare(f.version, other.version))
}

// corners are all the tuples of extreme and middle fields.
func corners() (all []fields) {
	for _, home := range []uint32{0, 1, 3, handle.HomeMax - 1, handle.HomeMax} {
		for _, index := range []uint32{0, 1, 1047, handle.IndexMax - 1, handle.IndexMax} {
			for _, version := range []uint32{1, 2, 5, handle.VersionMax - 1, handle.VersionMax} {
				all = append(all, fields{home, index, version})
			}
		}
	}
	return all
}

// forEachRandom calls f with n random tuples, fewer under -short. Half of them
// have small fields, so that some fields are equal.
func forEachRandom(t *testing.T, n int, f func(r *rand.Rand, random func() fields)) {
	t.Helper()
	seed := seed.Of(t)
	r := rand.New(rand.NewPCG(seed, 0))
	random := func() fields {
		if r.IntN(2) == 0 {
			return fields{r.Uint32N(3), r.Uint32N(3), 1 + r.Uint32N(3)}
		}
		return fields{r.Uint32N(handle.HomeMax + 1), r.Uint32N(handle.IndexMax + 1), 1 + r.Uint32N(handle.VersionMax)}
	}
	if testing.Short() {
		n /= 10
	}
	for range n {
		f(r, random)
	}
}

func TestFields(t *testing.T) {
	check := func(f fields) {
		h := f.handle()
		require.Equal(t, f, fields{h.Home(), h.Index(), h.Version()})
		require.False(t, h.IsNone(), "%v", f)
	}
	for _, f := range corners() {
		check(f)
	}
	forEachRandom(t, 10_000, func(_ *rand.Rand, random func() fields) { check(random()) })
}

func TestNone(t *testing.T) {
	var zero handle.Handle
	require.Equal(t, handle.None, zero)
	require.True(t, zero.IsNone())
	require.Equal(t, fields{}, fields{zero.Home(), zero.Index(), zero.Version()})
	require.False(t, malformed.IsNone())
}

func TestNewPanics(t *testing.T) {
	const largest = ^uint32(0)
	for _, test := range []struct {
		name   string
		fields fields
		want   string
	}{
		{"home", fields{handle.HomeMax + 1, 0, 1}, "handle: home " + shardBeyond + " is out of range: the largest is HomeMax, " + shardLimit},
		{"home largest", fields{largest, 0, 1}, "handle: home 4294967295 is out of range: the largest is HomeMax, " + shardLimit},
		{"index", fields{0, handle.IndexMax + 1, 1}, "handle: index " + indexBeyond + " is out of range: the largest is IndexMax, " + indexLimit},
		{"index largest", fields{0, largest, 1}, "handle: index 4294967295 is out of range: the largest is IndexMax, " + indexLimit},
		{"version", fields{0, 0, handle.VersionMax + 1}, "handle: version " + versionBeyond + " is out of range: the largest is VersionMax, " + versionLimit},
		{"version largest", fields{0, 0, largest}, "handle: version 4294967295 is out of range: the largest is VersionMax, " + versionLimit},
		{"version 0", fields{3, 7, 0}, "handle: version 0 is out of range: versions start at 1; for no entity use None"},
		{"all 0", fields{}, "handle: version 0 is out of range: versions start at 1; for no entity use None"},
		{"index, all else largest", fields{handle.HomeMax, handle.IndexMax + 1, 1}, "handle: index " + indexBeyond + " is out of range: the largest is IndexMax, " + indexLimit},
		{"version, all else largest", fields{handle.HomeMax, handle.IndexMax, handle.VersionMax + 1}, "handle: version " + versionBeyond + " is out of range: the largest is VersionMax, " + versionLimit},
		{"version 0, all else largest", fields{handle.HomeMax, handle.IndexMax, 0}, "handle: version 0 is out of range: versions start at 1; for no entity use None"},
		{"all, names the first", fields{largest, largest, largest}, "handle: home 4294967295 is out of range: the largest is HomeMax, " + shardLimit},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				err, ok := recover().(error)
				require.True(t, ok, "the panic value is an error")
				require.EqualError(t, err, test.want)
				require.ErrorIs(t, err, handle.ErrRange)
				require.False(t, errors.Is(err, handle.ErrSyntax))
			}()
			test.fields.handle()
		})
	}
}

// TestOrder checks that the numeric order, Compare and the order of the field
// tuples are one, with None first.
func TestOrder(t *testing.T) {
	check := func(f, g fields) {
		a, b, want := f.handle(), g.handle(), f.compare(g)
		require.Equal(t, want, a.Compare(b), "%v, %v", a, b)
		require.Equal(t, want, cmp.Compare(uint64(a), uint64(b)), "%v, %v", a, b)
		require.Equal(t, want == 0, a == b, "%v, %v", a, b)
		require.Equal(t, +1, a.Compare(handle.None), "%v", a)
		require.Equal(t, -1, handle.None.Compare(a), "%v", a)
	}
	for _, f := range corners() {
		for _, g := range corners() {
			check(f, g)
		}
	}
	forEachRandom(t, 10_000, func(_ *rand.Rand, random func() fields) { check(random(), random()) })
	require.Zero(t, handle.None.Compare(handle.None))
}

func TestSort(t *testing.T) {
	hs := []handle.Handle{
		handle.New(1, 0, 1), handle.New(0, 2, 1), handle.None, handle.New(0, 1, 9), handle.New(0, 1, 10),
	}
	slices.SortFunc(hs, handle.Handle.Compare)
	require.Equal(t, "[none 0:1@9 0:1@10 0:2@1 1:0@1]", fmt.Sprint(hs))
}
