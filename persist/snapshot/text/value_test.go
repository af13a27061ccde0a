package text_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/world"
)

// textOf returns the text of a world with a component that has these values. The same bytes are
// made of it again.
func textOf[T any](t testing.TB, values ...T) string {
	t.Helper()
	w := world.MustNew(world.Options{Shards: 1, ChunkRowsFirst: 4})
	world.Register[T](w, "it")
	require.NoError(t, world.NewBundle[struct{ V T }](w).CreateN(w, len(values), func(i int, x *struct{ V T }) { x.V = values[i] }))
	w.Refresh()
	var image, lines, again bytes.Buffer
	require.NoError(t, snapshot.Write(&image, w, snapshot.Options{Compression: snapshot.None}))
	info, err := text.Export(bytes.NewReader(image.Bytes()), &lines, snapshot.Options{})
	require.NoError(t, err)
	is, err := text.Import(strings.NewReader(lines.String()), &again, snapshot.Options{Workers: 2})
	require.NoError(t, err)
	require.Equal(t, info, is)
	require.Equal(t, image.Bytes(), again.Bytes())
	return lines.String()
}

type (
	inner struct {
		A uint8
		B [2]int16
	}
	// odd has values that JSON has no words for.
	odd struct {
		F32  [7]float32
		F64  [7]float64
		C    complex64
		U    uint64
		I    int64
		In   inner
		_    uint16
		Who  handle.Handle
		Text string
		Deep deep
	}
	deep struct {
		Tame
		Cbor cborField
	}
	Tame struct {
		Bytes  []byte
		Four   [4]byte
		When   time.Time
		Who    []handle.Handle
		F      []float64
		Small  map[int8][]string
		Is     map[bool]uint64
		Point  *inner
		Names  map[string]string
		Listed asList
		Number byNumbers
	}
	cborField struct {
		V string `cbor:"cbor"`
	}
	asList struct {
		_    struct{} `cbor:",toarray"`
		A, B int8
	}
	byNumbers struct {
		A int8 `cbor:"1,keyasint"`
		B int8 `cbor:"b,omitempty"`
	}
)

// TestValues writes values as text, and reads the same.
func TestValues(t *testing.T) {
	signaling := math.Float32frombits(0x7f800001)
	one := odd{
		F32: [7]float32{float32(math.NaN()), signaling, float32(math.Inf(-1)), float32(math.Copysign(0, -1)), 0.1, math.MaxFloat32, math.SmallestNonzeroFloat32},
		F64: [7]float64{math.NaN(), math.Float64frombits(0xfff0000000000009), math.Inf(1), 0.1, 1e21, math.MaxFloat64, math.SmallestNonzeroFloat64},
		C:   complex(1, float32(math.Inf(1))), U: math.MaxUint64, I: math.MinInt64, In: inner{255, [2]int16{-1, 2}}, Who: handle.New(1, 2, 3), Text: "a\xff",
		Deep: deep{Cbor: cborField{"eA=="}, Tame: Tame{
			Bytes: []byte{1, 2, 255}, Four: [4]byte{9}, When: time.Unix(1, 5).UTC(), Who: []handle.Handle{handle.New(3, 4, 5), handle.None}, F: []float64{math.NaN(), 1},
			Small: map[int8][]string{-3: {"x", "<&>\u2028"}, 5: nil, 100: {}}, Is: map[bool]uint64{true: 1 << 60, false: 1}, Point: &inner{1, [2]int16{2, 3}},
			Names: map[string]string{"b": "1", "aa": "2", "cbor": "", "\xfe": ""}, Listed: asList{A: 1, B: 2}, Number: byNumbers{1, 2},
		}},
	}
	two := one
	two.Who, two.Deep.Names, two.Deep.Cbor = handle.Handle(77)<<28, map[string]string{"cbor": "eA=="}, cborField{}
	lines := textOf(t, one, two, odd{})
	for _, want := range []string{
		`"F32":["NaN","NaN 0x7f800001","-Inf",-0,0.1,3.4028235e+38,1e-45]`, `"NaN 0xfff0000000000009","+Inf",0.1,1e+21,1.7976931348623157e+308,5e-324]`,
		`"C":[1,"+Inf"],"U":"18446744073709551615","I":"-9223372036854775808","In":{"A":255,"B":[-1,2]},"Who":"1:2@3","Text":{"base64":"Yf8="}`,
		`"Who":20669530112,`, `{"cbor":"`, `"Bytes":null`,
	} {
		require.Contains(t, lines, want)
	}
	plain := Tame{
		Bytes: []byte{1, 2, 255}, When: time.Unix(1, 5).UTC(), Who: []handle.Handle{handle.New(3, 4, 5)}, F: []float64{math.NaN(), 1},
		Small: map[int8][]string{-3: {"x", "<&>"}, 5: nil}, Is: map[bool]uint64{true: 1 << 60}, Point: &inner{1, [2]int16{2, 3}}, Names: map[string]string{"b": "1", "aa": "2"},
		Listed: asList{A: 1, B: 2}, Number: byNumbers{A: 1},
	}
	lines = textOf(t, []Tame{plain})
	require.Contains(t, lines, `"Point":{"A":1,"B":[2,3]}`)
	require.Contains(t, lines, `"Bytes":"AQL/"`)
	require.Contains(t, lines, `"When":"1970-01-01T00:00:01.000000005Z"`)
	require.Contains(t, lines, `"Who":["3:4@5"]`)
	require.Contains(t, lines, `"Small":{"5":null,"-3":["x","<&>"]}`)
	require.Contains(t, lines, `"Is":{"true":"1152921504606846976"}`)
	require.Contains(t, lines, `"Number":{"1":1}`)
	for _, line := range strings.Split(lines, "\n") {
		require.True(t, line == "" || json.Valid([]byte(line)), line)
	}
	textOf(t, complex(1, 2))
	textOf(t, [2][2]bool{{true}})
	textOf(t, [3]struct{}{}, [3]struct{}{})
	textOf(t, struct{ V []inner }{}, struct{ V []inner }{[]inner{}})
	textOf[map[string]Tame](t, nil, map[string]Tame{}, map[string]Tame{"a": plain})
}
