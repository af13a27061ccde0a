package names_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
)

// number is a name that has a text of its own.
type number int64

func (number) String() string { return "a number" }

// TestTextOf tells names of all kinds as text.
func TestTextOf(t *testing.T) {
	f := newFixture(t, 2, names.Options{})
	ids, numbers, keys := names.New[[16]byte](f.World, "ids", names.Options{}), names.New[number](f.World, "numbers", names.Options{}), names.New[uint64](f.World, "keys", names.Options{})
	hs := f.make(2)
	require.NoError(t, f.names.Bind(f.World, hs[0], "anna"))
	require.NoError(t, ids.Bind(f.World, hs[0], [16]byte{1, 0xab}))
	require.NoError(t, numbers.Bind(f.World, hs[0], 7))
	require.NoError(t, keys.Bind(f.World, hs[0], 1<<63))
	var got []string
	for _, x := range engine.Of(f.World).Survey().Extensions() {
		text, ok := x.(extend.Naming).TextOf(hs[0])
		require.True(t, ok)
		got = append(got, text)
		_, ok = x.(extend.Naming).TextOf(hs[1])
		require.False(t, ok)
	}
	require.Equal(t, []string{"anna", "01ab0000000000000000000000000000", "a number", "9223372036854775808"}, got)
}
