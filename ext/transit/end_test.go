package transit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/internal/ends"
	"github.com/atoll-sim/atoll/internal/seed"
)

// TestEndBytes changes bytes that come from another process, at random: they are refused, or are what
// another world might have sent. The world goes on.
func TestEndBytes(t *testing.T) {
	dice := rand.New(rand.NewPCG(seed.Of(t), 0))
	p := newPair(t, transit.Options{})
	anna, bert := p.a.born(t, 100), p.b.born(t, 0)
	for n := range uint64(5) {
		_, err := ask(t, p.a, p.a.pays, order{anna, p.b.roads.Ref(bert), 1, n})
		require.NoError(t, err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for _, x := range []*town{p.a, p.b} {
		go func() {
			for ctx.Err() == nil {
				if err := x.s.Step(context.Background()); err != nil {
					done <- err
					return
				}
				runtime.Gosched() // to who waits for the tick
			}
			done <- nil
		}()
	}
	a, b := ends.Of(p.a.roads), ends.Of(p.b.roads)
	asks := []byte("\x01\x02\x00\x00\x00\x00") // of world 1 to world 2
	first, err := b.Arrive(ctx, 1, asks)
	require.NoError(t, err)
	packet, err := a.Turn(ctx, 2, first, time.Minute)
	require.NoError(t, err)
	changed := func(src []byte) []byte {
		x := append([]byte(nil), src...)
		for range 1 + dice.IntN(3) {
			x[2+dice.IntN(len(x)-2)] = byte(dice.Uint32()) // not whose it is
		}
		return x[:2+dice.IntN(len(x)-1)]
	}
	for range 300 {
		_, err := b.Arrive(ctx, 1, changed(packet))
		require.True(t, err == nil || errors.Is(err, transit.ErrCarrier) || errors.Is(err, transit.ErrOlder), "%v", err)
		_, err = a.Turn(ctx, 2, changed(first), 0)
		require.True(t, err == nil || errors.Is(err, transit.ErrCarrier) || errors.Is(err, transit.ErrOlder), "%v", err)
	}
	for _, wrong := range [][]byte{nil, asks[:5], []byte("\x01\x03\x00\x00\x00\x00"), []byte("\x03\x02\x00\x00\x00\x00")} {
		_, err := b.Arrive(ctx, 1, wrong)
		require.ErrorIs(t, err, transit.ErrCarrier)
		_, err = b.Turn(ctx, 1, wrong, 0)
		require.ErrorIs(t, err, transit.ErrCarrier)
	}
	end()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	a.Close()
	b.Close()
	p.b.step(t)
	require.Greater(t, ends.PacketBytesMax, transit.ItemBytesMax+100)
}
