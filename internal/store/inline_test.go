package store_test

import (
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
)

// TestInlines reads what the compiler says: what is done for every entity must
// not cost a call. That it is so across packages, and for the generic ones, is
// for the test of the same name in package world.
func TestInlines(t *testing.T) {
	if check.Enabled {
		t.Skip("the compiler says the same as without the checks")
	}
	if strconv.IntSize < 64 {
		t.Skip("look-ups of 64-bit handles are calls here")
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{
		"(*Table).push", "(*Table).ensureRow", "(*Chunk).extend", "(*Chunk).place", "Rows.Len", "Rows.Handle", "Rows.Handles",
	} {
		t.Run(name, func(t *testing.T) {
			require.Regexp(t, regexp.MustCompile(`(?m)^\S+\.go:\d+:\d+: can inline `+regexp.QuoteMeta(name)+`$`), string(out))
		})
	}
}
