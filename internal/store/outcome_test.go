package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/store"
)

// TestNames says what outcomes and visitors are called.
func TestNames(t *testing.T) {
	require.Equal(t, []string{"undecided", "broken", "unknown"},
		[]string{store.Undecided.String(), store.Broken.String(), (store.Broken + 1).String()})
	var nobody *store.Occupant
	require.Equal(t, "somebody", nobody.String())
	require.Equal(t, "a test", (&store.Occupant{What: "a test"}).String())
	require.Equal(t, `system "x"`, (&store.Occupant{What: "system", Name: "x"}).String())
}
