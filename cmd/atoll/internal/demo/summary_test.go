package demo_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
)

// TestSummaryTicks reads what is said of ticks: one of the first second may be longer
// than the budget, and is not counted.
func TestSummaryTicks(t *testing.T) {
	var text bytes.Buffer
	s := demo.Summary{
		Ticks: 1200, Seconds: 60.04, TickP50: 1.234, TickP99: 5.678, TickMax: 90.149,
		BudgetMax: 50, Overruns: 2, Skipped: 3,
	}
	s.Write(&text)
	require.Contains(t, text.String(), "\n1200 ticks in 60.0 s: p50 1.23 ms, p99 5.68 ms, max 90.15 ms\n"+
		"ticks longer than the budget of 50 ms: 2 after the first second; ticks given up: 3\n")
}
