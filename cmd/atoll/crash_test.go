package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if code, is := serveCrash(); is {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestCrashHelp(t *testing.T) {
	r := atoll(t.Context(), "help", "crash")
	require.Zero(t, r.code)
	require.Empty(t, r.stderr)
	for _, want := range []string{
		"Usage: atoll crash [flags]\n", "-kills number\n", "(1 to 1000000) (default 100)", "-clients number\n", "(default 16)", "-hz number\n",
		"-worlds number\n", "-seed number\n", "-sealed\n", "-state directory\n", "-json\n",
	} {
		require.Contains(t, r.stdout, want)
	}
}

func TestCrash(t *testing.T) {
	r := atoll(t.Context(), strings.Fields("crash -sealed -kills 2 -clients 4 -seed 7")...)
	require.Zero(t, r.code, r.stdout+r.stderr)
	require.Empty(t, r.stderr)
	require.Contains(t, r.stdout, "2 kills, 4 clients, 200 Hz, seed 7, sealed: true; ")
	require.Contains(t, r.stdout, "\n0 told and lost, 0 doubled\naudit ok\n")
}

// TestCrashWorlds runs linked towns.
func TestCrashWorlds(t *testing.T) {
	r := atoll(t.Context(), strings.Fields("crash -worlds 2 -sealed -kills 2 -clients 4 -seed 7")...)
	require.Zero(t, r.code, r.stdout+r.stderr)
	require.Contains(t, r.stdout, " kills, 2 worlds of 4 clients, 200 Hz, seed 7, sealed: true; ")
	require.Contains(t, r.stdout, "\n0 told and lost, 0 doubled\naudit ok\n")
}

// TestCrashJSON checks that standard output has the one object, with what scripts rely on.
func TestCrashJSON(t *testing.T) {
	r := atoll(t.Context(), strings.Fields("crash -kills 2 -clients 4 -json")...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "\naudit ok\n")
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
	require.Equal(t, 2.0, got["kills"])
	require.Equal(t, false, got["sealed"])
	require.Equal(t, "ok", got["audit"])
	for _, key := range []string{"done", "refused", "seconds"} {
		require.NotZero(t, got[key], key)
	}
	for _, key := range []string{"told_and_lost", "doubled"} {
		require.Zero(t, got[key], key)
		require.Contains(t, got, key)
	}
}

func TestCrashBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-kills 0":      `invalid value "0" for flag -kills: want a whole number from 1 to 1000000`,
		"-clients 1001": `invalid value "1001" for flag -clients: want a whole number from 1 to 1000`,
	} {
		r := atoll(t.Context(), append([]string{"crash"}, strings.Fields(args)...)...)
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.stderr, "atoll crash: "+want)
	}
	r := atoll(t.Context(), "crash", "-state", ".")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "atoll crash: crash: . has files of an earlier run")
	require.FileExists(t, "crash_test.go")
}
