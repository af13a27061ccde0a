package state

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
)

// cborCodec is the codec of a type without a registered one: CBOR, whose bytes depend on the
// value alone.
type cborCodec struct {
	typ reflect.Type
	as  reflect.Type // the type that is written and read, with the same memory
	// exact is read instead where there may be a signalling float32: cborReader would make it quiet.
	exact reflect.Type
}

// newCBORCodec returns the codec of a type that byCBOR has found to lose nothing.
func newCBORCodec(t reflect.Type) cborCodec {
	as := others.within(t)
	return cborCodec{t, as, exactOthers.within(as)}
}

var cborWriter = must(cbor.EncOptions{
	Sort: cbor.SortCoreDeterministic, ShortestFloat: cbor.ShortestFloatNone, NaNConvert: cbor.NaNConvertNone,
	InfConvert: cbor.InfConvertNone, NilContainers: cbor.NilContainerAsNull,
}.UserBufferEncMode())

var cborReader = must(cbor.DecOptions{
	DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxNestedLevels: 256, MaxArrayElements: 1<<31 - 1, MaxMapPairs: 1<<31 - 1,
	IndefLength: cbor.IndefLengthForbidden, UTF8: cbor.UTF8DecodeInvalid, FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
	ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
}.DecMode())

func must[M any](mode M, err error) M {
	if err != nil {
		panic(err)
	}
	return mode
}

var cborBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// append panics with a *extend.CodecError if a user's method returns an error.
func (c cborCodec) append(dst []byte, v mem.Pointer) []byte {
	b := cborBuffers.Get().(*bytes.Buffer)
	defer cborBuffers.Put(b)
	b.Reset()
	if err := cborWriter.MarshalToBuffer(reflect.NewAt(c.as, v.Address).Interface(), b); err != nil {
		panic(&extend.CodecError{Err: fmt.Errorf("state: a %v as CBOR: %w", c.typ, err)})
	}
	return append(dst, b.Bytes()...)
}

func (c cborCodec) read(src []byte, v mem.Pointer) error {
	as := c.as
	if c.exact != as && maySignal(src) {
		as = c.exact
	}
	if err := cborReader.Unmarshal(src, reflect.NewAt(as, v.Address).Interface()); err != nil {
		return fmt.Errorf("state: a %v as CBOR: %w", c.typ, err)
	}
	return nil
}

func (c cborCodec) canRead() bool { return true }

func (c cborCodec) each(values mem.Cells, scratch []byte, f func([]byte)) []byte {
	for i := range values.Len {
		scratch = c.append(scratch[:0], values.At(i).Part(0))
		f(scratch)
	}
	return scratch
}

// deep describes how CBOR writes a type: all its structs, with the names by which their fields are
// written. A type that writes itself is named in quotes.
func deep(t reflect.Type) string {
	switch {
	case marshals(t):
	case t.Kind() == reflect.Slice:
		return "[]" + deep(t.Elem())
	case t.Kind() == reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), deep(t.Elem()))
	case t.Kind() == reflect.Pointer:
		return "*" + deep(t.Elem())
	case t.Kind() == reflect.Map:
		return fmt.Sprintf("map[%s]%s", deep(t.Key()), deep(t.Elem()))
	case t.Kind() == reflect.Struct:
		if listed := deepFields(t); !writtenAsArray(t) {
			return "{" + listed + "}"
		} else {
			return strconv.Quote(t.String() + " as an array of " + listed)
		}
	default:
		return t.Kind().String()
	}
	return strconv.Quote(t.String())
}

func deepFields(t reflect.Type) (text string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, inner := nameInCBOR(f)
		switch {
		case f.Name == "_":
			continue
		case inner:
			text += deepFields(f.Type)
			continue
		case !token.IsIdentifier(name):
			name = strconv.Quote(name)
		}
		text += name + " " + deep(f.Type) + ";"
	}
	return text
}

// tagOf returns the name and the options of the tag that CBOR uses.
func tagOf(f reflect.StructField) (name string, options []string) {
	tag := f.Tag.Get("cbor")
	if tag == "" {
		tag = f.Tag.Get("json")
	}
	all := strings.Split(tag, ",")
	return all[0], all[1:]
}

// nameInCBOR returns the name by which a field is written, and whether the field is embedded, so
// that its fields are those of the struct. A name that is a number has a suffix.
func nameInCBOR(f reflect.StructField) (name string, inner bool) {
	name, options := tagOf(f)
	inner = f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct
	if name == "" {
		name = f.Name
	}
	if slices.Contains(options, "keyasint") {
		if n, err := strconv.Atoi(name); err == nil {
			name = strconv.Itoa(n) // 01 is 1
		}
		name += ",keyasint"
	}
	return name, inner
}

// writtenAsArray reports whether a struct's tag makes it an array, without names of fields.
func writtenAsArray(t reflect.Type) bool {
	f, ok := t.FieldByName("_")
	return ok && slices.Contains(strings.Split(f.Tag.Get("cbor"), ","), "toarray")
}

// asError converts a panic of append to an error. It repeats other panics.
func asError(err *error) {
	if v := recover(); v != nil {
		e, ok := v.(error)
		var failed *extend.CodecError
		if !ok || !errors.As(e, &failed) {
			panic(v)
		}
		*err = e
	}
}
