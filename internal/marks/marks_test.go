package marks_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/marks"
)

// TestLast finds the marks of a file wherever they are, and marks of no other.
func TestLast(t *testing.T) {
	const id = 0x0102030405060708
	last := func(b []byte) uint64 {
		tick, end, err := marks.Last(iotest.OneByteReader(bytes.NewReader(b)), id)
		require.NoError(t, err)
		again, same, err := marks.Last(bytes.NewReader(b), id)
		require.NoError(t, err)
		require.Equal(t, tick, again)
		require.Equal(t, end, same)
		if tick > 0 {
			at := bytes.LastIndex(b, marks.Append(nil, id, tick))
			require.EqualValues(t, at+len(marks.Append(nil, id, tick)), end)
		}
		return tick
	}
	require.Zero(t, last(nil))
	one := marks.Append(nil, id, 7)
	require.True(t, marks.Valid(one))
	require.EqualValues(t, 7, last(one))
	require.Zero(t, last(marks.Append(nil, id+1, 7)))
	for at := range one { // where one buffer ends and the next begins
		filler := bytes.Repeat([]byte{marks.Kind}, 1<<16-at)
		require.EqualValues(t, 9, last(marks.Append(append(filler, one...), id, 9)), at)
		require.EqualValues(t, 7, last(append(append(filler, one...), one[:at]...)), at)
		altered := bytes.Clone(one)
		altered[at] ^= 1
		require.False(t, marks.Valid(altered))
		require.Zero(t, last(altered), at)
	}
	failed := errors.New("the disk fails")
	_, _, err := marks.Last(iotest.ErrReader(failed), id)
	require.ErrorIs(t, err, failed)
}
