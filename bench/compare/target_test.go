package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTargets says what must hold once more, in the terms of the benches.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		bench string
		n     int
		want  float64 // with a peer that takes 20 ns
	}{
		{"iterate2", 1, 1}, {"iterate2", 1024, 1}, {"iterate2-frag32", 1_000_000, 1}, {"iterate2-256", 16_000, 1},
		{"random", 256, 1}, {"random", 16_000, 1}, {"random", 256_000, 0.85}, {"random", 1_000_000, 0.75},
		{"create2", 256, 0.8}, {"create2", 1024, 0.6}, {"create10", 1_000_000, 0.6}, {"create2-values", 1, 0.8},
		{"create2-batch", 256, 1}, {"create2-batch", 1024, 0.8}, {"create10-batch", 1024, 0.8},
		{"create2-alloc", 1, 1}, {"create2-alloc", 16_000, 0.8}, {"create2-alloc-batch", 16_000, 0.8},
		{"destroy2", 1, 4}, {"destroy2", 4, 1.75}, {"destroy2", 1024, 0.8}, {"destroy10", 16_000, 0.8},
		{"destroy2-batch", 1, 4}, {"destroy10-batch", 1024, 1},
		{"change1", 256, 1}, {"change1", 1024, 0.9}, {"change11-batch", 1, 1}, {"change11-batch", 1_000_000, 0.9},
		{"new-world", 1, 1},
	} {
		b := benchOf(result{Bench: c.bench})
		assert.InDelta(t, c.want, b.target.bound(c.n, 20), 1e-9, b.label(c.n))
	}
	for _, b := range benches {
		require.NotNil(t, b.target, b.name)
	}
}

func TestJudge(t *testing.T) {
	judged := func(target *target, r result) result {
		r.verdict = target.judge(&r)
		return r
	}
	to := func(n int, ratio float64) result {
		return result{N: n, AtollNS: ptr(10 * ratio), BestPeer: "ark", Peers: map[string]float64{"ark": 10}, Ratios: map[string]float64{"ark": ratio}}
	}
	limited := func(r result, ratio float64) result {
		r.LimitRatio = &ratio
		return r
	}
	holds := judged(iterateTarget, limited(to(1024, 1), 1.05))
	assert.False(t, holds.Missed)
	assert.Equal(t, 1.0, *holds.Target)
	assert.Equal(t, 1.1, *holds.LimitTarget)

	assert.True(t, judged(iterateTarget, to(1024, 1.01)).Missed, "slower than the peer")
	assert.True(t, judged(iterateTarget, limited(to(1024, 1), 1.11)).Missed, "far from slices")
	few := judged(iterateTarget, limited(to(256, 1), 10))
	assert.False(t, few.Missed, "slices do not bound small worlds")
	assert.Nil(t, few.LimitTarget)
	assert.True(t, judged(createTarget, to(1024, 0.7)).Missed, "faster, but not by enough")
	lacking := to(1024, 0)
	lacking.AtollNS = nil
	assert.True(t, judged(createTarget, lacking).Missed, "not offered")
	assert.False(t, judged(createTarget, result{N: 1024, AtollNS: ptr(7)}).Missed, "no peer")

	against := result{N: 1, AtollNS: ptr(5), BestPeer: "volt", Peers: map[string]float64{"volt": 1, "ark": 6}, Ratios: map[string]float64{"volt": 5, "ark": 0.9}}
	assert.False(t, judged(newWorldTarget, against).Missed, "compared with Ark alone")
	delete(against.Peers, "ark")
	assert.Nil(t, judged(newWorldTarget, against).Target)
}

func TestTargetWords(t *testing.T) {
	few, many := lookupTarget.words()
	assert.Equal(t, "≤ 1", few)
	assert.Equal(t, "≤ 1, from 256k ≤ 0.85, from 1M ≤ 0.75", many)
	few, many = destroyTarget.words()
	assert.Equal(t, "peer + 60 ns per refresh", few)
	assert.Equal(t, "≤ 0.8", many)
	_, many = iterateTarget.words()
	assert.Equal(t, "≤ 1, of slices ≤ 1.1", many)
	few, _ = newWorldTarget.words()
	assert.Equal(t, "≤ 1 of ark", few)
}

func TestSummarize(t *testing.T) {
	s := summarize([]result{
		{Ratio: ptr(0.5), Commit: "abc"},
		{Ratio: ptr(2), verdict: verdict{Missed: true}, Commit: "abc"},
		{PeerNS: ptr(1), verdict: verdict{Missed: true}, Commit: "abc"},
	})
	assert.Equal(t, summary{Section: "summary", Cells: 2, Mean: 1, Target: meanTarget, Lost: 1, Missed: 2, Commit: "abc"}, s)
	assert.Zero(t, summarize(nil).Mean)
}
