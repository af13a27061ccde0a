package realm_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
)

// BenchmarkFrames makes ticks of the demo's world without and with a frame of everything at each
// tick, in turn, and tells how long they take.
func BenchmarkFrames(b *testing.B) {
	var games [2]*game
	for i := range games {
		games[i] = newGame(b, realm.Options{Creatures: inBench(), Seed: 1}, 0)
		games[i].step(100)
	}
	view, err := games[1].World.NewView()
	require.NoError(b, err)
	ctx, stop := context.WithCancel(b.Context())
	var frames atomic.Int64
	done := make(chan error)
	go func() {
		for {
			f, err := view.Capture(ctx)
			if err != nil {
				done <- ctx.Err()
				return
			}
			frames.Add(1)
			f.Release()
		}
	}()
	for frames.Load() == 0 {
		games[1].step(1)
	}
	before := frames.Load()
	var took [2][]time.Duration
	for b.Loop() {
		for i, g := range games {
			began := time.Now()
			g.step(1)
			took[i] = append(took[i], time.Since(began))
		}
	}
	captured := frames.Load() - before
	stop()
	require.Error(b, <-done)
	quantile := func(i int, q float64) float64 {
		slices.Sort(took[i])
		return took[i][int(q*float64(len(took[i])-1))].Seconds()
	}
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		b.ReportMetric(quantile(0, q)*1e3, name+"-ms")
		b.ReportMetric(quantile(1, q)/quantile(0, q), name+"-ratio")
	}
	b.ReportMetric(float64(captured)/float64(len(took[1])), "frames/tick")
}
