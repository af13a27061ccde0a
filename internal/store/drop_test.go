package store_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestDropForgets lets the collector have the rows of a space that is dropped, those that
// were kept for the next chunk, too.
func TestDropForgets(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	all := s.mustCreate(sh, 100)
	spare := weak.Make(s.numbers.At(s.space.Locate(all[50])))
	require.NoError(t, sh.Table(set(number)).Retag(set(), func(store.Rows) {}))
	all = append(all, s.mustCreate(sh, 16)...)
	used := weak.Make(s.numbers.At(s.space.Locate(all[110])))
	runtime.GC()
	require.NotNil(t, spare.Value())
	s.destroy(all...)
	s.refresh()
	sh.Drop()
	s.space.Drop()
	runtime.GC()
	runtime.GC()
	require.Nil(t, spare.Value())
	require.Nil(t, used.Value())
	runtime.KeepAlive(s)
}
