package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// tradesEach is how many trades there are in a tick.
const tradesEach = 100_000

// tradeScene is a world of traders, and the port that asks for trades.
func tradeScene(b *testing.B) (*fixture, []handle.Handle, *world.Port) {
	f := newFixture(b, world.Options{Shards: 2, QueueRequests: 2 * tradesEach, QueueBytes: 64 << 20, OutboxRequests: 2 * tradesEach, OutboxBytes: 64 << 20})
	hs := f.newUnits(10_000)
	for _, h := range hs {
		require.NoError(b, f.health.Set(f.World, h, Health{1 << 40}))
	}
	return f, hs, f.port()
}

// BenchmarkTransaction is a trade of two entities: a tick has 100,000.
func BenchmarkTransaction(b *testing.B) {
	f, hs, p := tradeScene(b)
	pay := f.registerPay()
	trades(b, f, hs, func(d Pay) error { return pay.Call(p, d) }, 1)
}

// BenchmarkTransactionByHand is the same by functions: take, give, and give back if that fails.
func BenchmarkTransactionByHand(b *testing.B) {
	f, hs, p := tradeScene(b)
	giveBack := world.RegisterFunc(f.World, "give back", func(self *world.EntityContext, d Pay) {
		f.health.Write(self).Points += d.Points
	})
	give := world.RegisterFunc(f.World, "give", func(self *world.EntityContext, d Pay) {
		if h := f.health.Write(self); h == nil {
			_ = giveBack.Call(self, d.From, d)
		} else {
			h.Points += d.Points
		}
	})
	take := world.RegisterFunc(f.World, "take", func(self *world.EntityContext, d Pay) {
		h := f.health.Write(self)
		if h == nil || h.Points < d.Points {
			return
		}
		if h.Points -= d.Points; give.Call(self, d.To, d) != nil {
			h.Points += d.Points
		}
	})
	trades(b, f, hs, func(d Pay) error { return take.Call(p, d.From, d) }, 2)
}

// trades asks for trades, tick by tick; each takes some refreshes.
func trades(b *testing.B, f *fixture, hs []handle.Handle, ask func(Pay) error, refreshes int) {
	tick := func(n int) {
		for i := range n {
			if err := ask(Pay{hs[i*7%len(hs)], hs[i*13%len(hs)], 1}); err != nil {
				b.Fatal(err)
			}
		}
		for range refreshes {
			f.Refresh()
		}
	}
	for range 3 {
		tick(tradesEach)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= tradesEach {
		tick(min(left, tradesEach))
	}
}
