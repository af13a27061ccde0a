package transit_test

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestMailOfNothing sends messages of types that take no memory.
func TestMailOfNothing(t *testing.T) {
	type empty struct{}
	type half struct {
		Text string
		Here struct{}
		None [0]int
	}
	w := world.MustNew(world.Options{Shards: 1})
	roads := transit.New(w, "roads", transit.Options{World: 1})
	bell := transit.RegisterMail(roads, world.RegisterMessage[empty](w, "bell"))
	note := transit.RegisterMail(roads, world.RegisterMessage[half](w, "note"))
	to := transit.RefOf(2, handle.New(0, 1, 1))
	require.NoError(t, bell.Tell(w, handle.None, to, empty{}))
	require.NoError(t, note.Tell(w, handle.None, to, half{Text: "hi"}))
	for n, m := range bell.Waiting(2) {
		require.EqualValues(t, 1, n)
		require.Equal(t, to, m.To)
	}
	for _, m := range note.Waiting(2) {
		require.Equal(t, half{Text: "hi"}, m.Body)
	}
	n, err := roads.Resolve(t.Context(), w, 2, transit.Return)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// Friends is a component with Refs that are not written as memory.
type Friends struct{ All []transit.Ref }

// TestRefNowhere saves and loads Refs that were made without a world.
func TestRefNowhere(t *testing.T) {
	type friend struct{ Friends }
	newWorld := func() (*world.World, *world.Component[Friends]) {
		w := world.MustNew(world.Options{Shards: 1})
		return w, world.Register[Friends](w, "friends")
	}
	w, _ := newWorld()
	h, err := world.NewBundle[friend](w).Create(w, friend{Friends{[]transit.Ref{transit.RefOf(0, handle.New(0, 1, 1)), transit.RefOf(2, handle.None)}}})
	require.NoError(t, err)
	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, w, snapshot.Options{}))
	again, _ := newWorld()
	require.NoError(t, snapshot.Load(&image, again, snapshot.Options{}))
	require.Equal(t, []transit.Ref{{}, transit.RefOf(2, handle.None)}, world.Read[Friends](again).Get(h).All)
}

// TestResolveWhileSending resolves a channel while a system sends more in each tick than one
// transaction gives back: what was under way comes back, and the rest is sent.
func TestResolveWhileSending(t *testing.T) {
	const before, each = 3000, 1500
	p := newPair(t, transit.Options{Max: 100_000})
	x := p.a
	anna, bert := x.born(t, 0), p.b.born(t, 0)
	for range before {
		require.NoError(t, x.coins.Tell(x.World, anna, p.b.roads.Ref(bert), Coins{Gold: 1}))
	}
	sent, floods := 0, true // a part was given back since
	x.s.MustAdd("flood", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() != 0 || !floods {
				return
			}
			for range each {
				require.NoError(t, x.coins.Tell(c, anna, p.b.roads.Ref(bert), Coins{Gold: 1}))
			}
			sent += each
		}
	})
	port, err := x.OpenPort()
	require.NoError(t, err)
	done := make(chan int, 1)
	go func() {
		n, _ := x.roads.Resolve(context.Background(), port, 2, transit.Return)
		done <- n
	}()
	for n := 0; n == 0; {
		require.Less(t, x.gold(anna), int64(60_000), "it does not end")
		select {
		case n = <-done:
			require.GreaterOrEqual(t, n, before)
			require.Equal(t, 0, (n-before)%each)
		default:
			acked := x.roads.Channel(2).Acked
			x.step(t)
			if floods = x.roads.Channel(2).Acked != acked; !floods {
				runtime.Gosched() // Resolve has not asked yet
			}
		}
	}
	x.step(t)
	all := int64(before + sent)
	require.EqualValues(t, all, x.gold(anna)+int64(x.roads.Channel(2).Items))
	require.Positive(t, x.roads.Channel(2).Items)
	items := x.roads.Channel(2).Items
	for range 3 {
		a := known(t, p.b, 1)
		packet := turned(t, x, a)
		require.NotEmpty(t, packet.Items)
		turned(t, x, arrived(t, p.b, packet))
	}
	p.b.step(t)
	require.Greater(t, p.b.gold(bert), int64(min(items, 4096)-1))
}
