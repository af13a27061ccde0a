package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustCompile(expr string) *regexp.Regexp { return regexp.MustCompile(expr) }

func ptr(v float64) *float64 { return &v }

func testResults() []result {
	return []result{
		{Bench: "iterate2", N: 64, AtollNS: ptr(2), BestPeer: "ark", PeerNS: ptr(4), Ratio: ptr(0.5), RatioLow: ptr(0.4), RatioHigh: ptr(0.6), Shards: 1, Rounds: 5, Peers: map[string]float64{"ark": 4},
			ByShards: map[int]float64{1: 2, 4: 3}},
		{Bench: "iterate2", N: 1024, AtollNS: ptr(1), BestPeer: "ark", PeerNS: ptr(2), Ratio: ptr(0.5), RatioLow: ptr(0.4), RatioHigh: ptr(0.6), Shards: 4, Rounds: 5, Peers: map[string]float64{"ark": 2, "volt": 3.5}, LimitNS: ptr(0.5),
			ByShards: map[int]float64{4: 1, 1: 0.75, 16: 2, 256: 4}, LimitRatio: ptr(2), verdict: verdict{Target: ptr(0.4), Missed: true}},
		{Bench: "iterate2", N: 16_000, AtollNS: ptr(1.5), BestPeer: "ark", PeerNS: ptr(1), Ratio: ptr(1.5), RatioLow: ptr(1.25), RatioHigh: ptr(2), Shards: 4, Rounds: 5, Peers: map[string]float64{"ark": 1}, LeftOut: map[string]string{"volt": "panic: no"},
			verdict: verdict{Target: ptr(1), Missed: true}},
		{Bench: "change1", N: 1024, BestPeer: "ark", PeerNS: ptr(60), Rounds: 5, Peers: map[string]float64{"ark": 60}, verdict: verdict{Missed: true}},
		{Bench: "random", N: 1024, AtollNS: ptr(2.01), BestPeer: "ark", PeerNS: ptr(2), Ratio: ptr(1.06), RatioLow: ptr(0.9), RatioHigh: ptr(1.1), Shards: 4, Rounds: 5, Peers: map[string]float64{"ark": 2},
			verdict: verdict{Target: ptr(1), Missed: true}},
		{Bench: "new-world", N: 1, AtollNS: ptr(1500), BestPeer: "ark", PeerNS: ptr(15000), Ratio: ptr(0.1), RatioLow: ptr(0.1), RatioHigh: ptr(0.1), Shards: 4, Rounds: 5, Peers: map[string]float64{"ark": 15000}, verdict: verdict{TargetNS: ptr(1400), Missed: true}},
	}
}

