package state

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
)

// flat returns the layout of a form for values of numbers alone, or nil.
func (f *form) flat() *layout {
	if len(f.parts) == 1 && f.parts[0].codec == nil && f.parts[0].size == f.size {
		return f.parts[0].layout
	}
	return nil
}

func (f *form) AppendAll(dst []byte, values mem.Cells) []byte {
	l := f.flat()
	switch {
	case l == nil:
		for i := range values.Len {
			dst = f.Append(dst, values.At(i))
		}
		return dst
	case l.whole || l.size == 0:
		return append(dst, values.Bytes...)
	}
	at := len(dst)
	dst = slices.Grow(dst, len(values.Bytes))[:at+len(values.Bytes)]
	l.masked(dst[at:], values.Bytes)
	return dst
}

func (f *form) ReadAll(src []byte, values mem.Cells) (rest []byte, err error) {
	l := f.flat()
	if l == nil {
		for i := range values.Len {
			if src, err = f.Read(src, values.At(i)); err != nil {
				return nil, err
			}
		}
		return src, nil
	}
	n := len(values.Bytes)
	if len(src) < n {
		return nil, errShort
	}
	if l.whole || l.size == 0 {
		copy(values.Bytes, src)
	} else {
		l.masked(values.Bytes, src[:n])
	}
	for _, at := range l.bools {
		for ; at < n; at += l.size {
			values.Bytes[at] &= 1
		}
	}
	return src[n:], nil
}

func (f *form) Whole() bool {
	l := f.flat()
	return l != nil && l.whole
}

func (f *form) Least() (n int) {
	for i := range f.parts {
		if f.parts[i].codec != nil {
			n += lengthBytes
		} else {
			n += int(f.parts[i].size)
		}
	}
	return n
}

func (f *form) ByCodec() bool { return f.byCodec }

func (f *form) Parts() (all []extend.Part) {
	for _, p := range f.parts {
		x := extend.Part{Offset: int(p.offset), Size: int(p.size), ByCodec: p.codec != nil}
		if p.codec != nil {
			how := fmt.Sprintf("%v, by a codec", p.typ)
			switch p.codec.(type) {
			case cborCodec:
				how = deep(p.typ) + ", as CBOR"
			case textCodec:
				how = "string"
			}
			x.Fields = []extend.Field{{Path: p.path, Type: how, Offset: int(p.offset)}}
		} else {
			x.Fields = appendFields(nil, p.typ, p.path, p.offset)
		}
		all = append(all, x)
	}
	return all
}

func (f *form) ReadPart(part int, src []byte, value mem.Cells) error {
	p := &f.parts[part]
	return p.codec.read(src, value.Part(p.offset))
}

// appendFields appends the fields of a type of numbers.
func appendFields(all []extend.Field, t reflect.Type, path string, at uintptr) []extend.Field {
	if t.Kind() != reflect.Struct {
		return append(all, extend.Field{Path: path, Type: shapeOf(t, "handle"), Offset: int(at)})
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "_" {
			all = appendFields(all, f.Type, path+"."+f.Name, at+f.Offset)
		}
	}
	return all
}
