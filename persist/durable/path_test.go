package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/durable"
)

// A path that was forgotten, as by a setting without a value, is named by the error.
func TestNoPath(t *testing.T) {
	const want = "durable: the path of the directory is empty; pass \".\" for the working directory"
	x := newBank(1)
	_, err := x.open("")
	require.EqualError(t, err, want)
	_, err = durable.Plan("", x.World, x.s, x.options)
	require.EqualError(t, err, want)

	st, err := x.open(t.TempDir()) // the world is as new as before
	require.NoError(t, err)
	require.NoError(t, st.Close())
}
