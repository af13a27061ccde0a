//go:build !atollwide

package handle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// What the layout makes of some handles, pinned: bits that were saved must mean the
// same for ever.
const (
	shardLimit   = "4095"
	indexLimit   = "16777215"
	versionLimit = "268435455"

	shardBeyond   = "4096"
	indexBeyond   = "16777216"
	versionBeyond = "268435456"
	versionBits   = "28"

	bits          = "0030004170000005" // of 3:1047@5
	bitsOfNone    = "0030004170000000" // of 3:1047@0
	lastShard     = "fff0000000000001" // of the largest home, 0@1
	malformedBits = "0x0000000010000000"
)

func TestLayout(t *testing.T) {
	require.Equal(t, 64, handle.HomeBits+handle.IndexBits+handle.VersionBits)
	require.Equal(t, 4095, handle.HomeMax)
	require.Equal(t, 16777215, handle.IndexMax)
	require.Equal(t, 268435455, handle.VersionMax)

	require.Equal(t, handle.Handle(0x0030004170000005), handle.New(3, 1047, 5))
	require.Equal(t, handle.Handle(0xfff0000000000001), handle.New(handle.HomeMax, 0, 1))
	require.Equal(t, handle.Handle(0x000ffffff0000001), handle.New(0, handle.IndexMax, 1))
	require.Equal(t, handle.Handle(0x000000000fffffff), handle.New(0, 0, handle.VersionMax))
	require.Equal(t, ^handle.None, handle.New(handle.HomeMax, handle.IndexMax, handle.VersionMax))
}
