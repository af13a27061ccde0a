package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSnapshotSaveLoad saves a world, loads it, and finds in both what a run without an end would
// have.
func TestSnapshotSaveLoad(t *testing.T) {
	dir := t.TempDir()
	early, late := filepath.Join(dir, "early"), filepath.Join(dir, "late")
	save := func(name, ticks string, more ...string) string {
		args := append([]string{"snapshot", "save", "-creatures", "300", "-shards", "3", "-seed", "7", "-ticks", ticks}, more...)
		r := atoll(t.Context(), append(args, name)...)
		require.Zero(t, r.code, r.stderr)
		require.Empty(t, r.stderr)
		return r.stdout
	}
	hash := regexp.MustCompile(`hash [0-9a-f]{16}`)
	require.Regexp(t, `^.*early: tick 20, \d+ entities in 3 shards, hash `, save(early, "20", "-compression", "none", "-workers", "1"))
	want := hash.FindString(save(late, "50"))
	r := atoll(t.Context(), "snapshot", "load", "-ticks", "30", "-workers", "2", early)
	require.Zero(t, r.code, r.stderr+r.stdout)
	require.Equal(t, 2, strings.Count(r.stdout, "audit  entities  ok "))
	lines := regexp.MustCompile(`(?m)^tick (20|50), \d+ entities, hash `).FindAllString(r.stdout, -1)
	require.Len(t, lines, 2)
	r = atoll(t.Context(), "snapshot", "load", "-json", "-ticks", "1", late)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, strings.TrimPrefix(want, "hash "))
	require.Regexp(t, `^\{"tick":50,"entities":\d+,"hash":"[0-9a-f]{16}"\}\n\{"tick":51,`, r.stdout)
	require.Contains(t, r.stderr, "audit")

	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2, "nothing is left of what was written on the way")
	r = atoll(t.Context(), "snapshot", "save", "-ticks", "1", filepath.Join(dir, "none", "x"))
	require.Equal(t, exitFailed, r.code)
	r = atoll(t.Context(), "snapshot", "save", "-compression", "rar", early)
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, `there is no compression "rar"; say zstd, s2 or none`)
	r = atoll(t.Context(), "snapshot", "load", saveShips[ship](t, "ships", 2))
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, `atoll snapshot load: `)
}

// TestSnapshotText exports and imports, by files and standard output.
func TestSnapshotText(t *testing.T) {
	file := saveShips[ship](t, "ships.snapshot", 2)
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	text := filepath.Join(t.TempDir(), "text")
	r := atoll(t.Context(), "snapshot", "export", filepath.Dir(file), text)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout)
	lines, err := os.ReadFile(text)
	require.NoError(t, err)
	require.Contains(t, string(lines), `"components":{"ship":{"Speed":0,"Mass":0}}}`)
	for _, more := range [][]string{nil, {"-"}} {
		r := atoll(t.Context(), append([]string{"snapshot", "export", file}, more...)...)
		require.Equal(t, string(lines), r.stdout)
		r = atoll(t.Context(), append([]string{"snapshot", "import", text}, more...)...)
		require.Equal(t, string(want), r.stdout)
	}
	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, os.WriteFile(again, []byte("precious"), 0o600))
	require.NoError(t, os.WriteFile(text, bytes.Replace(lines, []byte(`"Mass":0`), []byte(`"Mass":"x"`), 1), 0o600))
	r = atoll(t.Context(), "snapshot", "import", text, again)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, `ship.Mass: "x" is no number`)
	left, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, "precious", string(left), "a good file is not replaced")
	r = atoll(t.Context(), "snapshot", "export", file, os.DevNull)
	require.Zero(t, r.code, r.stderr)
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.False(t, info.Mode().IsRegular())

	for _, word := range []string{"export", "import", "save", "load"} {
		r := atoll(t.Context(), "snapshot", word)
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.stderr, "atoll snapshot "+word+": name a file\natoll snapshot "+word+" -help")
		r = atoll(t.Context(), "snapshot", word, "a", "b", "c")
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.stderr, "unexpected argument")
		r = atoll(t.Context(), "snapshot", word, "-help")
		require.Zero(t, r.code)
		require.Contains(t, r.stdout, "Usage: atoll snapshot "+word+" ")
	}
}

// TestProgress tells how far something is, by a clock that the test has.
func TestProgress(t *testing.T) {
	var to bytes.Buffer
	now := time.Unix(0, 0)
	p := &progress{to: &to, now: func() time.Time { return now }, what: "reading", total: 300}
	add := func(after time.Duration, n int) string {
		now = now.Add(after)
		to.Reset()
		p.add(n)
		return to.String()
	}
	require.Empty(t, add(0, 100))
	require.Empty(t, add(barAfter-1, 50))
	require.Equal(t, "\rreading [===============               ]  50 %", add(1, 0))
	require.Empty(t, add(barEvery-1, 50))
	require.Equal(t, "\rreading [==============================] 100 %", add(1, 999))
	p.end()
	require.Contains(t, to.String(), "\x1b[K")
	p.total = 0
	require.Equal(t, "\rreading 2.0 MB", add(barEvery, 2_000_000-1199))
	none := newProgress(&to, "x")
	none.add(5)
	none.end()
	require.Nil(t, none.to, "no terminal")
}