func testFindings() []finding {
	return []finding{
		{Section: "worst-create", N: 1_000_000, Name: "atoll", Shards: 4, Rounds: 5, Values: map[string]float64{"worst_us": 600, "worst_us_low": 320, "worst_us_high": 900}, Target: ptr(300), Missed: true},
		{Section: "worst-create", N: 1_000_000, Name: "ark", Rounds: 5, Values: map[string]float64{"worst_us": 9000}},
		{Section: "memory", N: 1_000_000, Name: "atoll", Shards: 1, Values: map[string]float64{"bytes": 16.5}},
		{Section: "memory", N: 1_000_000, Name: "volt", LeftOut: "panic: full"},
		{Section: "allocations", Case: "random", N: 1024, Name: "atoll", Shards: 1, Values: map[string]float64{"allocs": 0, "bytes": 0}},
		{Section: "allocations", Case: "create2", N: 1024, Name: "atoll", Shards: 1, Values: map[string]float64{"allocs": 0.0005, "bytes": 3}, Target: ptr(0), Missed: true},
		{Section: "allocations", Case: "create2", N: 1024, Name: "donburi", Values: map[string]float64{"allocs": 4, "bytes": 64}},
		{Section: "collector", N: 10_000_000, Name: "map of pointers", Values: map[string]float64{"cpu_ms": 900, "mark_ms": 890}},
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	for _, r := range testResults() {
		require.NoError(t, writeJSON(&out, r))
	}
	for _, f := range testFindings() {
		require.NoError(t, writeJSON(&out, f))
	}
	lines := jsonLines(t, out.Bytes())
	require.Len(t, lines, len(testResults())+len(testFindings()))
	for key, want := range map[string]any{
		"bench": "iterate2", "n": 1024.0, "atoll_ns": 1.0, "best_peer": "ark", "peer_ns": 2.0, "ratio": 0.5, "shards": 4.0, "rounds": 5.0, "limit_ns": 0.5,
		"target": 0.4, "limit_ratio": 2.0, "missed": true,
		"atoll_ns_by_shards": map[string]any{"1": 0.75, "4": 1.0, "16": 2.0, "256": 4.0},
	} {
		assert.Equal(t, want, lines[1][key], key)
	}
	require.Contains(t, lines[3], "atoll_ns")
	assert.Nil(t, lines[3]["atoll_ns"])
	for key, want := range map[string]any{
		"section": "worst-create", "n": 1e6, "name": "atoll", "shards": 4.0, "target": 300.0, "missed": true,
		"values": map[string]any{"worst_us": 600.0, "worst_us_low": 320.0, "worst_us_high": 900.0},
	} {
		assert.Equal(t, want, lines[len(testResults())][key], key)
	}
}

// jsonLines parses output of one object a line.
func jsonLines(t *testing.T, out []byte) []map[string]any {
	t.Helper()
	var list []map[string]any
	for line := range bytes.Lines(out) {
		var object map[string]any
		require.NoError(t, json.Unmarshal(line, &object), "%s", line)
		list = append(list, object)
	}
	return list
}

func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, writePage(file, header{commit: "abc", command: "go run", missing: "Out of time: 1 of 2."}, testResults(), testFindings()))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	page := string(data)
	for _, want := range []string{
		"- commit: `abc`",
		"Out of time: 1 of 2.",
		"at most 5 % beyond counts as met. 5 of 5 cells with a\nbar miss it. A peer is faster in 2 of all 5 cells, whose geometric mean is **0.52**.",
		"| bench | 16 | 1k | 16k | 120k | 256k | 1M |",
		"| iterate2 | – | 0.50 / 0.40 (missed) | 1.50 / 1.00 (missed) | – | – | – |",
		"| random | – | 1.06 / 1.00 (missed) | – | – | – | – |",
		"new-world takes 1500 ns, of at most 1400 (missed).",
		"| N | atoll | best peer | ratio | bar | 1 shard | 4 shards | ark | volt | limit |",
		"| 64 | 2.00 | ark 4.00 | 0.50 | – | 2.00 | 3.00 | 4.00 | – | – |",
		"| 1k | 1.00 | ark 2.00 | 0.50 | ≤ 0.40 (missed, within the spread) | 0.75 | 1.00 | 2.00 | 3.50 | 0.50 |",
		"At N = 16k, volt is left out: panic: no.",
		"A peer is faster in 2 of 5 cells, and 5 miss",
		"| iterate2 | 16k | 1.50 | 1.25 – 2.00 | ≤ 1.00 (missed) | 1.50 | ark 1.00 |",
		"| random | 1k | 1.06 | 0.90 – 1.10 | ≤ 1.00 (missed, within the spread) | 2.01 | ark 2.00 |",
		"Not offered by Atoll: change1.",
		"| bench | N | 1 | 4 | 16 | 256 |",
		"| iterate2 | 1k | 0.38 | 0.50 | 1.00 | 2.00 |",
		"| geometric mean |  | 0.38 | 0.50 | 1.00 | 2.00 |",
		"| contender | worst, µs: least of 5 | median of 5 | most of 5 | worst by processor, µs | longer than 100 µs |",
		"| atoll, 4 shards | 320 (missed) | 600 | 900 | – | – |",
		"The target for Atoll, with 4 shards and N = 1M, is ≤ 300 in the first column.",
		"| atoll, 1 shard | 16.5 | – | – | – |",
		"volt is left out: panic: full.",
		"| bench | atoll, 1 shard | donburi |",
		"| random | 0 | – |",
		"| create2 | 0.0005 (missed) | 4.00 |",
		"| map of pointers | 900 | 890 | – | – | – |",
	} {
		assert.Contains(t, page, want)
	}
	assert.Equal(t, 1, strings.Count(page, "| iterate2 | 1k | 0.50 |"), "misses its bar, though faster: listed")
	assert.NotContains(t, page, "| iterate2 | 64 | 0.50 | 0.40", "holds: not listed")
	worst, draw := strings.Index(page, "| iterate2 | 16k | 1.50 |"), strings.Index(page, "| random | 1k | 1.06 | 0.90")
	assert.Less(t, worst, draw, "the furthest beyond its bar first")
	for _, table := range tables(page) {
		for _, row := range table {
			assert.Equal(t, strings.Count(table[0], "|"), strings.Count(row, "|"), "a table has as many cells in each row: %s", row)
		}
	}
}

// tables returns the tables of a page, as rows.
func tables(page string) (list [][]string) {
	last := ""
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "|") {
			if !strings.HasPrefix(last, "|") {
				list = append(list, nil)
			}
			list[len(list)-1] = append(list[len(list)-1], line)
		}
		last = line
	}
	return list
}

func TestTableLines(t *testing.T) {
	var out bytes.Buffer
	writeHead(&out, header{commit: "abc"})
	writeRow(&out, testResults()[1])
	writeFinding(&out, worstCreate, testFindings()[0])
	writeSummary(&out, summarize(testResults()))
	for _, want := range []string{
		"commit: abc",
		"0.50! 0.40",
		"atoll/1 0.75, atoll/16 2.00, atoll/256 4.00, volt 3.50",
		"atoll, 4 shards!: worst, µs: least of 5 320, median of 5 600, most of 5 900",
		"5 cells: geometric mean of the ratios 0.52, a peer is faster in 2; 5 of 5 miss their bar",
	} {
		assert.Contains(t, out.String(), want)
	}
}

func TestNumbers(t *testing.T) {
	assert.Equal(t, []string{"–", "0.07", "9.99", "10.0", "123"}, []string{ns(nil), ns(ptr(0.0712)), ns(ptr(9.99)), ns(ptr(10)), ns(ptr(123.4))})
	assert.Equal(t, []string{"1", "256", "1k", "16k", "256k", "1M"}, []string{size(1), size(256), size(1024), size(16_000), size(256_000), size(1_000_000)})
}

func TestCells(t *testing.T) {
	quick := settings{run: mustCompile("")}.cells()
	full := settings{run: mustCompile(""), full: true}.cells()
	assert.Greater(t, len(full), 2*len(quick))
	for _, want := range []string{"create10/1", "change11-batch/1000000", "new-world/1"} {
		assert.True(t, slices.ContainsFunc(full, func(c cell) bool { return c.label(c.n) == want }), want)
	}
	one := settings{run: mustCompile("^random/1024$")}.cells()
	require.Len(t, one, 1)
	assert.Equal(t, "random/1024", one[0].label(one[0].n))
}

func TestQuantity(t *testing.T) {
	assert.Equal(t, []string{"–", "0", "0.0005", "1.00", "-3.50"}, []string{quantity(nil), quantity(ptr(0)), quantity(ptr(0.0005)), quantity(ptr(1)), quantity(ptr(-3.5))})
}
