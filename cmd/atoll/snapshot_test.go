package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot"
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
		"say info, verify, plan, diff, merge, export": {},
		"name a file":                {"info"},
		"flag provided but not defi": {"info", "-x"},
		"save or load\natoll":        {"tell", path},
	} {
		r := atoll(t.Context(), append([]string{"snapshot"}, args...)...)
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.stderr, want)
	}
	for want, args := range map[string][]string{"name two files": {"plan", path}, "want a whole number from 0": {"diff", "-limit", "-1", path, path}} {
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
	require.Contains(t, r.stdout, "Usage: atoll snapshot <word> [flags]")
	for word := range snapshotWords {
		r = atoll(t.Context(), "snapshot", word, "-help")
		require.Zero(t, r.code, word)
		require.Contains(t, r.stdout, "Usage: atoll snapshot "+word+" ")
		require.Equal(t, 1, strings.Count(r.stdout, "Usage:"), word)
	}
}

type (
	ship    struct{ Speed, Mass float32 }
	shipNow struct{ Speed float64 }
)

// saveShips saves a world with one kind of component.
func saveShips[T any](t *testing.T, name string, n int) (path string) {
	t.Helper()
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[T](w, "ship")
	require.NoError(t, world.NewBundle[struct{ V T }](w).CreateN(w, n, nil))
	path = filepath.Join(t.TempDir(), name)
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, snapshot.Write(file, w, snapshot.Options{}))
	require.NoError(t, file.Close())
	return path
}

// TestSnapshotsOfTwo plans a load, and tells what differs.
func TestSnapshotsOfTwo(t *testing.T) {
	old, now := saveShips[ship](t, "old.snapshot", 2), saveShips[shipNow](t, "new.snapshot", 3)
	r := atoll(t.Context(), "snapshot", "plan", old, now)
	require.Equal(t, exitFailed, r.code, r.stderr)
	require.Equal(t, `loads    component "ship", field Speed (float32 → float64): is converted
refuses  component "ship", field Mass (float32): is not in this world: say RenamedField("ship", "Mass", …), or give a Migrated; Dropped("ship", "Mass") LOSES IT IN 2 ENTITIES
2 differences, 1 refused
`, r.stdout)
	r = atoll(t.Context(), "snapshot", "plan", "-json", old, old)
	require.Zero(t, r.code)
	require.Empty(t, r.stdout)

	r = atoll(t.Context(), "snapshot", "diff", old, old)
	require.Zero(t, r.code)
	require.Equal(t, "0 created, 0 destroyed, 0 moved, 0 changed\n", r.stdout)
	r = atoll(t.Context(), "snapshot", "diff", "-limit", "1", old, filepath.Dir(now))
	require.Equal(t, exitFailed, r.code, r.stderr)
	require.Regexp(t, `^option "hash" .*: differs\n… and \d+ more\n1 created, 0 destroyed, 0 moved, 2 changed\n$`, r.stdout)
	r = atoll(t.Context(), "snapshot", "diff", "-json", "-limit", "0", old, now)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stdout, `"Field":"ship.Mass","Was":"0","Is":"","Text":"is in the old one alone"`)

	r = atoll(t.Context(), "snapshot", "diff", old, filepath.Join(t.TempDir(), "none"))
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "no such file")
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("no"), 0o600))
	r = atoll(t.Context(), "snapshot", "plan", old, broken)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "of the new one")
}
