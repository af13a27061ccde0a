package mem_test

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/mem"
)

// TestLargeRunsAreTouched takes more than the heap has left from before, and asks the
// kernel which pages it gave.
func TestLargeRunsAreTouched(t *testing.T) {
	type page [4096]byte
	const n = 16 << 10 // 64 MB
	all := mem.Slice[page](new(mem.Memory).Take(mem.TypeOf[page](), n), n)
	given := make([]byte, n)
	at := uintptr(unsafe.Pointer(&all[0]))
	first := (at + 4095) &^ 4095 // a page begins there
	_, _, err := syscall.Syscall(syscall.SYS_MINCORE, first, n*4096-(first-at), uintptr(unsafe.Pointer(&given[0])))
	require.Zero(t, err)
	missing := 0
	for i := range int((n*4096 - (first - at)) / 4096) {
		if given[i]&1 == 0 {
			missing++
		}
	}
	require.Zero(t, missing, "of %d pages", n)
	for i := range all {
		require.Zero(t, all[i][0])
	}
}
