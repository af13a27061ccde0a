package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBudget(t *testing.T) {
	b := budget{end: time.Now().Add(time.Hour), weight: sizeWeight(1) + sizeWeight(1_000_000)}
	first := b.next(sizeWeight(1))
	require.WithinDuration(t, time.Now().Add(time.Hour/7), first, time.Minute)
	require.WithinDuration(t, b.end, b.next(sizeWeight(1_000_000)), time.Minute, "the last cell may take all that is left")
	require.False(t, b.spent())
	b.end = time.Now()
	require.True(t, b.spent())
}

func TestBudgetWithoutEnd(t *testing.T) {
	b := budget{each: time.Minute, weight: 1}
	for range 3 {
		require.WithinDuration(t, time.Now().Add(6*time.Minute), b.next(6), time.Minute)
		require.False(t, b.spent())
	}
}

// TestFullTakesAllCells checks that nothing is left out by default, and what it
// may take: the caps of all cells, and what sections take about.
func TestFullTakesAllCells(t *testing.T) {
	s, err := parse([]string{"-full"}, io.Discard)
	require.NoError(t, err)
	require.Zero(t, s.budget)
	assert.Len(t, s.cells(), 226)
	total := time.Duration(0)
	for _, c := range s.cells() {
		total += time.Duration(sizeWeight(c.n) * float64(fullEach))
	}
	for _, x := range sections {
		total += time.Duration(x.cost * float64(time.Second))
	}
	assert.LessOrEqual(t, total, 24*time.Minute)
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	start := time.Now()
	p := progress{w: &out, start: start, jobs: 3, total: 10}
	p.begin("a", 2, start)
	p.begin("b", 3, start.Add(10*time.Second))
	p.begin("c", 5, start.Add(20*time.Second))
	assert.Equal(t, []string{
		"[1/3, 0s] a",
		"[2/3, 10s, about 40s left] b",
		"[3/3, 20s, about 20s left] c",
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}
