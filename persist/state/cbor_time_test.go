package state_test

import (
	"math"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/state"
)

// Dated holds times in each way in which a value can, beside fields that have methods.
type Dated struct {
	_       struct{ _ time.Time }
	Number  int32
	Between Span `cbor:"between"`
	Span
	At       time.Time
	Deadline *time.Time `json:"deadline,omitempty"`
	Logins   map[string]time.Time
	Rounds   [][2]time.Time
	By       map[int8]*Span
	Turn     Shift
}

type Span struct {
	Shift
	From, Until time.Time
}

func (Span) String() string { return "" }

type Shift int8

func (Shift) String() string { return "" }

// TestTimes reads times as the same moment and offset, whatever the zone of the machine.
func TestTimes(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("home", 3600)
	defer func() { time.Local = local }()
	zone := func(offset int) *time.Location { return time.FixedZone("", offset) }
	zero := time.Time{}
	all := []time.Time{
		zero, zero.In(zone(-3600)), time.Unix(0, 1).UTC(), time.Unix(1, 2).In(zone(3600)), time.Unix(1, 0).In(zone(-75)),
		time.Unix(5, 999999999).In(zone(-1)), time.Unix(5, 0).In(zone(86399)), time.Unix(5, 0).In(zone(-86400)), time.Unix(5, 0).In(zone(100 * 3600)),
		time.Unix(5, 0).In(zone(math.MaxInt32)), time.Unix(5, 0).In(zone(math.MinInt32)), time.Unix(5, 0).In(zone(math.MaxInt)), time.Unix(5, 0).In(zone(math.MinInt)),
		time.Date(10000, 1, 1, 0, 0, 0, 5, zone(1)), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(0, 1, 1, 0, 0, 0, 0, zone(60)), time.Unix(math.MaxInt64/2, 3).UTC(),
	}
	for _, at := range all {
		roundTrip(t, []time.Time{at, zero})
		roundTrip(t, []*time.Time{&at, nil, &zero})
		roundTrip(t, []map[string]time.Time{nil, {"a": at, "b": zero}})
		roundTrip(t, [][]Dated{{{}, {
			Number: 1, Between: Span{1, at, zero}, Span: Span{2, zero, at}, At: at, Deadline: &at, Logins: map[string]time.Time{"x": at, "": zero},
			Rounds: [][2]time.Time{{at}, {zero, at}}, By: map[int8]*Span{1: nil, 2: {3, at, at}}, Turn: -1,
		}}})
	}
	now := time.Now() // has a monotonic clock
	f, err := (*form.Codecs)(new(state.Codecs)).Form(mem.CellsOf([]time.Time{}).Type, true)
	require.NoError(t, err)
	var read [1]time.Time
	image := f.AppendAll(nil, mem.CellsOf([]time.Time{now}))
	_, err = f.ReadAll(image, mem.CellsOf(read[:]))
	require.NoError(t, err)
	require.True(t, now.Equal(read[0]))
	_, was := now.Zone()
	_, is := read[0].Zone()
	require.Equal(t, was, is)
	require.NotEqual(t, time.Local, read[0].Location())

	for _, bad := range [][]byte{
		{0x01}, {0xf6}, {0x80}, {0x60}, {0x61, 'x'}, {0x83, 0, 0x20, 0}, {0x83, 0, 0x1a, 0x3b, 0x9a, 0xca, 0x00, 0},
		{0x83, 0, 0, 0x1b, 0xff, 0, 0, 0, 0, 0, 0, 0}, {0x82, 0, 0}, {0x84, 0, 0, 0, 0},
	} {
		image := append([]byte{byte(len(bad)), 0, 0, 0}, bad...)
		_, err = f.ReadAll(image, mem.CellsOf(read[:]))
		require.Error(t, err, "%x", bad)
	}
}
