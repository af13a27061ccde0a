package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/store"
)

// TestOccupantNames says what occupants are called.
func TestOccupantNames(t *testing.T) {
	var nobody *store.Occupant
	require.Equal(t, "somebody", nobody.String())
	require.Equal(t, "a test", (&store.Occupant{What: "a test"}).String())
	require.Equal(t, `system "x"`, (&store.Occupant{What: "system", Name: "x"}).String())
}
