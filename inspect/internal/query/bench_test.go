package query

import (
	"fmt"
	"testing"

	"github.com/atoll-sim/atoll/internal/mem"
)

// BenchmarkKeep tests the rows of a full chunk.
func BenchmarkKeep(b *testing.B) {
	values, which := make([][3]int, 1024), make([]uint16, 1024)
	for i := range values {
		values[i][1] = i * 7919 % 100
	}
	cells := mem.CellsOf(values)
	first, step := cells.Part(8), cells.Type.Size()
	for _, by := range []op{opLess, opGreaterEqual, opEqual} {
		b.Run(fmt.Sprint(ops[by]), func(b *testing.B) {
			for b.Loop() {
				for i := range which {
					which[i] = uint16(i)
				}
				keep(which, first, step, by, 50)
			}
		})
	}
}
