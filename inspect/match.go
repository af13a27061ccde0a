package inspect

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

// rows are those of a chunk that match.
type rows struct {
	shard int
	table *store.Table
	chunk *store.Chunk
	which []uint16 // ascending
}

// cells returns the values of a component, which the frame and the table must have.
func (r *rows) cells(component int) mem.Cells {
	at, _ := slices.BinarySearch(r.table.Components(), component)
	return r.chunk.Cells(at)
}

// sliceRows is after how many rows a scan yields its core, and checks whether its result is still
// wanted.
const sliceRows = 1 << 15

// scan calls f with the rows of a frame that match, chunk by chunk. Its argument is valid until it
// returns.
func (f *filter) scan(ctx context.Context, of *frame, shards int, do func(*rows)) error {
	buffer, seen := make([]uint16, shard.RowsMax), 0
	for i := range shards {
		if f.never || f.shard >= 0 && f.shard != i {
			continue
		}
		for _, t := range of.frozen.Shard(i).Tables() {
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
				r := rows{i, t, c, buffer}
				if f.match(&r); len(r.which) > 0 {
					do(&r)
				}
			}
		}
	}
	return nil
}

// match keeps only the rows that match.
func (f *filter) match(r *rows) {
	hs := r.chunk.Handles()
	if f.entity != handle.None {
		r.which = r.which[:0]
		if i := slices.Index(hs, f.entity); i >= 0 {
			r.which = append(r.which, uint16(i))
		}
	} else {
		r.which = r.which[:len(hs)]
		for i := range r.which {
			r.which[i] = uint16(i)
		}
	}
	for flag := range 8 {
		if must := f.flags>>flag&1 != 0; must || f.flagsNot>>flag&1 != 0 {
			r.flagged(flag, must)
		}
	}
	for i := range f.tests {
		if len(r.which) == 0 {
			return
		}
		f.tests[i].keep(r)
	}
}

// flagged keeps only the rows that have a flag, or only those without it.
func (r *rows) flagged(flag int, must bool) {
	words := r.chunk.Flagged(flag)
	kept := r.which[:0]
	for _, row := range r.which {
		has := words != nil && words[row/64]>>(row%64)&1 != 0
		if has == must {
			kept = append(kept, row)
		}
	}
	r.which = kept
}

// keep keeps only the rows for which the test holds. NaN equals NaN here, so that it can be found.
func (x *test) keep(r *rows) {
	cells := r.cells(x.component)
	if cells.Len == 0 {
		return
	}
	first, step, n := cells.Part(x.field.offset), cells.Type.Size(), x.number
	switch x.field.typ.Kind() {
	case reflect.String:
		r.which = keep(r.which, first, step, x.op, x.text)
	case reflect.Bool:
		r.which = keep(r.which, first, step, x.op, uint8(n))
	case reflect.Int:
		r.which = keep(r.which, first, step, x.op, int(n))
	case reflect.Int8:
		r.which = keep(r.which, first, step, x.op, int8(n))
	case reflect.Int16:
		r.which = keep(r.which, first, step, x.op, int16(n))
	case reflect.Int32:
		r.which = keep(r.which, first, step, x.op, int32(n))
	case reflect.Int64:
		r.which = keep(r.which, first, step, x.op, int64(n))
	case reflect.Uint:
		r.which = keep(r.which, first, step, x.op, uint(n))
	case reflect.Uint8:
		r.which = keep(r.which, first, step, x.op, uint8(n))
	case reflect.Uint16:
		r.which = keep(r.which, first, step, x.op, uint16(n))
	case reflect.Uint32:
		r.which = keep(r.which, first, step, x.op, uint32(n))
	case reflect.Uint64:
		r.which = keep(r.which, first, step, x.op, n)
	case reflect.Float32:
		r.which = keep(r.which, first, step, x.op, math.Float32frombits(uint32(n)))
	case reflect.Float64:
		r.which = keep(r.which, first, step, x.op, math.Float64frombits(n))
	}
}

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

// number returns a function that reads a numeric field as a float64.
func (f *field) number(cells mem.Cells) func(row int) float64 {
	if cells.Len == 0 {
		return nil
	}
	first, step := cells.Part(f.offset), cells.Type.Size()
	switch f.typ.Kind() {
	case reflect.Int:
		return numbers[int](first, step)
	case reflect.Int8:
		return numbers[int8](first, step)
	case reflect.Int16:
		return numbers[int16](first, step)
	case reflect.Int32:
		return numbers[int32](first, step)
	case reflect.Int64:
		return numbers[int64](first, step)
	case reflect.Uint:
		return numbers[uint](first, step)
	case reflect.Uint8:
		return numbers[uint8](first, step)
	case reflect.Uint16:
		return numbers[uint16](first, step)
	case reflect.Uint32:
		return numbers[uint32](first, step)
	case reflect.Uint64:
		return numbers[uint64](first, step)
	case reflect.Float32:
		return numbers[float32](first, step)
	}
	return numbers[float64](first, step)
}

func numbers[T int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64 | float32 | float64](first mem.Pointer, step uintptr) func(int) float64 {
	return func(row int) float64 { return float64(*mem.As[T](first.At(row, step))) }
}
