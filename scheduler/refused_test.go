package scheduler_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

var errSold = errors.New("sold out")

// TestRefusedTransaction has systems, a hook and a function call transactions that return an error:
// the Logger gets them, with how many were left out, and no tick fails. The requests of ports, which
// are told, are not among them.
func TestRefusedTransaction(t *testing.T) {
	for _, workers := range []int{1, 3} {
		var log bytes.Buffer
		f := newFixtureOf(t, world.Options{Shards: 3}, scheduler.Options{
			Workers: workers, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		buy := world.RegisterTransaction(f.w, "buy", func(_ *world.Tx, n int) (struct{}, error) {
			if n > 0 {
				return struct{}{}, errSold
			}
			return struct{}{}, nil
		})
		calls := []int{1, 0, 2} // by tick, on each shard
		f.MustAdd("shop", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				for range calls[min(c.Tick(), 2)] * int(min(c.Tick()*5+1, 11)) {
					require.NoError(t, buy.Call(c, 1))
				}
				require.NoError(t, buy.Call(c, 0))
			}
		})
		f.MustAdd("bank", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) { require.NoError(t, buy.Call(c, calls[min(c.Tick(), 2)])) }
		}, scheduler.Global())
		lines := func() (all []string) {
			f.step(1)
			for _, s := range strings.Split(log.String(), "\n") {
				if _, s, ok := strings.Cut(s, "level=WARN "); ok {
					all = append(all, s)
				}
			}
			log.Reset()
			return all
		}
		require.Equal(t, []string{
			`msg="transaction refused" transaction=buy shard=0 tick=0 err="sold out"`,
			`msg="transaction refused" transaction=buy shard=1 tick=0 err="sold out"`,
			`msg="transaction refused" transaction=buy shard=2 tick=0 err="sold out"`,
			`msg="transaction refused" transaction=buy shard=-1 tick=0 err="sold out"`,
		}, lines())
		require.Empty(t, lines())
		all := lines()
		require.Len(t, all, 17)
		require.Equal(t, `msg="more transactions refused" transactions=51 tick=2`, all[16])

		calls[2] = 0
		port, err := f.w.OpenPort()
		require.NoError(t, err)
		require.NoError(t, buy.Call(port, 1))
		require.Empty(t, lines())

		call := world.RegisterFunc(f.w, "call", func(self *world.EntityContext, n int) { require.NoError(t, buy.Call(self, n)) })
		f.w.Observe("born", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(c *world.Context, _ world.Event, _ []handle.Handle) { require.NoError(t, buy.Call(c, 1)) }
		})
		h, err := f.markers.Create(port, Marker{Value{1}})
		require.NoError(t, err)
		require.NoError(t, call.Call(port, h, 1))
		require.Empty(t, lines(), "they come with the next refresh")
		require.Len(t, lines(), 2)
		require.Empty(t, lines())
	}
}
