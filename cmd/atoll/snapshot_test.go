package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestSnapshot tells what the files of a directory are, one of them damaged.
func TestSnapshot(t *testing.T) {
	path := t.TempDir()
	dir := snapshot.Dir{Path: path}
	w := world.MustNew(world.Options{Shards: 2})
	require.NoError(t, world.NewBundle[struct{}](w).CreateN(w, 5, nil))
	w.Refresh()
	whole, err := dir.Save(w, snapshot.Options{})
	require.NoError(t, err)
	info, err := os.Stat(whole)
	require.NoError(t, err)

	for _, kind := range []string{"info", "verify"} {
		r := atoll(t.Context(), "snapshot", kind, path)
		require.Zero(t, r.code, r.stderr)
		require.Regexp(t, fmt.Sprintf(`^%s: tick 1, 5 entities in 2 shards, hash [0-9a-f]{16}, %d bytes\n$`, whole, info.Size()), r.stdout)
	}
	bytes, err := os.ReadFile(whole)
	require.NoError(t, err)
	damaged := filepath.Join(path, "damaged")
	require.NoError(t, os.WriteFile(damaged, bytes[:len(bytes)-3], 0o600))
	r := atoll(t.Context(), "snapshot", "verify", "-json", whole, damaged)
	require.Equal(t, exitFailed, r.code)
	require.Regexp(t, `"entities":5.*\n.*damaged".*"error":".+"`, r.stdout)

	for want, args := range map[string][]string{
		"say info or verify":         {},
		"name a file":                {"info"},
		"flag provided but not defi": {"info", "-x"},
		"say info or verify\natoll":  {"tell", path},
	} {
		r := atoll(t.Context(), append([]string{"snapshot"}, args...)...)
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.stderr, want)
	}
	for want, path := range map[string]string{"none in the directory": t.TempDir(), "no such file": filepath.Join(path, "x")} {
		r := atoll(t.Context(), "snapshot", "info", path)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stderr, want)
	}
	r = atoll(t.Context(), "help", "snapshot")
	require.Zero(t, r.code)
	require.Contains(t, r.stdout, "Usage: atoll snapshot info|verify [flags]")
}
