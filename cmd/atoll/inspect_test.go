package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const testToken = "a token of a test"

// startDemo runs a demo with an inspector until the test ends, and returns the inspector's address.
// It is to exit with the code.
func startDemo(t *testing.T, code int) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{
			"demo", "-duration", "0", "-bots", "3", "-creatures", "500", "-hz", "100", "-inspect", "127.0.0.1:0", "-token", testToken,
		}, in, io.Discard)
		_ = in.Close()
	}()
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	t.Cleanup(func() {
		stop()
		require.Equal(t, code, <-ended)
	})
	addr := regexp.MustCompile(`http://[0-9.:]+`).FindString(first)
	require.NotEmpty(t, addr, first)
	return addr
}

// TestInspect asks a demo by each word, and changes it.
func TestInspect(t *testing.T) {
	addr := startDemo(t, exitFailed) // what is changed here is in no book
	ask := func(args ...string) map[string]any {
		t.Helper()
		r := atoll(t.Context(), append([]string{"inspect", "-addr", addr, "-token", testToken}, args...)...)
		require.Equal(t, exitOK, r.code, r.stderr)
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &v), r.stdout)
		return v
	}
	require.Eventually(t, func() bool { return ask("stats")["entities"].(float64) > 500 }, 5*time.Second, 20*time.Millisecond)
	require.NotEmpty(t, ask("plan")["systems"])
	require.Contains(t, ask("problems"), "problems")
	require.Equal(t, true, ask("pause")["paused"])
	require.Eventually(t, func() bool { return ask("stats")["paused"] == true }, 5*time.Second, 20*time.Millisecond)
	found := ask("query", "health.Points >= 1", "2")
	rows := found["rows"].([]any)
	require.Len(t, rows, 2)
	handle := rows[0].(map[string]any)["handle"].(string)
	require.Equal(t, handle, ask("entity", handle)["handle"])
	tick := ask("stats")["tick"].(float64)
	ask("step", "3")
	require.Eventually(t, func() bool { return ask("stats")["tick"] == tick+3 }, 5*time.Second, 20*time.Millisecond)
	require.Equal(t, false, ask("disable", "wander")["enabled"])
	require.Equal(t, true, ask("enable", "wander")["enabled"])
	require.Equal(t, false, ask("resume")["paused"])
	require.Equal(t, "applied", ask("set", handle, "health.Points", "77")["outcome"])
	atoll(t.Context(), "inspect", "-addr", addr, "-token", testToken, "destroy", handle)
	r := atoll(t.Context(), "inspect", "-addr", addr, "-token", testToken, "destroy", handle)
	require.Contains(t, r.stderr, handle+" is not alive")
	require.Equal(t, exitFailed, r.code)
}

// TestTop looks at a demo twice.
func TestTop(t *testing.T) {
	addr := startDemo(t, exitOK)
	r := atoll(t.Context(), "top", "-addr", addr, "-every", "100ms", "-times", "2", "-rows", "3")
	require.Equal(t, exitOK, r.code, r.stderr)
	require.Regexp(t, `(?s)tick \d+: p50 .* budget 10ms, \d+ too long.*SHARD.*SYSTEM.*STEP OF THE REFRESH.*tick \d+: p50 `, r.stdout)
	require.NotContains(t, r.stdout, clearScreen, "it is no terminal")
	require.NotContains(t, r.stdout, "%!")
}

// TestTopNames shows names as they are, but nothing that a terminal obeys.
func TestTopNames(t *testing.T) {
	x := figures{Systems: []systemFigures{{Name: "merge \"town\""}, {Name: "a\x1b[2Jb\n"}}}
	screen := x.screen(9)
	require.Contains(t, screen, "merge \"town\"")
	require.Contains(t, screen, `a\u001b[2Jb\n `)
}

