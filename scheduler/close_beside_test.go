package scheduler_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// onRecord is a slog.Handler that calls a function.
type onRecord func()

func (onRecord) Enabled(context.Context, slog.Level) bool    { return true }
func (f onRecord) Handle(context.Context, slog.Record) error { f(); return nil }
func (f onRecord) WithAttrs([]slog.Attr) slog.Handler        { return f }
func (f onRecord) WithGroup(string) slog.Handler             { return f }

// TestCloseBesideStep closes the world on another goroutine while Step settles its tick, behind the
// refresh: the world is not idle yet, so Close panics, and the world goes on.
func TestCloseBesideStep(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 2})
	said := make(chan any, 1)
	closing := onRecord(func() {
		go func() {
			defer func() { said <- recover() }()
			w.Close()
		}()
		said <- <-said // Step goes on when Close has returned
	})
	s := scheduler.New(w, scheduler.Options{Workers: 2, Logger: slog.New(closing)})
	s.MustAdd("fails once", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() == 0 && c.Shard() == 0 {
				panic("failed")
			}
		}
	})
	require.ErrorContains(t, s.Step(t.Context()), "failed")
	require.Contains(t, <-said, "World.Close while a refresh runs")
	require.NoError(t, w.Err())
	require.NoError(t, s.Step(t.Context()))
	w.Close()
	require.ErrorIs(t, s.Step(t.Context()), world.ErrClosed)
}
