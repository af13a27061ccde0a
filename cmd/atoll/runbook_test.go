//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRunbook runs the commands of docs/operating.md, in their order, in one shell.
func TestRunbook(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds and builds a program")
	}
	page, err := os.ReadFile("../../docs/operating.md")
	require.NoError(t, err)
	script := []string{"set -eu"}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		script = append(script, string(block[1]))
	}
	require.Greater(t, len(script), 7)
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "bin", "atoll"), ".").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Join(script, "\n"))
	cmd.Dir = filepath.Join(dir, "server")
	require.NoError(t, os.Mkdir(cmd.Dir, 0o777))
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	cmd.WaitDelay = time.Second // if it fails, a server may run on
	out, err = cmd.CombinedOutput()
	said, _ := os.ReadFile(filepath.Join(cmd.Dir, "log")) // what it has, to be shown
	require.NoError(t, err, "%s\n%s", out, said)
	require.Contains(t, string(out), "the copy has all ticks before ")
	require.NotContains(t, string(said), "panic")
	t.Logf("%s\n%s", out, said)
}
