package inspect_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
)

// million is a world of a million entities that move.
func million(b *testing.B) *fixture {
	f := newWorldEvery(b, 8, 2, 50*time.Millisecond)
	_, err := f.units.AppendN(nil, f.w, 1_000_000, func(i int, u *Unit) {
		*u = Unit{Position: Position{float64(i % 1000), float64(i / 1000)}, Velocity: Velocity{1, 1}, Health: Health{HP: i % 100}}
	})
	require.NoError(b, err)
	return f
}

// BenchmarkAPI asks a world of a million entities that ticks all the time.
func BenchmarkAPI(b *testing.B) {
	f := million(b).inspect(inspect.Options{}).run()
	for name, target := range map[string]func(i int) string{
		"stats": func(int) string { return "/api/stats" },
		"query": func(i int) string { return queryOf(fmt.Sprintf("Health.HP == %d, Position.X > 0.%d", i%100, i)) },
		"order": func(i int) string {
			return queryOf(fmt.Sprintf("Position.X > 0.%d", i), "&order=Position.Y&total=Position.X")
		},
		"map":     func(i int) string { return fmt.Sprintf("%s&box=0,0,1000,%d", mapPath, 900+i) },
		"map set": func(i int) string { return fmt.Sprintf("%s&color=set&box=0,0,1000,%d", mapPath, 900+i) },
		"entity":  func(i int) string { return fmt.Sprintf("/api/entity?handle=0:%d@1", i%10000) },
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				w := record(f.x, request("GET", target(i), ""))
				if w.Code != 200 {
					b.Fatal(w.Body)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "median-ms")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1e3, "max-ms")
		})
	}
}

// BenchmarkTick makes ticks without an inspector, with one that nobody looks at, and with one that
// is looked at.
func BenchmarkTick(b *testing.B) {
	for _, kind := range []string{"without", "with", "looking"} {
		b.Run(kind, func(b *testing.B) {
			f := newWorld(b, 8, 2)
			_, err := f.units.AppendN(nil, f.w, 100_000, func(i int, u *Unit) { u.Velocity = Velocity{1, 1} })
			require.NoError(b, err)
			if kind != "without" {
				f.inspect(inspect.Options{})
			}
			if kind == "looking" {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				go record(f.x, request("GET", "/api/events", "").WithContext(ctx))
			}
			for b.Loop() {
				_ = f.s.Step(context.Background())
			}
		})
	}
}
