package state_test

import (
	"math"
	"testing"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/state"
)

// Readings hold floats in each way in which a value can, beside what is read in other ways.
type Readings struct {
	Plain   float32
	Slice   []float32
	Wide    []float64
	Named   []Celsius
	Pointer *float32
	Array   *[2]float32
	ByName  map[string]float32
	Inner   []struct {
		_ struct{} `cbor:",toarray"`
		Dated
		X    float32
		Next map[uint8][]*float32
	}
	Text []string
}

type Celsius float32

// TestFloats reads each float with the bits that were written: a NaN keeps its payload, its sign,
// and whether it signals.
func TestFloats(t *testing.T) {
	for _, bits := range []uint32{
		0x7fa00001, 0xffa00001, 0x7f800001, 0x7fbfffff, 0x7fc00000, 0xffc12345, 0x7fffffff, 0, 1 << 31, 1, 0x7f800000, 0xff800000, 0x3f800000,
	} {
		x := math.Float32frombits(bits)
		wide := math.Float64frombits(0x7ff0<<48 | uint64(bits))
		value := Readings{
			Plain: x, Slice: []float32{1, x}, Wide: []float64{wide}, Named: []Celsius{Celsius(x)}, Pointer: &x, Array: &[2]float32{x, -1},
			ByName: map[string]float32{"a": x, "": 2}, Text: []string{"\xfa\x7f\xa0\x00\x01", "\xfa\x7f"},
		}
		value.Inner = make([]struct {
			_ struct{} `cbor:",toarray"`
			Dated
			X    float32
			Next map[uint8][]*float32
		}, 2)
		value.Inner[1].X, value.Inner[1].Next, value.Inner[1].Number = x, map[uint8][]*float32{1: {nil, &x}, 2: nil}, 3
		f, err := (*form.Codecs)(new(state.Codecs)).Form(mem.CellsOf([]Readings{}).Type, true)
		require.NoError(t, err)
		image := f.AppendAll(nil, mem.CellsOf([]Readings{value}))
		var read [1]Readings
		_, err = f.ReadAll(image, mem.CellsOf(read[:]))
		require.NoError(t, err)
		require.Equal(t, image, f.AppendAll(nil, mem.CellsOf(read[:])), "%x", bits)
		require.Equal(t, bits, math.Float32bits(*read[0].Inner[1].Next[1][1]))
		require.Equal(t, math.Float64bits(wide), math.Float64bits(read[0].Wide[0]))
		require.Equal(t, bits, math.Float32bits(float32(read[0].Named[0])))
		require.Equal(t, value.Text, read[0].Text)
		require.Nil(t, read[0].Inner[1].Next[2])
	}
}
