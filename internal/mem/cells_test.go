package mem_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/mem"
)

// TestCells looks at values without knowing their type, and at parts of them.
func TestCells(t *testing.T) {
	type pair struct{ A, B uint16 }
	values := []pair{{1, 2}, {3, 4}}
	c := mem.CellsOf(values)
	require.Equal(t, []any{reflect.TypeFor[pair](), 2, true, 8, any(values)}, []any{c.Type, c.Len, c.Plain, len(c.Bytes), c.Values})
	require.Equal(t, uint16(2), *mem.As[uint16](c.Part(2)))
	values[0].B = 0x0201
	require.ElementsMatch(t, []byte{1, 2}, c.PartBytes(2, 2))
	require.ElementsMatch(t, []byte{1, 2}, c.Bytes[2:4])

	text := "x"
	c = mem.CellsOf([]*string{&text})
	require.Equal(t, []any{1, false, 0}, []any{c.Len, c.Plain, len(c.Bytes)})
	require.Same(t, &text, *mem.As[*string](c.Part(0)))

	one := mem.CellOf(&values[1])
	require.Equal(t, []any{reflect.TypeFor[pair](), 1}, []any{one.Type, one.Len})
	require.Equal(t, uint16(3), *mem.As[uint16](one.Part(0)))
	none := mem.CellsOf([]pair{})
	require.Empty(t, none.Bytes)
	for _, ports := range []func(){
		func() { none.Part(0) }, func() { none.PartBytes(0, 0) },
		func() { one.Part(5) }, func() { one.PartBytes(0, 5) }, func() { one.PartBytes(3, 2) },
	} {
		require.PanicsWithValue(t, "world: a part that is outside of its cells", ports)
	}
	first := mem.CellOf(&values[0])
	require.NotPanics(t, func() { first.Part(4) }, "a part of no size, at the end")
	require.NotPanics(t, func() { one.Part(3); one.PartBytes(0, 4); one.PartBytes(2, 2) })
}