// TestInspectRefuses says what is wrong with a command line, and with what answers.
func TestInspectRefuses(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	words := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer words.Close()
	t.Setenv("ATOLL_TOKEN", "")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"inspect"}, exitUsage, "say what to ask"},
		{[]string{"inspect", "dance"}, exitUsage, `unknown word "dance"`},
		{[]string{"inspect", "entity"}, exitUsage, "entity takes 1 argument, and got 0"},
		{[]string{"inspect", "query", "a", "b", "c"}, exitUsage, "query takes 1 to 2 arguments, and got 3"},
		{[]string{"inspect", "stats", "now"}, exitUsage, "stats takes no argument, and got 1"},
		{[]string{"inspect", "-nothing"}, exitUsage, "nothing"},
		{[]string{"inspect", "-addr", "ftp://x", "stats"}, exitUsage, "is no address of an inspector"},
		{[]string{"inspect", "-token", "x", "step", "many"}, exitFailed, `"many" is no number of ticks`},
		{[]string{"inspect", "pause"}, exitFailed, "say -token or set ATOLL_TOKEN"},
		{[]string{"inspect", "-addr", "127.0.0.1:1", "stats"}, exitFailed, "refused"},
		{[]string{"inspect", "-addr", other.URL, "stats"}, exitFailed, "answers 404 Not Found; is that an inspector?"},
		{[]string{"top", "-addr", "127.0.0.1:1"}, exitFailed, "refused"},
		{[]string{"top", "-addr", words.URL}, exitFailed, "is not what an inspector says"},
		{[]string{"top", "-times", "-1"}, exitUsage, "times"},
		{[]string{"demo", "-inspect", "nowhere"}, exitUsage, "want host:port"},
		{[]string{"demo", "-inspect", "127.0.0.1:0", "-token", "short"}, exitFailed, "Token has 5 characters"},
	} {
		r := atoll(t.Context(), test.args...)
		require.Equal(t, test.code, r.code, "%v: %s", test.args, r.stderr)
		require.Contains(t, r.stderr, test.want, "%v", test.args)
	}
	require.Contains(t, atoll(t.Context(), "help", "inspect").stdout, "query <text>")
	require.Contains(t, atoll(t.Context(), "help", "top").stdout, "-every")
}

// TestTokenIsSecret takes the token from the environment, unless a flag gives another, and never
// prints it.
func TestTokenIsSecret(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	const hidden = "hidden-in-the-environment"
	t.Setenv("ATOLL_TOKEN", hidden)
	for _, args := range [][]string{
		{"help", "top"}, {"help", "inspect"}, {"top", "-h"}, {"inspect", "-h"}, {"top", "-nothing"}, {"inspect", "-nothing"}, {"inspect", "dance"},
		{"inspect", "-addr", server.URL, "pause"}, {"inspect", "-addr", server.URL, "-token", "other", "pause"}, {"inspect", "-addr", server.URL, "-token", "", "stats"},
	} {
		r := atoll(t.Context(), args...)
		require.NotContains(t, r.stdout+r.stderr, hidden, "%v", args)
	}
	require.Equal(t, []string{"Bearer " + hidden, "Bearer other", ""}, got)
}

// TestInspectTrace writes the next ticks to a file.
func TestInspectTrace(t *testing.T) {
	addr := startDemo(t, exitOK)
	file := filepath.Join(t.TempDir(), "trace.json")
	r := atoll(t.Context(), "inspect", "-addr", addr, "-token", testToken, "trace", file)
	require.Equal(t, exitOK, r.code, r.stderr)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var trace struct {
		Events []struct {
			Name string  `json:"name"`
			Ph   string  `json:"ph"`
			Dur  float64 `json:"dur"`
		} `json:"traceEvents"`
	}
	require.NoError(t, json.Unmarshal(text, &trace))
	ticks := 0
	for _, e := range trace.Events {
		if e.Ph == "X" && e.Name == "wander" {
			ticks++
		}
	}
	require.GreaterOrEqual(t, ticks, traceTicks)
}
