package server_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/server"
)

const protocolPath = "../../../../docs/protocol.md"

// TestProtocolSession plays the session in docs/protocol.md. Each line must come
// as it is there, but for the digits of what the world says.
func TestProtocolSession(t *testing.T) {
	doc, err := os.ReadFile(protocolPath)
	require.NoError(t, err)
	_, session, ok := strings.Cut(string(doc), "\n$ nc ")
	require.True(t, ok)
	session, _, ok = strings.Cut(session, "\n```\n")
	require.True(t, ok)
	lines := strings.Split(session, "\n")[1:] // the first is the address
	require.Greater(t, len(lines), 20)

	// As crowded as the demo is, so that somebody is near.
	s := serve(t, realm.Options{Creatures: 20_000, Shards: 1, TickInterval: 20 * time.Millisecond}, server.Options{})
	p := s.connect(t)
	require.Equal(t, "WELCOME client 0; HELP lists the commands", lines[0])
	for _, text := range lines[1:] {
		if typed, ok := strings.CutPrefix(text, "> "); ok {
			p.send(typed + "\n")
			continue
		}
		require.Equal(t, masked(text), masked(p.line()))
	}
	p.ended()
}

// masked makes what the world says comparable.
func masked(line string) string {
	if !strings.HasPrefix(line, "APPLIED") || strings.Contains(line, "STEER") {
		return line
	}
	line = regexp.MustCompile(`\d+:\d+@\d+`).ReplaceAllString(line, "HANDLE")
	return regexp.MustCompile(`\d+\.\d+|health \d+`).ReplaceAllString(line, "N")
}

// TestProtocolCommands checks that docs/protocol.md has the commands that HELP
// lists.
func TestProtocolCommands(t *testing.T) {
	doc, err := os.ReadFile(protocolPath)
	require.NoError(t, err)
	p := serve(t, realm.Options{}, server.Options{}).connect(t)
	p.send("HELP\nPING\n")
	for text := p.line(); text != "PONG"; text = p.line() {
		verb := strings.Fields(text)[1]
		if verb != "limits:" {
			require.Contains(t, string(doc), "\n| `"+verb)
		}
	}
}
