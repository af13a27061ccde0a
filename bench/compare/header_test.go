package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCommit checks when a working directory counts as what was committed.
func TestCommit(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name string) { require.NoError(t, os.WriteFile(name, []byte(name+t.Name()), 0o644)) }
	run := func(args ...string) {
		out, err := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	assert.Equal(t, "unknown", commit(""), "no repository")
	run("init", "-q")
	write("code.go")
	run("add", ".")
	run("commit", "-q", "-m", "x")
	clean := commit("")
	assert.Len(t, clean, 12)

	assert.Equal(t, clean, commit("/elsewhere/page.md"), "what is outside of the repository")
	require.NoError(t, os.Mkdir("docs", 0o755))
	write("docs/page.md")
	assert.Equal(t, clean+" dirty", commit(""))
	assert.Equal(t, clean, commit("docs/page.md"), "what the command writes itself")
	write("more.go")
	assert.Equal(t, clean+" dirty", commit("docs/page.md"))
}

func TestHeader(t *testing.T) {
	h := newHeader("")
	for _, line := range h.lines() {
		assert.Regexp(t, `^(commit|CPU|Go|GOMAXPROCS|date|command): .+`, line)
	}
	assert.Len(t, h.lines(), 6)
}
