package cbor_test

import (
	"math"
	"testing"

	library "github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"
)

// TestOne accepts what the library writes, and neither a part of it nor more.
func TestOne(t *testing.T) {
	for _, v := range []any{
		0, 23, 24, -25, 1 << 20, uint64(math.MaxUint64), true, nil, 1.5, float32(2), "text", []byte{1, 2},
		[]any{1, "a", []any{}}, map[string]any{"a": 1, "b": map[int]string{-3: "x"}}, library.Tag{Number: 1, Content: "tagged"},
	} {
		src, err := library.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, cbor.One(src), "%v", v)
		rest, err := cbor.Skip(append(src, 7, 8))
		require.NoError(t, err)
		require.Equal(t, []byte{7, 8}, rest, "%v", v)
		require.ErrorIs(t, cbor.One(append(src, 7)), cbor.Err)
		for n := range src {
			require.ErrorIs(t, cbor.One(src[:n]), cbor.Err, "%v", v)
		}
	}
	require.ErrorIs(t, cbor.One(make([]byte, 0)), cbor.Err)
	deep := make([]byte, 1<<16)
	for i := range deep {
		deep[i] = cbor.Array<<5 | 1
	}
	require.ErrorIs(t, cbor.One(append(deep, 0)), cbor.Err, "nested too deep")
}

// TestHead writes heads as short as the library does, and reads them.
func TestHead(t *testing.T) {
	for _, n := range []uint64{0, 23, 24, math.MaxUint8, math.MaxUint8 + 1, math.MaxUint16, math.MaxUint16 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64} {
		want, err := library.Marshal(n)
		require.NoError(t, err)
		require.Equal(t, want, cbor.AppendHead(nil, 0, n))
		major, got, rest, err := cbor.Head(cbor.AppendHead(nil, cbor.Map, n))
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, byte(cbor.Map), major)
		require.Equal(t, n, got)
	}
	for name, is := range map[string]any{"7" + cbor.ByNumber: 7, "-7" + cbor.ByNumber: -7, "seven": "seven"} {
		want, err := library.Marshal(is)
		require.NoError(t, err)
		require.Equal(t, want, cbor.Key(name))
	}
}
