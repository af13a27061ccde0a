package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBars says what must hold once more, by bench.
func TestBars(t *testing.T) {
	want := map[string][5]float64{
		"iterate2":              {1.12, 1.06, 1.06, 1.08, 1.12},
		"iterate2-frag32":       {1.12, 1.20, 1.20, 1.20, 1.30},
		"iterate2-256":          {1.12, 1.06, 1.06, 1.08, 1.12},
		"random":                {1.45, 1.25, 1.25, 1.25, 1.25},
		"random-write":          {1.15, 1.15, 1.15, 1.15, 1.15},
		"create2":               {1, 1, 1, 1, 1},
		"create2-values":        {1, 1, 1, 1, 1},
		"create2-alloc":         {1.05, 1.05, 1.05, 1.05, 1.05},
		"create2-values-alloc":  {1.05, 1.05, 1.05, 1.05, 1.05},
		"create10":              {1.15, 1.15, 1.15, 1.3, 1.3},
		"create10-values":       {1.15, 1.15, 1.15, 1.3, 1.3},
		"create10-values-alloc": {1.15, 1.15, 1.15, 1.3, 1.3},
		"create2-batch":         {0.95, 0.6, 0.6, 0.6, 0.6},
		"create10-batch":        {0.95, 0.6, 0.6, 0.6, 0.6},
		"create2-values-batch":  {1.3, 0.85, 0.85, 0.85, 0.85},
		"create10-values-batch": {1.3, 0.85, 0.85, 0.85, 0.85},
		"destroy2":              {1, 0.65, 0.65, 0.65, 0.65},
		"destroy10":             {1, 0.65, 0.65, 0.65, 0.65},
		"destroy2-batch":        {1.4, 0.9, 0.9, 0.9, 0.9},
		"change1":               {0.85, 0.85, 0.85, 0.85, 0.85},
		"change1-batch":         {0, 0.3, 0.3, 0.3, 0.3},
		"change1-tick":          {1.8, 0.85, 0.85, 0.85, 0.85},
		"change1-tick-tenth":    {1.8, 0.85, 0.85, 0.85, 0.85},
	}
	for name, bars := range want {
		b := benchOf(result{Bench: name})
		for i, n := range []int{16, 1024, 16_000, 256_000, 1_000_000} {
			assert.Equal(t, bars[i], b.bars[n], b.label(n))
		}
	}
	for _, b := range benches {
		require.True(t, len(b.bars) > 0 || b.most > 0, b.name)
	}
	assert.Equal(t, 12_000.0, benchOf(result{Bench: "new-world"}).most)
	assert.Equal(t, 50_000.0, *worlds.target)
	assert.Equal(t, []int{16, 1024, 16_000, 120_000, 256_000, 1_000_000}, judgedSizes())
}

func TestJudge(t *testing.T) {
	b := &bench{name: "test", bars: at(0, 0.8)}
	judged := func(b *bench, r result) result {
		r.verdict = b.judge(&r)
		return r
	}
	to := func(n int, ratio float64) result {
		return result{N: n, AtollNS: ptr(10 * ratio), BestPeer: "ark", Ratio: &ratio, Peers: map[string]float64{"ark": 10}}
	}
	holds := judged(b, to(1024, 0.8))
	assert.False(t, holds.Missed)
	assert.Equal(t, 0.8, *holds.Target)
	assert.False(t, judged(b, to(1024, 0.839)).Missed, "within the tolerance")
	assert.True(t, judged(b, to(1024, 0.841)).Missed, "faster than the peer, but not by enough")
	for _, n := range []int{16, 64, 16_000} {
		r := judged(b, to(n, 9))
		assert.False(t, r.Missed, "no bar for %d", n)
		assert.Nil(t, r.Target)
	}
	assert.True(t, judged(b, result{N: 1024, BestPeer: "ark"}).Missed, "not offered")
	assert.False(t, judged(b, result{N: 1024, AtollNS: ptr(7)}).Missed, "no peer")

	alone := &bench{name: "test", most: 100}
	assert.False(t, judged(alone, to(1, 10.4)).Missed, "104 ns, whatever the peer takes")
	slow := judged(alone, to(1, 10.6))
	assert.True(t, slow.Missed)
	assert.Equal(t, 100.0, *slow.TargetNS)
	assert.Nil(t, slow.Target)
}

func TestSummarize(t *testing.T) {
	s := summarize([]result{
		{Ratio: ptr(0.5), verdict: verdict{Target: ptr(1)}, Commit: "abc"},
		{Ratio: ptr(2), verdict: verdict{Target: ptr(1), Missed: true}, Commit: "abc"},
		{PeerNS: ptr(1), verdict: verdict{Missed: true}, Commit: "abc"},
	})
	assert.Equal(t, summary{Section: "summary", Cells: 2, Mean: 1, Lost: 1, Judged: 3, Missed: 2, Commit: "abc"}, s)
	assert.Zero(t, summarize(nil).Mean)
}

func TestLot(t *testing.T) {
	assert.InDelta(t, 10_000, drawnOf(100_000), 300)
	assert.Equal(t, drawnOf(1000), drawnOf(1000), "the same in each tick")
}

// benchOf returns the bench of a result.
func benchOf(r result) *bench {
	i := slices.IndexFunc(benches, func(b bench) bool { return b.name == r.Bench })
	return &benches[i]
}
