package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFollow copies the world of a demo, while it runs and when it has ended, and runs the copy.
func TestFollow(t *testing.T) {
	dir, copied := filepath.Join(t.TempDir(), "world"), filepath.Join(t.TempDir(), "copy")
	demo := func(ctx context.Context, dir string) result {
		return atoll(ctx, "demo", "-duration", "1s", "-bots", "5", "-creatures", "100", "-shards", "2", "-state", dir)
	}
	ran := make(chan result, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	followed := make(chan result, 1)
	go func() { ran <- demo(t.Context(), dir) }()
	for { // until there is a world
		if _, err := os.Stat(filepath.Join(dir, "incarnation")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	go func() { followed <- atoll(ctx, "follow", "-every", "20ms", dir, copied) }()
	r := <-ran
	require.Zero(t, r.code, r.stderr)
	stop()
	r = <-followed
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "behind by")
	require.Contains(t, r.stdout, "the copy has all ticks before ")

	r = atoll(t.Context(), "follow", "-once", dir, copied)
	require.Zero(t, r.code, r.stderr)
	r = atoll(t.Context(), "snapshot", "info", dir)
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `(?m)^\Q`+dir+`\E: incarnation 1$`, r.stdout)
	r = atoll(t.Context(), "snapshot", "info", "-json", dir)
	require.Contains(t, r.stdout, `{"incarnation":1,"path":`)
	r = demo(t.Context(), copied)
	require.Zero(t, r.code, r.stdout, r.stderr)

	r = atoll(t.Context(), "follow", "-once", dir, copied)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "is no copy of the source: it has a world of its own, or Open has taken it over")
	require.Equal(t, exitUsage, atoll(t.Context(), "follow", dir).code)
	require.Contains(t, atoll(t.Context(), "help", "follow").stdout, "Usage: atoll follow [flags] <directory of the world> <directory of the copy>")
}
