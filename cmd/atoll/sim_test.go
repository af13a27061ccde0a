package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// TestSim checks that the number of workers and chaos do not show in what is
// written, and that JSON has hashes as strings.
func TestSim(t *testing.T) {
	small := []string{"sim", "-ticks", "120", "-seed", "7", "-creatures", "500", "-shards", "3"}
	want := atoll(t.Context(), append(small, "-json", "-workers", "1")...)
	require.Zero(t, want.code, want.stderr)
	require.Empty(t, want.stderr)
	d := json.NewDecoder(strings.NewReader(want.stdout))
	hashes := map[string]bool{}
	for _, tick := range []uint64{50, 100, 120} {
		var line struct {
			Tick uint64
			Hash string
		}
		require.NoError(t, d.Decode(&line))
		require.Equal(t, tick, line.Tick)
		require.Len(t, line.Hash, 16)
		hashes[line.Hash] = true
	}
	require.Len(t, hashes, 3)
	require.False(t, d.More())
	require.Equal(t, 3, strings.Count(want.stdout, "\n"))
	for _, more := range [][]string{{"-workers", "2"}, {"-workers", "32"}, {"-workers", "3", "-chaos"}} {
		require.Equal(t, want, atoll(t.Context(), append(append(small, "-json"), more...)...), "%v", more)
	}
	text := atoll(t.Context(), small...)
	for hash := range hashes {
		require.Contains(t, text.stdout, "  hash "+hash+"\n")
	}
	require.Contains(t, text.stdout, "tick     50  hash ")
}

func TestSimHelp(t *testing.T) {
	r := atoll(t.Context(), "help", "sim")
	require.Zero(t, r.code)
	for _, want := range []string{
		"Usage: atoll sim [flags]\n", "-ticks number\n", "(1 to 10000000) (default 300)", "-players number\n", "(0 to 2000) (default 32)",
		"-creatures number\n", "(default 20000)", "-shards number\n", "-workers number\n", "-seed number\n", "-chaos\n", "-json\n", "-record file\n", "-replay file\n",
	} {
		require.Contains(t, r.stdout, want)
	}
}

func TestSimBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-ticks 0":      `invalid value "0" for flag -ticks: want a whole number from 1 to 10000000`,
		"-players 2001": `invalid value "2001" for flag -players: want a whole number from 0 to 2000`,
		"-workers -1":   `invalid value "-1" for flag -workers: want a whole number from 0 to 1024`,
		"-shards 4096":  fmt.Sprint(`invalid value "4096" for flag -shards: want a whole number from 0 to `, handle.HomeMax),
		"-seed x":       `invalid value "x" for flag -seed: want a whole number from 0 to 18446744073709551615`,
		"-chaos=maybe":  `invalid boolean value "maybe" for -chaos`,
		"-hz 20":        `flag provided but not defined: -hz`,
		"-json 300":     `unexpected argument "300"`,
	} {
		t.Run(args, func(t *testing.T) {
			r := atoll(t.Context(), append([]string{"sim"}, strings.Fields(args)...)...)
			require.Equal(t, exitUsage, r.code)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, "atoll sim: "+want)
			require.Contains(t, r.stderr, "\natoll sim -help lists the flags\n")
		})
	}
}

// TestSimFails checks that a run that is cut short is no success.
func TestSimFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := atoll(ctx, "sim")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "atoll sim: sim: tick 0: context canceled")
}

// TestSimReplay checks that a recorded sim is made again by its log alone, and that one
// that is cut off fails.
func TestSimReplay(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	want := atoll(t.Context(), "sim", "-ticks", "70", "-seed", "9", "-creatures", "500", "-shards", "3", "-workers", "1", "-json", "-record", name)
	require.Zero(t, want.code, want.stderr)
	for _, more := range [][]string{nil, {"-workers", "3", "-chaos"}, {"-workers", "8"}} {
		require.Equal(t, want, atoll(t.Context(), append([]string{"sim", "-json", "-replay", name}, more...)...), "%v", more)
	}
	log, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, log[:len(log)*9/10], 0o600))
	cut := atoll(t.Context(), "sim", "-json", "-replay", name)
	require.Equal(t, exitFailed, cut.code)
	require.Contains(t, cut.stderr, "the log is cut off")
	require.True(t, strings.HasPrefix(want.stdout, cut.stdout))
	require.NotEmpty(t, cut.stdout)

	r := atoll(t.Context(), "sim", "-replay", name, "-record", name)
	require.Equal(t, exitUsage, r.code)
	r = atoll(t.Context(), "sim", "-replay", name+"x")
	require.Equal(t, exitFailed, r.code)
}
