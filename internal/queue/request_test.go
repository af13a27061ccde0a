package queue_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
)

// TestNewKindLimit makes as many kinds of requests as a request can name.
func TestNewKindLimit(t *testing.T) {
	kinds := newKinds()
	made := 0
	for ; kinds.Len() < math.MaxInt16; made++ {
		queue.NewKind(kinds, mem.TypeOf[struct{}]())
	}
	text := fmt.Sprintf("world: a kind of request is one more than the %d that a world can have besides its own; register fewer components, bundles, messages and functions", made)
	require.Zero(t, kinds.Left())
	require.PanicsWithValue(t, text, func() { queue.NewKind(kinds, mem.TypeOf[struct{}]()) })
	require.Equal(t, math.MaxInt16, kinds.Len())
}

// TestNames says what outcomes are called.
func TestNames(t *testing.T) {
	require.Equal(t, []string{"undecided", "broken", "unknown"},
		[]string{queue.Undecided.String(), queue.Broken.String(), (queue.Broken + 1).String()})
}
