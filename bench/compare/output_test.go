package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustCompile(expr string) *regexp.Regexp { return regexp.MustCompile(expr) }

func ptr(v float64) *float64 { return &v }

func testResults() []result {
	return []result{
		{Bench: "iterate2", N: 1024, AtollNS: ptr(1), BestPeer: "ark", PeerNS: ptr(2), Ratio: ptr(0.5), Shards: 8, Rounds: 5, Peers: map[string]float64{"ark": 2, "volt": 3.5}, LimitNS: ptr(0.5), OneNS: ptr(0.75), DefaultNS: ptr(1)},
		{Bench: "iterate2", N: 16_000, AtollNS: ptr(1.5), BestPeer: "ark", PeerNS: ptr(1), Ratio: ptr(1.5), RatioLow: ptr(1.25), RatioHigh: ptr(2), Shards: 8, Rounds: 5, Peers: map[string]float64{"ark": 1}, LeftOut: map[string]string{"volt": "panic: no"}},
		{Bench: "change1", N: 1024, BestPeer: "ark", PeerNS: ptr(60), Rounds: 5, Peers: map[string]float64{"ark": 60}},
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	for _, r := range testResults() {
		require.NoError(t, writeJSON(&out, r))
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	require.Len(t, lines, 3)
	var first map[string]any
	require.NoError(t, json.Unmarshal(lines[0], &first))
	for key, want := range map[string]any{"bench": "iterate2", "n": 1024.0, "atoll_ns": 1.0, "best_peer": "ark", "peer_ns": 2.0, "ratio": 0.5, "shards": 8.0, "rounds": 5.0, "limit_ns": 0.5} {
		assert.Equal(t, want, first[key], key)
	}
	assert.Contains(t, string(lines[2]), `"atoll_ns":null`)
}

func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, writePage(file, header{commit: "abc", command: "go run", missing: "Out of time: 1 of 2."}, testResults()))
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, want := range []string{
		"- commit: `abc`",
		"Out of time: 1 of 2.",
		"| N | atoll | best peer | ratio | 1 shard | default | ark | volt | limit |",
		"| 1k | 1.00 | ark 2.00 | 0.50 | 0.75 | 1.00 | 2.00 | 3.50 | 0.50 |",
		"At N = 16k, volt is left out: panic: no.",
		"A peer is faster in 1 of 2 rows",
		"| iterate2 | 16k | 1.50 | 1.25 – 2.00 | 1.50 | ark 1.00 |",
		"Not offered by Atoll: change1.",
	} {
		assert.Contains(t, string(page), want)
	}
}

func TestNumbers(t *testing.T) {
	assert.Equal(t, []string{"–", "0.07", "9.99", "10.0", "123"}, []string{ns(nil), ns(ptr(0.0712)), ns(ptr(9.99)), ns(ptr(10)), ns(ptr(123.4))})
	assert.Equal(t, []string{"1", "256", "1k", "16k", "256k", "1M"}, []string{size(1), size(256), size(1024), size(16_000), size(256_000), size(1_000_000)})
}

func TestCells(t *testing.T) {
	quick := settings{run: mustCompile("")}.cells()
	full := settings{run: mustCompile(""), full: true}.cells()
	assert.Greater(t, len(full), 3*len(quick))
	one := settings{run: mustCompile("^random/1024$")}.cells()
	require.Len(t, one, 1)
	assert.Equal(t, "random/1024", one[0].label(one[0].n))
}
