package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/handle"
)

// result is what a command line led to.
type result struct {
	code           int
	stdout, stderr string
}

func atoll(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"-h"}, {"-help"}, {"--help"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			r := atoll(t.Context(), args...)
			require.Zero(t, r.code)
			require.Empty(t, r.stderr)
			require.Contains(t, r.stdout, "Usage: atoll <command> [flags]\n")
			for _, c := range commands {
				require.Contains(t, r.stdout, "\n  "+c.name+" ")
			}
		})
	}
}

func TestCommandHelp(t *testing.T) {
	for _, args := range [][]string{{"help", "demo"}, {"demo", "-h"}, {"demo", "-help"}, {"demo", "-bots", "3", "--help"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			r := atoll(t.Context(), args...)
			require.Zero(t, r.code)
			require.Empty(t, r.stderr)
			require.Contains(t, r.stdout, "Usage: atoll demo [flags]\n")
			for _, want := range []string{
				"-duration time\n", "(default 20s)", "-bots number\n", "(0 to 2000) (default 200)", "-creatures number\n",
				"(0 to 4000000) (default 20000)", "-shards number\n", fmt.Sprintf("(0 to %d)", handle.HomeMax), "-workers number\n", "-hz number\n",
				"(1 to 1000) (default 20)", "-seed number\n", "-listen host:port\n", "(default 127.0.0.1:0)", "-json\n",
			} {
				require.Contains(t, r.stdout, want)
			}
		})
	}
}

func TestUnknownCommand(t *testing.T) {
	for _, args := range [][]string{{"dmeo"}, {"help", "dmeo"}, {"-x"}, {""}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			r := atoll(t.Context(), args...)
			require.Equal(t, exitUsage, r.code)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, "unknown command")
			require.Contains(t, r.stderr, "\n  demo ")
		})
	}
}

// TestBadFlags checks that each error names flag, value and what is allowed.
func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-bots many":             `invalid value "many" for flag -bots: want a whole number from 0 to 2000`,
		"-bots -1":               `invalid value "-1" for flag -bots: want a whole number from 0 to 2000`,
		"-bots 2001":             `invalid value "2001" for flag -bots: want a whole number from 0 to 2000`,
		"-creatures 1e6":         `invalid value "1e6" for flag -creatures: want a whole number from 0 to 4000000`,
		"-shards 4096":           fmt.Sprintf(`invalid value "4096" for flag -shards: want a whole number from 0 to %d`, handle.HomeMax),
		"-workers 1025":          `invalid value "1025" for flag -workers: want a whole number from 0 to 1024`,
		"-hz 0":                  `invalid value "0" for flag -hz: want a whole number from 1 to 1000`,
		"-duration 10":           `invalid value "10" for flag -duration: want a time such as 10s, 1m30s or 0, not negative`,
		"-duration -1s":          `invalid value "-1s" for flag -duration: want a time such as 10s, 1m30s or 0, not negative`,
		"-seed -1":               `invalid value "-1" for flag -seed: want a whole number from 0 to 18446744073709551615`,
		"-listen localhost":      `invalid value "localhost" for flag -listen: want host:port`,
		"-listen 127.0.0.1:http": `invalid value "127.0.0.1:http" for flag -listen: want host:port`,
		"-json=perhaps":          `invalid boolean value "perhaps" for -json`,
		"-bots":                  `flag needs an argument: -bots`,
		"-color":                 `flag provided but not defined: -color`,
		"-hz 20 now":             `unexpected argument "now"`,
	} {
		t.Run(args, func(t *testing.T) {
			r := atoll(t.Context(), append([]string{"demo"}, strings.Fields(args)...)...)
			require.Equal(t, exitUsage, r.code)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, "atoll demo: "+want)
			require.Contains(t, r.stderr, "\natoll demo -help lists the flags\n")
		})
	}
}

func TestDemo(t *testing.T) {
	r := atoll(t.Context(), "demo", "-duration", "300ms", "-creatures", "500", "-bots", "5", "-hz", "50")
	require.Zero(t, r.code, r.stdout)
	require.Empty(t, r.stderr)
	require.Contains(t, r.stdout, "\naudit  entities  ok ")
}

// TestDemoJSON checks that standard output has the one object and nothing else.
func TestDemoJSON(t *testing.T) {
	r := atoll(t.Context(), "demo", "-json", "-duration", "300ms", "-creatures", "500", "-bots", "5", "-hz", "50", "-seed", "7", "-shards", "3")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "\naudit  entities  ok ")
	d := json.NewDecoder(strings.NewReader(r.stdout))
	var got map[string]any
	require.NoError(t, d.Decode(&got))
	require.ErrorIs(t, d.Decode(&struct{}{}), io.EOF)
	require.Equal(t, "ok", got["audit"])
	require.Equal(t, 7.0, got["seed"])
	require.Equal(t, 3.0, got["shards"])
	require.Equal(t, 50.0, got["hz"])
	require.Equal(t, 20.0, got["tick_budget_ms"])
}

// TestDemoFails checks that what could not run is no success.
func TestDemoFails(t *testing.T) {
	r := atoll(t.Context(), "demo", "-listen", "192.0.2.1:1") // no address of this machine
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "atoll demo: demo: listen tcp 192.0.2.1:1: ")
	require.Empty(t, r.stdout)
}

// TestReport checks the exit code of a run whose audit found something.
func TestReport(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, report("demo", &demo.Summary{Audit: "ok"}, false, &stdout, &stderr))
	require.NotContains(t, stdout.String(), "{")
	require.Empty(t, stderr.String())
	stdout.Reset()
	require.Equal(t, exitFailed, report("demo", &demo.Summary{Audit: []string{"handles: one rose"}}, true, &stdout, &stderr))
	require.Contains(t, stdout.String(), `"audit":["handles: one rose"]`)
	require.True(t, json.Valid(stdout.Bytes()))
	require.NotEmpty(t, stderr.String())
}

// TestDemoInterrupted checks that an interrupt ends a run without end, which is
// audited all the same.
func TestDemoInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r := atoll(ctx, "demo", "-duration", "0", "-creatures", "500", "-bots", "5")
	require.Zero(t, r.code, r.stdout)
	require.Contains(t, r.stdout, "\naudit  handles   ok ")
}
