package state_test

import (
	"math"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/state"
)

// Mixed is a value of which each field is written in another way.
type Mixed struct {
	Number  int32
	secret  []string // a leaf by itself, so it need not be exported
	Text    string
	Bytes   []byte
	Floats  []float64
	Map     map[int8][]string
	Pointer *Title
	When    time.Time
	Who     []handle.Handle
	Flags   [3]bool
}

// TestByItself writes values without codecs and reads them: what is empty or nil, no text, or no
// number, stays so.
func TestByItself(t *testing.T) {
	f, err := (*form.Codecs)(new(state.Codecs)).Form(mem.CellsOf([]Mixed{}).Type, true)
	require.NoError(t, err)
	values := []Mixed{
		{},
		{
			Number: -1, secret: []string{"", "\xff\xfe"}, Text: "\xff", Bytes: []byte{}, Floats: []float64{math.Inf(1), math.Copysign(0, -1), 0.1},
			Map: map[int8][]string{-1: nil, 2: {}, 3: {"a"}}, Pointer: &Title{"x"}, When: time.Unix(1, 2).UTC(), Who: []handle.Handle{1<<63 | 1, handle.None, 1 << 49, ^handle.None}, Flags: [3]bool{true, false, true},
		},
	}
	image := f.AppendAll(nil, mem.CellsOf(values))
	for range 20 { // the order of a map is another each time
		require.Equal(t, image, f.AppendAll(nil, mem.CellsOf(values)))
	}
	require.GreaterOrEqual(t, len(image), 2*f.Least())
	read := make([]Mixed, len(values))
	rest, err := f.ReadAll(append(image[:len(image):len(image)], 7), mem.CellsOf(read))
	require.NoError(t, err)
	require.Equal(t, []byte{7}, rest)
	require.True(t, math.Signbit(read[1].Floats[1]))
	require.Equal(t, values, read)
	for n := range image {
		_, err := f.ReadAll(image[:n], mem.CellsOf(make([]Mixed, len(values))))
		require.Error(t, err)
	}
	require.False(t, f.ByCodec())
}

// Plate has padding and bools.
type Plate struct {
	A bool
	B uint32
	C [2]bool
}

// TestRows reads rows of numbers: padding is zero, and any byte is a bool.
func TestRows(t *testing.T) {
	f, err := (*form.Codecs)(new(state.Codecs)).Form(mem.CellsOf([]Plate{}).Type, true)
	require.NoError(t, err)
	image := make([]byte, 3*f.Least())
	for i := range image {
		image[i] = 0xff
	}
	rows := make([]Plate, 3)
	_, err = f.ReadAll(image, mem.CellsOf(rows))
	require.NoError(t, err)
	require.Equal(t, Plate{true, math.MaxUint32, [2]bool{true, true}}, rows[2])
	again := f.AppendAll(nil, mem.CellsOf(rows))
	require.Equal(t, []byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 1, 0, 0}, again[len(again)-12:])
	_, err = f.ReadAll(image[:len(image)-1], mem.CellsOf(rows))
	require.Error(t, err)
	require.Equal(t, []form.Part{{Size: 12, Fields: []form.Field{
		{Path: "state_test.Plate.A", Type: "bool"}, {Path: "state_test.Plate.B", Type: "uint32", Offset: 4}, {Path: "state_test.Plate.C", Type: "[2]bool", Offset: 8},
	}}}, f.Parts())
}

type (
	// Tagged has fields whose tags or embedding say how they are written.
	Tagged struct {
		Under
		*Title `cbor:"title"`
		Named  `json:"named"`
		Number int8   `cbor:"-1,keyasint"`
		Text   string `json:"text,omitempty"`
		Least  *int   `cbor:",omitempty"`
		//lint:ignore SA5008 it is odd on purpose
		Dash  []int         `json:"-,"`
		Flags map[bool]int8 `cbor:"a b"`
		//lint:ignore SA5008 it is odd on purpose
		Listed []Listed `json:"listed,string"`
		_      func()
	}
	Under  struct{ N int }
	Named  []string
	Listed struct {
		_ struct{} `cbor:",toarray"`
		Under
		Sums map[uint8][]float32
	}
)

// TestTags reads what was written by tags, with nil and empty told apart.
func TestTags(t *testing.T) {
	n := 0
	full := Tagged{
		Under: Under{1}, Title: &Title{}, Named: Named{""}, Number: -1, Text: "x", Least: &n, Dash: []int{}, Flags: map[bool]int8{true: 1, false: 2},
		Listed: []Listed{{}, {Under: Under{-1}, Sums: map[uint8][]float32{9: nil, 0: {}, 255: {-0.5}}}},
	}
	roundTrip(t, [][]Tagged{nil, {}, {{}}, {full, {}, full}, {{Flags: map[bool]int8{}, Listed: []Listed{}, Named: Named{}}}})
}

// roundTrip checks that values are read as they were written.
func roundTrip[T any](t *testing.T, values []T) {
	t.Helper()
	f, err := (*form.Codecs)(new(state.Codecs)).Form(mem.CellsOf(values).Type, true)
	require.NoError(t, err)
	image := f.AppendAll(nil, mem.CellsOf(values))
	read := make([]T, len(values))
	_, err = f.ReadAll(image, mem.CellsOf(read))
	require.NoError(t, err)
	require.Equal(t, values, read)
	require.Equal(t, image, f.AppendAll(nil, mem.CellsOf(read)))
}
