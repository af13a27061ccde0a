package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestSnapshotMerge merges the increments of a directory, and tells what they are.
func TestSnapshotMerge(t *testing.T) {
	path := t.TempDir()
	dir := snapshot.Dir{Path: path, Increments: 2}
	w := world.MustNew(world.Options{Shards: 2})
	bundle := world.NewBundle[struct{}](w)
	var files []string
	for range 3 {
		require.NoError(t, bundle.CreateN(w, 5, nil))
		w.Refresh()
		file, err := dir.Save(w, snapshot.Options{})
		require.NoError(t, err)
		files = append(files, file)
	}
	for _, kind := range []string{"info", "verify"} {
		r := atoll(t.Context(), "snapshot", kind, path)
		require.Zero(t, r.code, r.stdout)
		require.Regexp(t, `(?s)1\.snapshot: tick 1, 5 ent.* bytes\n.*2\.increment: tick 2, 10 .* bytes, an increment on tick 1\n.*3\.increment: tick 3, 15 .* on tick 2\n$`, r.stdout)
	}
	r := atoll(t.Context(), "snapshot", "diff", files[0], files[2])
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stdout, "10 created, 0 destroyed")

	out := filepath.Join(t.TempDir(), "whole")
	r = atoll(t.Context(), append([]string{"snapshot", "merge", out}, files...)...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "whole: tick 3, 15 entities, of 3 files\n")
	r = atoll(t.Context(), "snapshot", "diff", out, files[2])
	require.Zero(t, r.code, r.stdout)

	for want, args := range map[string][]string{
		"file already exists":                            {out, files[0]},
		"it is an increment on that of tick 2 with hash": {out + "2", files[0], files[2]},
		"no such file":                                   {out + "2", filepath.Join(path, "x")},
	} {
		r := atoll(t.Context(), append([]string{"snapshot", "merge"}, args...)...)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stderr, want)
	}
	require.Equal(t, exitUsage, atoll(t.Context(), "snapshot", "merge", out).code)
	left, err := os.ReadDir(filepath.Dir(out))
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.NoError(t, os.Remove(files[1]))
	r = atoll(t.Context(), "snapshot", "verify", path)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stdout, "3.increment: snapshot: not with its base")
}
