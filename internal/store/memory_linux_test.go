package store_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/hugepage"
	"github.com/atoll-sim/atoll/internal/slots"
)

// TestHugePages looks up what the kernel noted of the memory of rows and slots.
func TestHugePages(t *testing.T) {
	if hugepage.Size() == 0 {
		t.Skip("this kernel has no huge pages")
	}
	for _, ask := range []bool{false, true} {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		s.space.Memory.HugePages = ask
		s.mustCreate(s.shards[0], 10*slots.RowsMax)
		require.Equal(t, ask, s.space.Memory.Asked() > 0)
		chunks := s.shards[0].Table(set(number)).Chunks()
		last := chunks[len(chunks)-1]
		require.Equal(t, slots.RowsMax, last.Cap())
		if ask {
			skipWithoutAdvice(t)
			require.Contains(t, flagsOf(t, uintptr(unsafe.Pointer(&last.Handles()[0]))), "hg")
		}
	}
}

// skipWithoutAdvice skips a test of what the kernel notes of madvise under an emulator such as
// qemu-aarch64-static 7.2, which tells the program that all is well, and does not ask the kernel.
// Kernels refuse an advice that there is not.
func skipWithoutAdvice(t *testing.T) {
	const noSuch = 12345
	page := make([]byte, 2*os.Getpagesize())
	at := (uintptr(unsafe.Pointer(&page[0])) + uintptr(os.Getpagesize()) - 1) &^ uintptr(os.Getpagesize()-1)
	if _, _, err := syscall.Syscall(syscall.SYS_MADVISE, at, uintptr(os.Getpagesize()), noSuch); err == 0 {
		t.Skip("an emulator, as qemu-user is, answers madvise without asking the kernel")
	}
}

// flagsOf returns the flags of the mapping that an address is in.
func flagsOf(t *testing.T, at uintptr) string {
	b, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	in := false
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, " ")
		if from, to, ok := strings.Cut(name, "-"); ok {
			low, err := strconv.ParseUint(from, 16, 64)
			if err != nil {
				continue
			}
			high, err := strconv.ParseUint(to, 16, 64)
			in = err == nil && low <= uint64(at) && uint64(at) < high
		}
		if in && name == "VmFlags:" {
			return rest
		}
	}
	t.Fatalf("no mapping has address %x", at)
	return ""
}
