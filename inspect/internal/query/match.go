package query

import (
	"cmp"
	"context"
	"math"
	"reflect"
	"runtime"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// Frame is a copy of a world: its shards as they were.
type Frame interface {
	Shard(i int) *store.Shard
}

// Rows are those of a chunk that match.
//
// Ownership: the goroutine that scans.
type Rows struct {
	Shard int
	Table *store.Table
	Chunk *store.Chunk
	Which []uint16 // ascending
}

// Has reports whether the rows have a component.
func (r *Rows) Has(component int) bool {
	set := r.Table.Set()
	return set.Has(component)
}

// Cells returns the values of a component, which the frame and the table must have.
func (r *Rows) Cells(component int) mem.Cells {
	at, _ := slices.BinarySearch(r.Table.Components(), component)
	return r.Chunk.Cells(at)
}

// sliceRows is after how many rows a scan yields its core, and checks whether its result is still
// wanted.
const sliceRows = 1 << 15

// Scan calls do with the rows of a frame that match, chunk by chunk, on its own goroutine. Its
// argument is valid until it returns. It changes neither frame nor filter. It returns the error of
// ctx if that ends first.
func (f *Filter) Scan(ctx context.Context, of Frame, shards int, do func(*Rows)) error {
	buffer, seen := make([]uint16, shard.RowsMax), 0
	for i := range shards {
		if f.never || f.shard >= 0 && f.shard != i {
			continue
		}
		for _, t := range of.Shard(i).Tables() {
			set := t.Set()
			if !set.Contains(&f.has) || set.Meets(&f.hasNot) {
				continue
			}
			for _, c := range t.Chunks() {
				if seen += len(c.Handles()); seen >= sliceRows {
					seen = 0
					runtime.Gosched()
					if ctx.Err() != nil {
						return ctx.Err()
					}
				}
				r := Rows{i, t, c, buffer}
				if f.match(&r); len(r.Which) > 0 {
					do(&r)
				}
			}
		}
	}
	return nil
}

// match keeps only the rows that match.
func (f *Filter) match(r *Rows) {
	hs := r.Chunk.Handles()
	if f.entity != handle.None {
		r.Which = r.Which[:0]
		if i := slices.Index(hs, f.entity); i >= 0 {
			r.Which = append(r.Which, uint16(i))
		}
	} else {
		r.Which = r.Which[:len(hs)]
		for i := range r.Which {
			r.Which[i] = uint16(i)
		}
	}
	for flag := range 8 {
		if must := f.flags>>flag&1 != 0; must || f.flagsNot>>flag&1 != 0 {
			r.flagged(flag, must)
		}
	}
	for i := range f.tests {
		if len(r.Which) == 0 {
			return
		}
		f.tests[i].keep(r)
	}
}

// flagged keeps only the rows that have a flag, or only those without it.
func (r *Rows) flagged(flag int, must bool) {
	words := r.Chunk.Flagged(flag)
	kept := r.Which[:0]
	for _, row := range r.Which {
		has := words != nil && words[row/64]>>(row%64)&1 != 0
		if has == must {
			kept = append(kept, row)
		}
	}
	r.Which = kept
}

// keep keeps only the rows for which the test holds.
func (t *test) keep(r *Rows) {
	cells := r.Cells(t.component)
	if cells.Len == 0 {
		return
	}
	first, step := cells.Part(t.field.offset), cells.Type.Size()
	if t.field.Type.Kind() == reflect.String {
		r.Which = keep(r.Which, first, step, t.op, t.text)
	} else {
		r.Which = kinds[t.field.Type.Kind()].keep(r.Which, first, step, t.op, t.number)
	}
}

// kinds read fields by the kinds of their types.
var kinds = [...]kind{
	reflect.Bool:    kindOf(whole[uint8]),
	reflect.Int:     kindOf(whole[int]),
	reflect.Int8:    kindOf(whole[int8]),
	reflect.Int16:   kindOf(whole[int16]),
	reflect.Int32:   kindOf(whole[int32]),
	reflect.Int64:   kindOf(whole[int64]),
	reflect.Uint:    kindOf(whole[uint]),
	reflect.Uint8:   kindOf(whole[uint8]),
	reflect.Uint16:  kindOf(whole[uint16]),
	reflect.Uint32:  kindOf(whole[uint32]),
	reflect.Uint64:  kindOf(whole[uint64]),
	reflect.Float32: kindOf(func(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }),
	reflect.Float64: kindOf(math.Float64frombits),
}

// kind reads fields of one kind, which lie step bytes apart.
type kind struct {
	keep    func(which []uint16, first mem.Pointer, step uintptr, by op, bits uint64) []uint16
	numbers func(first mem.Pointer, step uintptr) func(row int) float64
}

type integer interface {
	int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64
}

// whole returns an integer from the bits of a literal.
func whole[T integer](bits uint64) T { return T(bits) }

// kindOf makes the reader of a kind, when the program starts. literal returns what a test compares
// with.
func kindOf[T integer | float32 | float64](literal func(bits uint64) T) kind {
	return kind{
		func(which []uint16, first mem.Pointer, step uintptr, by op, bits uint64) []uint16 {
			return keep(which, first, step, by, literal(bits))
		},
		func(first mem.Pointer, step uintptr) func(int) float64 {
			return func(row int) float64 { return float64(*mem.As[T](first.At(row, step))) }
		},
	}
}

// keep keeps only the rows whose field compares as it should. NaN equals NaN here, so that it can
// be found.
func keep[T cmp.Ordered](which []uint16, first mem.Pointer, step uintptr, by op, want T) []uint16 {
	kept := which[:0]
	switch by {
	case opLess:
		for _, row := range which {
			if *mem.As[T](first.At(int(row), step)) < want {
				kept = append(kept, row)
			}
		}
	case opLessEqual:
		for _, row := range which {
			if *mem.As[T](first.At(int(row), step)) <= want {
				kept = append(kept, row)
			}
		}
	case opGreater:
		for _, row := range which {
			if *mem.As[T](first.At(int(row), step)) > want {
				kept = append(kept, row)
			}
		}
	case opGreaterEqual:
		for _, row := range which {
			if *mem.As[T](first.At(int(row), step)) >= want {
				kept = append(kept, row)
			}
		}
	default:
		for _, row := range which {
			v := *mem.As[T](first.At(int(row), step))
			same := v == want || v != v && want != want
			if same == (by == opEqual) {
				kept = append(kept, row)
			}
		}
	}
	return kept
}
