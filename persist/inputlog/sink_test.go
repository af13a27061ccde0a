package inputlog_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// sorted is an output that is told which records are ticks.
type sorted struct {
	log    bytes.Buffer
	writes int
	ticks  []uint64
	fail   error // of the next Tick
}

func (s *sorted) Write(b []byte) (int, error) {
	s.writes++
	return s.log.Write(b)
}

func (s *sorted) Tick(n uint64, record []byte) (int, error) {
	if s.fail != nil {
		return 0, s.fail
	}
	s.ticks = append(s.ticks, n)
	return s.log.Write(record)
}

// TestTicksApart records to an output that has a Tick: it gets each tick by that, with its number,
// and the rest by Write, the head by the first. The log has the same bytes.
func TestTicksApart(t *testing.T) {
	var apart sorted
	var whole bytes.Buffer
	for range 2 {
		x := newSea(t, options(), scheduler.Options{Workers: 1})
		o := inputlog.Options{Codecs: codecs()}
		var r *inputlog.Recorder
		var err error
		if whole.Len() == 0 {
			r, err = inputlog.NewRecorder(x.World, &whole, o)
		} else {
			r, err = inputlog.NewRecorder(x.World, &apart, o)
			require.Equal(t, 2, apart.writes, "the head and the kinds")
		}
		require.NoError(t, err)
		p := x.port(t)
		for i := range 3 {
			_, err := x.unit.Create(p, Unit{Body{Small: uint8(i)}, Label{"some"}})
			require.NoError(t, err)
			x.step(t)
		}
		require.NoError(t, r.Hash(x.hasher))
		require.NoError(t, r.Close())
	}
	require.Equal(t, []uint64{0, 1, 2}, apart.ticks)
	require.Equal(t, 4, apart.writes, "and a hash and the end")
	require.Equal(t, whole.Bytes(), apart.log.Bytes())
}

// TestTickFails checks that a log whose output refuses a tick ends, and says why.
func TestTickFails(t *testing.T) {
	w := world.MustNew(world.Options{})
	var out sorted
	r, err := inputlog.NewRecorder(w, &out, inputlog.Options{})
	require.NoError(t, err)
	w.Refresh()
	require.NoError(t, r.Err())
	out.fail = errors.New("full")
	w.Refresh()
	require.Equal(t, out.fail, r.Err())
	out.fail = nil
	if inputlog.Sealed { // nobody sees what the log lacks
		require.ErrorIs(t, w.Err(), world.ErrClosed)
		require.ErrorContains(t, w.Err(), "full")
		require.Error(t, r.Close())
		return
	}
	w.Refresh()
	require.Error(t, r.Close())
	require.Equal(t, []uint64{0}, out.ticks)
}
