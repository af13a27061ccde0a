package snapshot_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// saveOf saves a world with a component that has these values.
func saveOf[T any](t testing.TB, values ...T) []byte {
	t.Helper()
	w := world.MustNew(world.Options{Shards: 1, ChunkRowsFirst: 4})
	world.Register[T](w, "it")
	require.NoError(t, world.NewBundle[struct{ V T }](w).CreateN(w, len(values), func(i int, x *struct{ V T }) { x.V = values[i] }))
	w.Refresh()
	var image bytes.Buffer
	require.NoError(t, snapshot.Save(&image, w, snapshot.Options{Codecs: codecs(), Compression: snapshot.None}))
	return image.Bytes()
}
