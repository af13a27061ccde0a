package shard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/shard"
)

// TestNames says what outcomes and visitors are called.
func TestNames(t *testing.T) {
	require.Equal(t, []string{"undecided", "broken", "unknown"},
		[]string{shard.Undecided.String(), shard.Broken.String(), (shard.Broken + 1).String()})
	var nobody *shard.Occupant
	require.Equal(t, "somebody", nobody.String())
	require.Equal(t, "a test", (&shard.Occupant{What: "a test"}).String())
	require.Equal(t, `system "x"`, (&shard.Occupant{What: "system", Name: "x"}).String())
}
