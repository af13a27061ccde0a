package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/soak"
)

// smallSoak is the command line of a run of less than a second.
const smallSoak = "soak -duration 200ms -warmup 100ms -entities 2000 -clients 4 -hz 100 -queue 64 -seed 7 -shards 3 -workers 2 -churn 20 -versions 9"

func TestSoakHelp(t *testing.T) {
	r := atoll(t.Context(), "help", "soak")
	require.Zero(t, r.code)
	require.Empty(t, r.stderr)
	for _, want := range []string{
		"Usage: atoll soak [flags]\n", "-duration time\n", "(default 30s)", "-warmup time\n", "(default 5s)",
		"-entities number\n", "(1000 to 16000000) (default 1000000)", "-clients number\n", "(1 to 4096) (default 64)",
		"-churn percent\n", "(default 10)", "-queue number\n", "-versions number\n", "-json\n",
	} {
		require.Contains(t, r.stdout, want)
	}
}

func TestSoakBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-entities 999": `invalid value "999" for flag -entities: want a whole number from 1000 to 16000000`,
		"-clients 0":    `invalid value "0" for flag -clients: want a whole number from 1 to 4096`,
		"-queue 15":     `invalid value "15" for flag -queue: want a whole number from 16 to 1048576`,
	} {
		r := atoll(t.Context(), append([]string{"soak"}, strings.Fields(args)...)...)
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.stderr, "atoll soak: "+want)
	}
}

// TestSoakJSON checks that standard output has the one object, with what scripts
// rely on.
func TestSoakJSON(t *testing.T) {
	r := atoll(t.Context(), strings.Fields(smallSoak+" -json")...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "\n0 violations\n")
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
	for _, key := range []string{"ops", "ticks", "created", "destroyed", "heap_start_mb", "heap_end_mb", "goroutines_start", "goroutines_end"} {
		require.NotZero(t, got[key], key)
	}
	for _, key := range []string{"rejected", "violations", "rss_start_mb", "rss_end_mb"} {
		require.Contains(t, got, key)
	}
	require.Equal(t, 0.0, got["violations"])
	require.Equal(t, 7.0, got["seed"])
	require.Equal(t, 3.0, got["shards"])
}

func TestSoak(t *testing.T) {
	r := atoll(t.Context(), strings.Fields(smallSoak)...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "\n0 violations\n")
	require.Contains(t, r.stderr, "2000 entities, 4 clients with 64 requests each, 3 shards, 2 workers, 100 Hz, 20 % churn a second, seed 7\n")
}

// TestReportSoak checks the exit code of a run that found something.
func TestReportSoak(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFailed, report("soak", &soak.Summary{Violations: 2}, true, &stdout, &stderr))
	require.Contains(t, stdout.String(), `"violations":2`)
	require.Contains(t, stderr.String(), "\n2 violations\n")
}
