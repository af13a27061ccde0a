package transit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
)

// TestCarryResolved tells a world that a channel begins anew, though nothing follows: otherwise it
// would never be Done.
func TestCarryResolved(t *testing.T) {
	p := newPair(t, transit.Options{})
	anna, dead := p.a.born(t, 100), p.b.born(t, 0)
	p.b.Destroy(dead)
	p.b.step(t)
	_, err := ask(t, p.a, p.a.pays, order{anna, p.b.roads.Ref(dead), 30, 1})
	require.NoError(t, err)
	packet := turned(t, p.a, known(t, p.b, 1))
	arrived(t, p.b, packet) // it is refused, and nobody tells
	_, err = p.a.roads.Resolve(context.Background(), p.a.World, 2, transit.Return)
	require.NoError(t, err)
	require.NoError(t, p.b.roads.Close(p.b.World))
	p.b.step(t)
	require.False(t, p.b.roads.Done())
	ctx, end := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- transit.Carry(ctx, p.a.roads, p.b.roads) }()
	for !p.b.roads.Done() && t.Context().Err() == nil {
		p.a.step(t)
		p.b.step(t)
	}
	end()
	require.NoError(t, <-over)
	p.a.step(t)
	require.EqualValues(t, 100, p.a.gold(anna))
}
