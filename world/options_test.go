package world_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestOptionsDefaults pins the defaults: they shape the world, so a change of
// one is a change of every recorded world.
func TestOptionsDefaults(t *testing.T) {
	w := world.MustNew(world.Options{})
	require.Equal(t, world.Options{
		Shards:          4,
		IndexMax:        handle.IndexMax,
		VersionMax:      handle.VersionMax,
		VersionsEach:    handle.VersionMax,
		ChunkRowsFirst:  16,
		ChunkRowsFactor: 4,
		ChunkRowsMax:    4096,
		TickInterval:    50 * time.Millisecond,
		PortsMax:        1 << 14,
		QueueRequests:   1 << 12,
		QueueBytes:      1 << 20,
		OutboxRequests:  1 << 16,
		OutboxBytes:     1 << 24,
		FramesMax:       3,
		FramesBytes:     min(4<<30, math.MaxInt/8),
	}, w.Options())
	require.Equal(t, 4, w.Shards())

	given := world.Options{
		Shards: 3, IndexMax: 1, VersionMax: 2, VersionsEach: 1, ChunkRowsFirst: 8, ChunkRowsFactor: 1, ChunkRowsMax: 8,
		TickInterval: 1, KeepOrder: true, PortsMax: 2,
		QueueRequests: 3, QueueBytes: 16, OutboxRequests: 5, OutboxBytes: 17, FramesMax: 6, FramesBytes: 18,
	}
	require.Equal(t, given, world.MustNew(given).Options(), "what is given stays")
}

func TestOptionsLimits(t *testing.T) {
	const bytesMax = min(1<<32, math.MaxInt/8)
	for _, test := range []struct {
		name    string
		options world.Options
		broken  []string
	}{
		{"Shards below", world.Options{Shards: -1}, []string{"Shards is -1, want 1 to " + fmt.Sprint(handle.HomeMax)}},
		{"Shards above", world.Options{Shards: handle.HomeMax + 1}, []string{fmt.Sprintf("Shards is %d, want 1 to %d", handle.HomeMax+1, handle.HomeMax)}},
		{"IndexMax", world.Options{IndexMax: handle.IndexMax + 1}, []string{fmt.Sprintf("IndexMax is %d, want 1 to %d", handle.IndexMax+1, handle.IndexMax)}},
		{"VersionMax", world.Options{VersionMax: handle.VersionMax + 1}, []string{fmt.Sprintf("VersionMax is %d, want 1 to %d", handle.VersionMax+1, handle.VersionMax)}},
		{"VersionsEach", world.Options{VersionMax: 7, VersionsEach: 8}, []string{"VersionsEach is 8, want 1 to 7"}},
		{"TickInterval", world.Options{TickInterval: -time.Second}, []string{"TickInterval is -1s, want more than 0"}},
		{"PortsMax below", world.Options{PortsMax: -1}, []string{"PortsMax is -1, want 1 to 1048576"}},
		{"PortsMax above", world.Options{PortsMax: 1<<20 + 1}, []string{"PortsMax is 1048577, want 1 to 1048576"}},
		{"QueueRequests", world.Options{QueueRequests: -2}, []string{"QueueRequests is -2, want 1 to 16777216"}},
		{"QueueBytes", world.Options{QueueBytes: -2}, []string{fmt.Sprintf("QueueBytes is -2, want 16 to %d", bytesMax)}},
		{"QueueBytes for nothing", world.Options{QueueBytes: 15}, []string{fmt.Sprintf("QueueBytes is 15, want 16 to %d", bytesMax)}},
		{"FramesMax", world.Options{FramesMax: 17}, []string{"FramesMax is 17, want 1 to 16"}},
		{"FramesBytes", world.Options{FramesBytes: -1}, []string{fmt.Sprintf("FramesBytes is -1, want 1 to %d", math.MaxInt)}},
		{"OutboxBytes for nothing", world.Options{OutboxBytes: 1}, []string{fmt.Sprintf("OutboxBytes is 1, want 16 to %d", bytesMax)}},
		{"OutboxRequests", world.Options{OutboxRequests: -2}, []string{"OutboxRequests is -2, want 1 to 16777216"}},
		{"OutboxBytes", world.Options{OutboxBytes: -2}, []string{fmt.Sprintf("OutboxBytes is -2, want 16 to %d", bytesMax)}},
		{"ChunkRowsFirst odd", world.Options{ChunkRowsFirst: 24}, []string{"ChunkRowsFirst is 24, want a power of two from 1 to 4096"}},
		{"ChunkRowsFirst below", world.Options{ChunkRowsFirst: -4}, []string{"ChunkRowsFirst is -4, want a power of two"}},
		{"ChunkRowsFirst above the largest", world.Options{ChunkRowsFirst: 64, ChunkRowsMax: 32}, []string{"ChunkRowsFirst is 64, want at most ChunkRowsMax, 32"}},
		{"ChunkRowsFactor", world.Options{ChunkRowsFactor: 3}, []string{"ChunkRowsFactor is 3, want a power of two from 1 to 4096"}},
		{"ChunkRowsMax above", world.Options{ChunkRowsMax: 8192}, []string{"ChunkRowsMax is 8192, want a power of two from 1 to 4096"}},
		{"ChunkRowsMax odd", world.Options{ChunkRowsMax: 100}, []string{"ChunkRowsMax is 100, want a power of two from 1 to 4096"}},
		{
			"all at once",
			world.Options{
				Shards: -1, IndexMax: 1 << 31, VersionMax: 1 << 30, TickInterval: -1, PortsMax: -1,
				QueueRequests: -1, QueueBytes: -1, OutboxRequests: -1, OutboxBytes: -1,
			},
			[]string{
				"Shards", "IndexMax", "VersionMax", "TickInterval", "PortsMax",
				"QueueRequests", "QueueBytes", "OutboxRequests", "OutboxBytes",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, err := world.New(test.options)
			require.Nil(t, w)
			require.Error(t, err)
			for _, broken := range test.broken {
				require.Contains(t, err.Error(), "world: "+broken)
			}
			require.PanicsWithError(t, err.Error(), func() { world.MustNew(test.options) })
		})
	}
}

// TestOptionsExtremes makes worlds at the ends of what is allowed.
func TestOptionsExtremes(t *testing.T) {
	for _, shards := range []int{1, 2, 3, handle.HomeMax} {
		f := newFixture(t, world.Options{Shards: shards, VersionMax: 1})
		all := f.newUnits(2*shards + 1)
		f.Refresh()
		for i, h := range all {
			require.Equal(t, int64(i), world.Read[Health](f.World).Get(h).Points)
			require.Less(t, h.Home(), uint32(shards))
		}
		h, err := f.unit.Create(f.port(), Unit{})
		require.NoError(t, err)
		require.Equal(t, uint32(shards), h.Home(), "what ports create is at home outside")
		f.Refresh()
		require.Equal(t, world.Alive, f.Status(h))
	}
}
