package snapshot_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/world"
)

// insertForged inserts bytes, and returns how much memory that has taken for each of them.
func insertForged(t *testing.T, to *world.World, b []byte) (each float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	piece, err := snapshot.ReadPiece(b)
	if err == nil {
		_, err = snapshot.Insert(to, piece, snapshot.InsertOptions{BytesMax: 1 << 20})
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(len(b)), err
}

// forged returns a piece without entities that says of its types what a catalogue does.
func forged(x *format.Catalogue) []byte {
	whole := must(snapshot.ExtractAll(world.MustNew(world.Options{}), snapshot.ExtractOptions{})).Bytes()
	b := extend.AppendText(whole[:12:12], string(x.Append(nil)))
	return resum(append(b, make([]byte, 2+8)...))
}

// TestPieceBombs inserts pieces of a few KB that would take much more memory or time than they have
// bytes.
func TestPieceBombs(t *testing.T) {
	x := newKeep(t, 1, 0)
	var many format.Catalogue
	for i := range 4000 {
		many.Components = append(many.Components, format.Named{Name: fmt.Sprint(i), Type: "t"})
	}
	each, err := insertForged(t, x.World, forged(&many))
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.Less(t, each, 3000., "bytes for each byte")

	fuses := format.Named{Name: "fuses", Type: "t"}
	_, err = insertForged(t, x.World, forged(&format.Catalogue{Extensions: []format.Named{fuses}, Payloads: []format.Named{fuses, fuses}}))
	require.ErrorIs(t, err, snapshot.ErrAltered)

	type short struct{ A uint8 }
	type long struct {
		A    uint8
		More [8192]uint8
	}
	from, to := world.MustNew(world.Options{}), world.MustNew(world.Options{})
	timers := timer.New(from, "fuses", world.RegisterMessage[short](from, "fuse"), timer.Options{})
	timer.New(to, "fuses", world.RegisterMessage[long](to, "fuse"), timer.Options{})
	world.Register[Link](from, "link")
	world.Register[Link](to, "link")
	h := create(from, Link{})
	for range 1000 {
		must(timers.After(from, h, 5, short{}))
	}
	each, err = insertForged(t, to, must(snapshot.ExtractAll(from, snapshot.ExtractOptions{})).Bytes())
	require.ErrorIs(t, err, snapshot.ErrTooLarge)
	require.ErrorContains(t, err, `the values of "fuses" in the piece take more than InsertOptions.BytesMax = 1048576`)
	require.Less(t, each, 100.)
	require.Zero(t, to.Count())
}
