package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHarmless shows nothing that a terminal acts on: texts may come from players, and answers from
// anybody.
func TestHarmless(t *testing.T) {
	answer, status := "", http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	ask := func(words ...string) result {
		return atoll(t.Context(), append([]string{words[0], "-addr", server.URL}, words[1:]...)...)
	}
	answer = "{\"a\":\"\u009b2J\u007f\u202e é😀\\u001b\"}"
	r := ask("inspect", "stats")
	require.Equal(t, "{\n  \"a\": \"\\u009b2J\\u007f\\u202e é😀\\u001b\"\n}\n", r.stdout)
	var same, was map[string]string
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &same))
	require.NoError(t, json.Unmarshal([]byte(answer), &was))
	require.Equal(t, was, same)

	answer = "\x1b[2J"
	r = ask("inspect", "stats")
	require.Equal(t, exitFailed, r.code)
	require.NotContains(t, r.stdout+r.stderr, "\x1b")

	answer = `{"systems":[{"name":"a\u001b\n\u009b"}],"steps":[{"name":"b\u001b\n\t\u009b","max_ns":1}]}`
	r = ask("top", "-times", "1")
	require.Contains(t, r.stdout, `a\u001b\n\u009b`)
	require.Contains(t, r.stdout, `b\u001b`)
	require.NotContains(t, r.stdout, "\x1b")

	answer, status = `{"error":"no\u001b]0;x\u0007"}`, http.StatusConflict
	for _, words := range [][]string{{"top"}, {"inspect", "stats"}} {
		require.Contains(t, ask(words...).stderr, `no\u001b]0;x\u0007`)
	}
}
