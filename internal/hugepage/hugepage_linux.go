package hugepage

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// sizeMost is the largest huge page that is useful: memory is asked for in whole huge pages, and
// the Go heap grows by at least 4 MB.
const sizeMost = 4 << 20

// Size returns the bytes of a huge page, or 0 if the kernel has none of a useful size.
var Size = sync.OnceValue(func() uintptr {
	b, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n > sizeMost || n&(n-1) != 0 {
		return 0
	}
	return uintptr(n)
})

// Ask asks for the huge page that begins at an address, a multiple of Size, and reports whether the
// kernel accepted the hint. It takes a microsecond. Any goroutine may call it.
func Ask(at uintptr) bool {
	_, _, err := syscall.Syscall(syscall.SYS_MADVISE, at, Size(), syscall.MADV_HUGEPAGE)
	return err == 0
}
