package store_test

import (
	"os"
	"strconv"
	"strings"
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
			require.Contains(t, flagsOf(t, uintptr(unsafe.Pointer(&last.Handles()[0]))), "hg")
		}
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
