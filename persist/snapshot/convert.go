package snapshot

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
)

// This file reads values that were saved in another form than the world's.

// converter is a drive.Form that reads values written by another form of the type. Each component
// has one. Immutable.
type converter struct {
	drive.Form              // of the world's type; nil for values that are skipped
	own        []drive.Part // of it
	parts      []savedPart
	least      int
}

// savedPart is a part of the saved form, and where it goes.
type savedPart struct {
	size    int // of the bytes that are memory
	byCodec bool
	to      int // of a codec's bytes: the part of the world's form, or -1
	rewrite *rewriting
	copies  []copying // of the bytes that are memory, by part of the world's form
}

// copying copies memory to a part of the world's form.
type copying struct {
	to    int
	steps []step
}

// step copies bytes, numbers or elements of an array from a place in a row to one in another.
type step struct {
	from, to int
	n        int // bytes, numbers or elements
	kind     reflect.Kind
	as       reflect.Kind // of numbers: what they become; Invalid to copy bytes
	elements []step       // of an array whose elements are converted
	each     [2]int       // how far apart the elements are
}

var errShort = errors.New("a value ends before its last field")

// skipping returns a converter that skips values.
func skipping(parts []drive.Part) *converter {
	c := &converter{}
	for _, p := range parts {
		c.parts = append(c.parts, savedPart{size: p.Size, byCodec: p.ByCodec, to: -1})
	}
	return c.measured()
}

// measured fills in what depends on all parts.
func (c *converter) measured() *converter {
	for _, p := range c.parts {
		if c.least += p.size; p.byCodec {
			c.least += 4
		}
	}
	return c
}

func (c *converter) Least() int { return c.least }

func (c *converter) ByCodec() bool { return c.Form != nil && c.Form.ByCodec() }

