package form

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
)

type (
	wide   [1024]uint64
	listed struct {
		_    struct{} `cbor:",toarray"`
		Name string
		Rows []wide
	}
	numbered struct {
		Rows []wide `cbor:"1,keyasint"`
		More []wide `cbor:"-1,keyasint"`
	}
	bombs struct {
		Rows    []wide
		Behind  []*wide
		Maps    []map[uint8]wide
		Texts   []string
		Array   [2][]wide
		Listed  listed
		Number  numbered
		Times   []time.Time
		Float   []float32
		Renamed []wide `cbor:"other name"`
		Inner
	}
	Inner struct{ Within []wide }
)

// held is a form whose budget is known, of a type that CBOR writes as one.
func held[T any](t *testing.T, most, each int64) (*Budget, Codec) {
	t.Helper()
	require.NoError(t, byCBOR(reflect.TypeFor[T](), "it", nil))
	b := new(Budget)
	b.Reset(most, each)
	return b, newCBORCodec(reflect.TypeFor[T](), b)
}

// bomb is CBOR of a list with n elements of a byte each.
func bomb(n int, each string) string {
	return "\x99" + string([]byte{byte(n >> 8), byte(n)}) + strings.Repeat(each, n)
}

// TestBudgetBombs reads bytes each of which would become several KB, by each way in which types can be
// nested. It takes about as much memory as there are bytes.
func TestBudgetBombs(t *testing.T) {
	const n = 5000
	rows := bomb(n, "\x80")
	for name, src := range map[string]string{
		"a field":                  "\xa1\x64Rows" + rows,
		"tagged":                   "\xa1\x64Rows\xc1" + rows,
		"with a longer length":     "\xa1\x64Rows\x9b\x00\x00\x00\x00\x00\x00\x13\x88" + rows[3:],
		"pointers":                 "\xa1\x66Behind" + rows,
		"maps":                     "\xa1\x64Maps" + bomb(n, "\xa1\x01\x80"),
		"in an array":              "\xa1\x65Array\x82\x80" + rows,
		"listed":                   "\xa1\x66Listed\x82\x60" + rows,
		"by a number":              "\xa1\x66Number\xa1\x01" + rows,
		"by a longer number":       "\xa1\x66Number\xa1\x18\x01" + rows,
		"by a negative number":     "\xa1\x66Number\xa1\x20" + rows,
		"of another name":          "\xa1\x6aother name" + rows,
		"by a longer name":         "\xa1\x78\x04Rows" + rows,
		"behind something unknown": "\xa2\x61x\x82\xa1\x01\x02\xc1\x43abc\x64Rows" + rows,
		"twice":                    "\xa2\x64Rows" + bomb(n/2, "\x80") + "\x64Rows" + bomb(n/2, "\x80"),
		"malformed":                "\xa1\x64Rows" + rows[:len(rows)-1],
		"too long":                 "\xa1\x64Rows" + rows + "\x00",
		"embedded":                 "\xa1\x66Within" + rows,
	} {
		for _, most := range []int64{0, 100_000} {
			b, c := held[bombs](t, most, 64)
			var v bombs
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := c.Read([]byte(src), mem.CellOf(&v).Part(0))
			runtime.ReadMemStats(&after)
			require.Error(t, err, name)
			require.Equal(t, !strings.Contains("malformed too long", name), errors.Is(err, extend.ErrMemory), "%s: %v", name, err)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), name)
			_ = b
		}
	}
}

// TestBudgetCounts reads values that are as they should be, and compares what was counted with the
// memory that they have taken.
func TestBudgetCounts(t *testing.T) {
	v := bombs{
		Rows: make([]wide, 3), Behind: []*wide{nil, new(wide), new(wide)}, Texts: []string{"", "a", "abc"},
		Maps: []map[uint8]wide{nil, {}, {1: {}}}, Array: [2][]wide{1: make([]wide, 2)},
		Listed: listed{Name: "x", Rows: make([]wide, 1)}, Number: numbered{make([]wide, 1), make([]wide, 1)},
		Times: []time.Time{time.Unix(1, 2).UTC()}, Float: []float32{1, float32(math.NaN()), math.Float32frombits(0x7f800001)},
		Renamed: make([]wide, 1), Inner: Inner{make([]wide, 1)},
	}
	v.Rows[1][7] = 1 << 60
	src := newCBORCodec(reflect.TypeFor[bombs](), nil).Append(nil, mem.CellOf(&v).Part(0))
	const most = 1 << 30
	b, c := held[bombs](t, most, 0)
	var read bombs
	require.NoError(t, c.Read(src, mem.CellOf(&read).Part(0)))
	require.Equal(t, c.Append(nil, mem.CellOf(&read).Part(0)), src)
	const wides = 3 + 2 + 1 + 2 + 1 + 2 + 1 + 1
	counted := most - b.Left()
	require.Greater(t, counted, int64(wides*8192))
	require.Less(t, counted, int64(wides*8192+8192))

	b.Reset(counted, 0)
	require.NoError(t, c.Read(src, mem.CellOf(&read).Part(0)))
	require.Zero(t, b.Left())
	b.Reset(counted-1, 0)
	require.ErrorIs(t, c.Read(src, mem.CellOf(&read).Part(0)), extend.ErrMemory)
}

// FuzzBudget compares what is counted with what the reader of CBOR does: it reads nothing that was
// found to be malformed, and takes no more memory than was counted, and some for each byte.
func FuzzBudget(f *testing.F) {
	for _, src := range []string{"\xa1\x64Rows\x81\x80", "\xa1\x64Maps\x81\xa1\x01\x80", "\xa1\x66Number\xa2\x01\x80\x20\x81\xf6"} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		b := new(Budget)
		b.Reset(1<<30, 0)
		err := b.take(costOf(reflect.TypeFor[bombs]()), src)
		var v bombs
		read := newCBORCodec(reflect.TypeFor[bombs](), nil).Read(src, mem.CellOf(&v).Part(0))
		if read == nil {
			require.NoError(t, err)
		}
		took := 0
		for _, x := range [][]wide{v.Rows, v.Array[0], v.Array[1], v.Listed.Rows, v.Number.Rows, v.Number.More, v.Renamed, v.Within} {
			took += 8192 * cap(x)
		}
		if err == nil {
			require.LessOrEqual(t, int64(took), 1<<30-b.Left())
		}
	})
}
