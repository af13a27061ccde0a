package mem_test

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// TestHasPointers asks of every kind of type whether the collector follows
// anything in it.
func TestHasPointers(t *testing.T) {
	type plain struct {
		A int
		B [3]float32
		C struct{ D complex128 }
		E uintptr
		F handle.Handle
	}
	for want, values := range map[bool][]any{
		false: {
			true, int8(1), uint64(1), uintptr(1), 1.5, complex64(1), [2]int{}, struct{}{}, plain{}, [4]plain{}, [0]string{},
			[0]*int{}, struct{ A [0][]int }{}, handle.None,
		},
		true: {
			"", new(int), []int{}, map[int]int{}, func() {}, make(chan int), [1]string{}, struct{ S string }{},
			struct {
				plain
				P *int
			}{}, struct{ I any }{}, unsafe.Pointer(nil), struct{ E error }{},
		},
	} {
		for _, v := range values {
			require.Equal(t, want, mem.HasPointers(reflect.TypeOf(v)), "%T", v)
		}
	}
}
