//go:build atollwide

package handle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// What the layout makes of some handles, pinned: bits that were saved must mean the
// same for ever.
const (
	shardLimit   = "255"
	indexLimit   = "1073741823"
	versionLimit = "67108863"

	shardBeyond   = "256"
	indexBeyond   = "1073741824"
	versionBeyond = "67108864"
	versionBits   = "26"

	bits          = "030000105c000005" // of 3:1047@5
	bitsOfNone    = "030000105c000000" // of 3:1047@0
	lastShard     = "ff00000000000001" // of the largest home, 0@1
	malformedBits = "0x0000000004000000"
)

func TestLayout(t *testing.T) {
	require.Equal(t, 64, handle.HomeBits+handle.IndexBits+handle.VersionBits)
	require.Equal(t, 255, handle.HomeMax)
	require.Equal(t, 1073741823, handle.IndexMax)
	require.Equal(t, 67108863, handle.VersionMax)

	require.Equal(t, handle.Handle(0x030000105c000005), handle.New(3, 1047, 5))
	require.Equal(t, handle.Handle(0xff00000000000001), handle.New(handle.HomeMax, 0, 1))
	require.Equal(t, handle.Handle(0x00fffffffc000001), handle.New(0, handle.IndexMax, 1))
	require.Equal(t, handle.Handle(0x0000000003ffffff), handle.New(0, 0, handle.VersionMax))
	require.Equal(t, ^handle.None, handle.New(handle.HomeMax, handle.IndexMax, handle.VersionMax))
}
