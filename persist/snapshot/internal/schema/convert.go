// Package schema reads values that were saved in another form than they have now: it finds what
// changed, by the names of fields and the Changes of the program, and converts what it can.
package schema

import (
	"encoding/binary"
	"math"
	"reflect"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// This file converts values.

// converter is a extend.Form that reads values written by another form of the type. Each component
// has one. Immutable.
type converter struct {
	extend.Form               // of the world's type
	own         []extend.Part // of it
	parts       []savedPart
	least       int
	flat        bool // values were saved as memory alone, and are only memory now
}

// savedPart is a part of the saved form, and where it goes.
type savedPart struct {
	extend.Part
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

// newConverter returns a converter that reads values of the saved parts, and keeps nothing of them.
func newConverter(saved, own []extend.Part, form extend.Form) *converter {
	c := &converter{Form: form, own: own, least: shape.Least(saved)}
	for _, p := range saved {
		c.parts = append(c.parts, savedPart{Part: p, to: -1})
	}
	c.flat = shape.Fixed(saved) && len(saved) <= 1 && len(c.own) == 1 && !c.own[0].ByCodec
	return c
}

func (c *converter) Least() int { return c.least }

// ReadAll reads values. It reads values of numbers step by step, each step for all values.
func (c *converter) ReadAll(src []byte, values mem.Cells) (rest []byte, err error) {
	if !c.flat {
		for i := range values.Len {
			if src, err = c.Read(src, values.At(i)); err != nil {
				return nil, err
			}
		}
		return src, nil
	}
	if c.least > 0 && values.Len > len(src)/c.least {
		return nil, shape.ErrShort
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

// Read reads one value.
func (c *converter) Read(src []byte, value mem.Cells) (rest []byte, err error) {
	for i := range c.own {
		if p := &c.own[i]; !p.ByCodec && p.Size > 0 {
			clear(value.PartBytes(uintptr(p.Offset), uintptr(p.Size)))
		}
	}
	for i := range c.parts {
		p := &c.parts[i]
		var body []byte
		if body, src, err = shape.Cut(src, &p.Part); err != nil {
			return nil, err
		}
		for _, x := range p.copies {
			to := &c.own[x.to]
			dst := value.PartBytes(uintptr(to.Offset), uintptr(to.Size))
			for k := range x.steps {
				x.steps[k].run(dst, body, 1, 0, 0)
			}
		}
		if p.to < 0 {
			continue
		}
		if p.rewrite != nil {
			if body, err = p.rewrite.all(body); err != nil {
				return nil, err
			}
		}
		if err = c.ReadPart(p.to, body, value); err != nil {
			return nil, err
		}
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
			s.numbers(dst[s.to+i*apartTo:], src[s.from+i*apartFrom:], s.n, shape.SizeOf(s.as), shape.SizeOf(s.kind))
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
		shape.Numbers(some, s.kind, src, apartFrom)
		between(some, s.kind, s.as)
		shape.PutNumbers(some, s.as, dst, apartTo)
		if n -= len(some); n > 0 {
			dst, src = dst[len(some)*apartTo:], src[len(some)*apartFrom:]
		}
	}
}

// between converts numbers as shape.Numbers has read them to numbers as shape.PutNumbers writes
// them.
func between(all []uint64, kind, as reflect.Kind) {
	_, signed := shape.Exact(kind)
	width, negative := shape.Exact(as)
	least, most := int64(0), uint64(math.MaxUint64)>>(64-width)
	if negative {
		least = -1 << (width & 63)
	}
	switch {
	case shape.Lossless(kind, as) && (shape.IsFloat(kind) || !shape.IsFloat(as)):
	case shape.IsFloat(kind) && shape.IsFloat(as): // shape.PutNumbers does it
	case as == reflect.Float32 && signed: // converted directly, to round once
		for i, v := range all {
			all[i] = math.Float64bits(float64(float32(int64(v))))
		}
	case as == reflect.Float32:
		for i, v := range all {
			all[i] = math.Float64bits(float64(float32(v)))
		}
	case shape.IsFloat(as) && signed:
		for i, v := range all {
			all[i] = math.Float64bits(float64(int64(v)))
		}
	case shape.IsFloat(as):
		for i, v := range all {
			all[i] = math.Float64bits(float64(v))
		}
	case shape.IsFloat(kind):
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

// What follows renames and removes fields in CBOR. Nothing else has to be changed in it, because
// package state reads fields by name: new fields are zero, and each number is read by a type that
// holds it.

// rewriting says what is changed in a value; nil for nothing.
type rewriting struct {
	fields map[string]fieldRewriting // of a struct, by the CBOR of the saved name
	elem   *rewriting                // of an array, slice or map
}

type fieldRewriting struct {
	key []byte // the CBOR of the name; nil to leave it out
	*rewriting
}

// leftOut is for a value that is left out.
var leftOut = new(rewriting)

// all rewrites bytes that are one value.
func (r *rewriting) all(src []byte) (dst []byte, err error) {
	dst, rest, err := r.value(nil, src)
	if err == nil && len(rest) > 0 {
		err = cbor.Err
	}
	return dst, err
}

// value rewrites the first value of src, and returns the bytes after it.
func (r *rewriting) value(dst, src []byte) (out, rest []byte, err error) {
	major, n, rest, err := cbor.Head(src)
	switch {
	case err != nil:
		return nil, nil, err
	case r != nil && r.fields != nil && major == cbor.Map:
		return r.object(dst, rest, n)
	case r == nil || r.elem == nil || major != cbor.Array && major != cbor.Map:
		if rest, err = cbor.Skip(src); err != nil {
			return nil, nil, err
		}
		return append(dst, src[:len(src)-len(rest)]...), rest, nil
	}
	dst = append(dst, src[:len(src)-len(rest)]...)
	for ; n > 0 && err == nil; n-- {
		if major == cbor.Map {
			dst, rest, err = (*rewriting)(nil).value(dst, rest)
		}
		if err == nil {
			dst, rest, err = r.elem.value(dst, rest)
		}
	}
	return dst, rest, err
}

// object rewrites the n fields of a struct.
func (r *rewriting) object(dst, src []byte, n uint64) (out, rest []byte, err error) {
	var fields []byte
	kept := uint64(0)
	for ; n > 0; n-- {
		value, err := cbor.Skip(src)
		if err != nil {
			return nil, nil, err
		}
		key := src[:len(src)-len(value)]
		how, known := r.fields[string(key)]
		changed, rest, err := how.value(nil, value)
		if err != nil {
			return nil, nil, err
		}
		src = rest
		switch {
		case known && how.key == nil:
			continue
		case known:
			key = how.key
		}
		kept++
		fields = append(append(fields, key...), changed...)
	}
	return append(cbor.AppendHead(dst, cbor.Map, kept), fields...), src, nil
}
