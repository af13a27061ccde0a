package world_test

import (
	"encoding/json"
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
// sees that the compiler refuses it at the marked line and nowhere else. One go command
// compiles them all: an overlay makes each a package.
func TestRefused(t *testing.T) {
	if check.Enabled {
		t.Skip("the compiler sees the same")
	}
	files, err := filepath.Glob("testdata/refused/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	here, err := os.Getwd()
	require.NoError(t, err)
	build, replace := []string{"build", "-overlay", filepath.Join(t.TempDir(), "overlay.json")}, map[string]string{}
	for _, file := range files {
		dir := strings.TrimSuffix(file, ".go")
		build = append(build, "./"+dir)
		replace[filepath.Join(here, dir, filepath.Base(file))] = filepath.Join(here, file)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(build[2], overlay, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", build...).CombinedOutput()
	require.Error(t, err, "all compile")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var want []string
			for i, line := range strings.Split(string(text), "\n") {
				if strings.HasSuffix(line, "// refused") {
					want = append(want, fmt.Sprintf("%s:%d:", filepath.Base(file), i+1))
				}
			}
			require.Len(t, want, 1, "mark the one line that is refused")
			var got []string
			for _, line := range strings.Split(string(out), "\n") {
				if strings.Contains(line, "/"+filepath.Base(file)+":") {
					got = append(got, line)
				}
			}
			require.Len(t, got, 1, "it compiles, or more of it is refused: %s", out)
			require.Contains(t, got[0], want[0], "%s", out)
		})
	}
}
