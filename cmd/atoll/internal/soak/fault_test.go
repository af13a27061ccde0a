package soak_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/soak"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// once calls f after a tick, as soon as there are guests.
func once(f func(*soak.Stage)) func(*soak.Config) {
	return func(c *soak.Config) {
		done := false
		c.Between(func(s *soak.Stage) {
			if !done && s.Guest() != handle.None {
				done = true
				f(s)
			}
		})
	}
}

// every is true every nth time.
func every(n int64) func() bool {
	var calls atomic.Int64
	return func() bool { return calls.Inc()%n == 0 }
}

// nth is true the nth time.
func nth(n int64) func() bool {
	var calls atomic.Int64
	return func() bool { return calls.Inc() == n }
}

// TestFaults injects one fault at a time, which must be noticed.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name   string
		inject func(*soak.Config)
		want   string
	}{
		{"vanished animal", once(func(s *soak.Stage) { s.World().Destroy(s.Animal()) }), "animals in tables: "},
		{"vanished guest", once(func(s *soak.Stage) { s.World().Destroy(s.Guest()) }), "entities destroyed: |requests gone: |is stale"},
		{"doubled animal", once(func(s *soak.Stage) { s.Double(s.Animal()) }), "animals in tables: "},
		{"doubled guest", once(func(s *soak.Stage) { s.Double(s.Guest()) }), "its book has"},
		{"changed components", func(c *soak.Config) { c.Between((*soak.Stage).ChangeValues) }, ", want value "},
		{"columns mixed up", once(func(s *soak.Stage) { s.MixUp(s.Animal()) }), "is mixed up: "},
		{"message out of order", once(func(s *soak.Stage) { s.Say(s.Guest()) }), " hears message 1048576 of a sender after "},
		{"lost message", func(c *soak.Config) { c.Lose(every(50)) }, "hears message .* after| heard"},
		{"false alive", once(func(s *soak.Stage) { s.Bury(s.Animal()) }), "is alive"},
		{"swallowed panic", once((*soak.Stage).Throw), "panics that steps returned: "},
		{"unknown panic", func(c *soak.Config) {
			c.System(func(*world.Build) func(*world.Context) {
				return func(c *world.Context) {
					if c.Tick() == 3 && c.Shard() == 0 {
						panic("no reason")
					}
				}
			})
		}, `system "hook" panicked on shard 0 in tick 3: no reason`},
		{"outcome never told", func(c *soak.Config) {
			c.Deaf(nth(20))
			c.PatienceMax(200 * time.Millisecond)
		}, "outcome"},
		{"clients that never rest", func(c *soak.Config) {
			once((*soak.Stage).Contest)(c)
			c.PatienceMax(200 * time.Millisecond)
		}, "clients still wait for outcomes"},
		{"heap leak", func(c *soak.Config) {
			var held [][]byte
			c.Between(func(*soak.Stage) { held = append(held, make([]byte, 1<<20)) })
		}, "the live heap grew from "},
		{"goroutine leak", func(c *soak.Config) {
			c.Duration = 500 * time.Millisecond
			c.Between(func(s *soak.Stage) { go func() { <-t.Context().Done() }() })
		}, " goroutines at the end, "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // each waits more than it works
			c := small()
			test.inject(&c)
			var live bytes.Buffer
			s, err := soak.Run(context.Background(), c, &live)
			require.NoError(t, err)
			require.False(t, s.OK())
			require.NotZero(t, s.Violations)
			require.Regexp(t, test.want, strings.Join(s.Texts, "\n"))
			require.Contains(t, live.String(), "VIOLATION ")
		})
	}
}
