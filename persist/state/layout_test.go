package state_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Types whose sizes make masks that end anywhere in a word.
type (
	three struct {
		A uint8
		_ uint8
		C uint8
	}
	six struct {
		A uint16
		B uint8
		C uint16
	}
	twelve struct {
		A uint32
		B uint8
		C uint32
	}
	odd struct {
		A [7]struct {
			X uint8
			_ [1]uint8
		}
		B uint8
	}
	nothing struct{ _ [24]byte }
)

// TestEveryByte checks, for rows at all places of a chunk, that each byte counts
// exactly if it is of a field.
func TestEveryByte(t *testing.T) {
	everyByte(t, three{}, "101")
	everyByte(t, six{}, "111011")
	everyByte(t, twelve{}, "111110001111")
	everyByte(t, odd{}, "101010101010101")
	everyByte(t, nothing{}, "000000000000000000000000")
}

func everyByte[T any](t *testing.T, zero T, counts string) {
	t.Run(fmt.Sprintf("%T", zero), func(t *testing.T) {
		w := world.MustNew(world.Options{Shards: 1})
		const rows = 16 + 64 + 7
		addRows[T](t, w, rows)
		h := state.NewHasher(w, nil)
		want, err := h.StateHash()
		require.NoError(t, err)
		seen := 0
		for _, chunk := range engine.Of(w).Survey().Shard(0).Tables()[1].Chunks() {
			bytes := chunk.Cells(0).Bytes
			seen += len(bytes)
			for i := range bytes {
				bytes[i] ^= 1
				got, err := h.StateHash()
				require.NoError(t, err)
				bytes[i] ^= 1
				require.Equal(t, counts[i%len(counts)] == '1', got != want, "byte %d of %d", i, len(counts))
			}
		}
		require.Equal(t, rows*len(counts), seen)
	})
}
