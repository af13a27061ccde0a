package soak_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/soak"
)

// small is a run of a second or less.
func small() soak.Config {
	c := soak.Default()
	c.Duration, c.WarmUp, c.Entities, c.Clients, c.Hz, c.Queue = 250*time.Millisecond, 100*time.Millisecond, 4000, 8, 100, 128
	c.AnyRSS()
	return c
}

// TestSoak is a soak in small, of slots that retire after a few uses and of one
// that last.
func TestSoak(t *testing.T) {
	for name, change := range map[string]func(*soak.Config){
		"as by default":      func(*soak.Config) {},
		"slots retire":       func(c *soak.Config) { c.Versions = 3; c.Duration = time.Second },
		"one shard":          func(c *soak.Config) { c.Shards = 1 },
		"more shards":        func(c *soak.Config) { c.Shards, c.Workers = 7, 3 },
		"queues are tiny":    func(c *soak.Config) { c.Queue = 16 },
		"one client":         func(c *soak.Config) { c.Clients = 1 },
		"everything churns":  func(c *soak.Config) { c.Churn = 1000 },
		"without a duration": func(c *soak.Config) { c.Duration = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			c := small()
			change(&c)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if c.Duration > 0 {
				ctx = t.Context()
			}
			var live bytes.Buffer
			s, err := soak.Run(ctx, c, &live)
			require.NoError(t, err)
			require.True(t, s.OK(), "%v\n%s", s.Texts, live.String())
			require.NotZero(t, s.Ops)
			require.NotZero(t, s.Gone)
			require.NotZero(t, s.Missing)
			require.NotZero(t, s.Rejected)
			require.NotZero(t, s.Destroyed)
			require.EqualValues(t, s.Entities, s.Created-s.Destroyed)
			require.InEpsilon(t, c.Entities, s.Entities, 0.2)
			require.Equal(t, s.GoroutinesStart, s.GoroutinesEnd)
		})
	}
}

// TestInvalid checks that each setting is named that is out of its range.
func TestInvalid(t *testing.T) {
	c := soak.Config{Entities: 1, Clients: -1, Churn: -1, Shards: -1, Workers: -1, Hz: -1, Queue: 1, Versions: -1, Duration: -1}
	_, err := soak.Run(t.Context(), c, &bytes.Buffer{})
	for _, name := range []string{"Entities", "Clients", "Churn", "Shards", "Workers", "Hz", "Queue", "Versions", "Duration"} {
		require.ErrorContains(t, err, "soak: "+name+" is ")
	}
}

// noLeaks fails the test if goroutines that it starts from here on are still there behind
// it. On a busy machine one that has told that it is done may stay for a while.
func noLeaks(t testing.TB) {
	t.Helper()
	known := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, goleak.Find(known)) }, time.Minute, time.Millisecond)
	})
}