// ReadAll reads values. It reads values of numbers step by step, each step for all values.
func (c *converter) ReadAll(src []byte, values mem.Cells) (rest []byte, err error) {
	if c.flat() {
		if c.least > 0 && values.Len > len(src)/c.least {
			return nil, errShort
		}
		clear(values.Bytes)
		for _, p := range c.parts {
			for _, x := range p.copies {
				for i := range x.steps {
					x.steps[i].run(values.Bytes, src, values.Len, len(values.Bytes)/max(values.Len, 1), c.least)
				}
			}
		}
		return src[c.least*values.Len:], nil
	}
	for i := range values.Len {
		at := values
		if c.Form != nil {
			at = values.At(i)
		}
		if src, err = c.Read(src, at); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// flat reports whether values were saved as memory alone, and are only memory now.
func (c *converter) flat() bool {
	for _, p := range c.parts {
		if p.byCodec {
			return false
		}
	}
	return c.Form == nil || len(c.parts) <= 1 && len(c.own) == 1 && !c.own[0].ByCodec
}

// Read reads one value.
func (c *converter) Read(src []byte, value mem.Cells) (rest []byte, err error) {
	for i := range c.own {
		if p := &c.own[i]; !p.ByCodec && p.Size > 0 {
			clear(value.PartBytes(uintptr(p.Offset), uintptr(p.Size)))
		}
	}
	for i := range c.parts {
		p := &c.parts[i]
		n := uint64(p.size)
		if p.byCodec {
			if len(src) < 4 {
				return nil, errShort
			}
			n = uint64(binary.LittleEndian.Uint32(src))
			src = src[4:]
		}
		if uint64(len(src)) < n {
			return nil, errShort
		}
		switch {
		case !p.byCodec:
			for _, x := range p.copies {
				to := &c.own[x.to]
				dst := value.PartBytes(uintptr(to.Offset), uintptr(to.Size))
				for k := range x.steps {
					x.steps[k].run(dst, src[:n], 1, 0, 0)
				}
			}
		case p.to >= 0:
			body := src[:n:n]
			if p.rewrite != nil {
				body, err = p.rewrite.all(body)
			}
			if err == nil {
				err = c.ReadPart(p.to, body, value)
			}
		}
		if err != nil {
			return nil, err
		}
		src = src[n:]
	}
	return src, nil
}

// run makes a step for n values, which are that many bytes apart.
func (s *step) run(dst, src []byte, n, apartTo, apartFrom int) {
	switch {
	case s.elements != nil:
		for i := range n {
			to, from := dst[s.to+i*apartTo:], src[s.from+i*apartFrom:]
			for k := range s.elements {
				s.elements[k].run(to, from, s.n, s.each[1], s.each[0])
			}
		}
	case s.as == reflect.Invalid:
		for i := range n {
			to, from := dst[s.to+i*apartTo:], src[s.from+i*apartFrom:]
			switch s.n {
			case 8:
				binary.NativeEndian.PutUint64(to, binary.NativeEndian.Uint64(from))
			case 4:
				binary.NativeEndian.PutUint32(to, binary.NativeEndian.Uint32(from))
			default:
				copy(to[:s.n], from)
			}
		}
	case s.n == 1:
		s.numbers(dst[s.to:], src[s.from:], n, apartTo, apartFrom)
	default:
		for i := range n {
			s.numbers(dst[s.to+i*apartTo:], src[s.from+i*apartFrom:], s.n, kindSizes[s.as], kindSizes[s.kind])
		}
	}
}

// numbersAtOnce is how many numbers are converted at once, so that the switches over kinds run
// once for all of them.
const numbersAtOnce = 256

// numbers converts n numbers that are that many bytes apart, each to the nearest number of the
// other kind.
func (s *step) numbers(dst, src []byte, n, apartTo, apartFrom int) {
	var block [numbersAtOnce]uint64
	for n > 0 {
		some := block[:min(n, len(block))]
		getNumbers(some, s.kind, src, apartFrom)
		between(some, s.kind, s.as)
		putNumbers(some, s.as, dst, apartTo)
		if n -= len(some); n > 0 {
			dst, src = dst[len(some)*apartTo:], src[len(some)*apartFrom:]
		}
	}
}

// getNumbers reads numbers: signed ones as int64, others as uint64, floats as float64.
func getNumbers(to []uint64, kind reflect.Kind, src []byte, apart int) {
	ne := binary.NativeEndian
	signed := kind <= reflect.Int64
	switch size := kindSizes[kind]; {
	case kind == reflect.Float32:
		for i := range to {
			to[i] = math.Float64bits(float64(math.Float32frombits(ne.Uint32(src[i*apart:]))))
		}
	case kind == reflect.Bool:
		for i := range to {
			to[i] = uint64(src[i*apart] & 1)
		}
	case size == 8:
		for i := range to {
			to[i] = ne.Uint64(src[i*apart:])
		}
	case size == 4 && signed:
		for i := range to {
			to[i] = uint64(int32(ne.Uint32(src[i*apart:])))
		}
	case size == 4:
		for i := range to {
			to[i] = uint64(ne.Uint32(src[i*apart:]))
		}
	case size == 2 && signed:
		for i := range to {
			to[i] = uint64(int16(ne.Uint16(src[i*apart:])))
		}
	case size == 2:
		for i := range to {
			to[i] = uint64(ne.Uint16(src[i*apart:]))
		}
	case signed:
		for i := range to {
			to[i] = uint64(int8(src[i*apart]))
		}
	default:
		for i := range to {
			to[i] = uint64(src[i*apart])
		}
	}
}

// between converts numbers from the form of getNumbers to that of putNumbers.
func between(all []uint64, kind, as reflect.Kind) {
	_, signed := exact(kind)
	width, negative := exact(as)
	least, most := int64(0), uint64(math.MaxUint64)>>(64-width)
	if negative {
		least = -1 << (width & 63)
	}
	switch {
	case lossless(kind, as) && (isFloat(kind) || !isFloat(as)):
	case isFloat(kind) && isFloat(as): // putNumbers does it
	case as == reflect.Float32 && signed: // converted directly, to round once
		for i, v := range all {
			all[i] = math.Float64bits(float64(float32(int64(v))))
		}
	case as == reflect.Float32:
		for i, v := range all {
			all[i] = math.Float64bits(float64(float32(v)))
		}
	case isFloat(as) && signed:
		for i, v := range all {
			all[i] = math.Float64bits(float64(int64(v)))
		}
	case isFloat(as):
		for i, v := range all {
			all[i] = math.Float64bits(float64(v))
		}
	case isFloat(kind):
		for i, v := range all {
			all[i] = wholeOf(math.Float64frombits(v), least, most)
		}
	case signed:
		for i, v := range all {
			if v := int64(v); v < least {
				all[i] = uint64(least)
			} else if v > 0 && uint64(v) > most {
				all[i] = most
			}
		}
	default:
		for i, v := range all {
			all[i] = min(v, most)
		}
	}
}

// wholeOf returns the integer part of a float, within the bounds of an integer type.
func wholeOf(f float64, least int64, most uint64) uint64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f <= float64(least):
		return uint64(least)
	case f >= float64(most): // as a float, most may be one more
		return most
	case f < 0:
		return uint64(int64(f))
	}
	return uint64(f)
}

// putNumbers writes numbers as getNumbers would read them.
func putNumbers(all []uint64, kind reflect.Kind, dst []byte, apart int) {
	ne := binary.NativeEndian
	switch size := kindSizes[kind]; {
	case kind == reflect.Float32:
		for i, v := range all {
			ne.PutUint32(dst[i*apart:], math.Float32bits(float32(math.Float64frombits(v))))
		}
	case size == 8:
		for i, v := range all {
			ne.PutUint64(dst[i*apart:], v)
		}
	case size == 4:
		for i, v := range all {
			ne.PutUint32(dst[i*apart:], uint32(v))
		}
	case size == 2:
		for i, v := range all {
			ne.PutUint16(dst[i*apart:], uint16(v))
		}
	default:
		for i, v := range all {
			dst[i*apart] = byte(v)
		}
	}
}
