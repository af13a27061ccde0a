package world_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
)

// TestRefused compiles each file of testdata/refused, which misuses a type, and
// sees that the compiler refuses it at the marked line and nowhere else.
func TestRefused(t *testing.T) {
	if check.Enabled {
		t.Skip("the compiler sees the same")
	}
	files, err := filepath.Glob("testdata/refused/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var want []string
			for i, line := range strings.Split(string(text), "\n") {
				if strings.HasSuffix(line, "// refused") {
					want = append(want, fmt.Sprintf("%s:%d:", filepath.Base(file), i+1))
				}
			}
			require.Len(t, want, 1, "mark the one line that is refused")
			out, err := exec.Command("go", "build", "-o", os.DevNull, "./"+file).CombinedOutput()
			require.Error(t, err, "it compiles")
			var got []string
			for _, line := range strings.Split(string(out), "\n") {
				if strings.Contains(line, filepath.Base(file)+":") {
					got = append(got, line)
				}
			}
			require.Len(t, got, 1, "%s", out)
			require.Contains(t, got[0], want[0], "%s", out)
		})
	}
}
