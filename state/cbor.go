package state

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
)

// cborCodec is the codec of a type that nobody registered one of: CBOR, whose bytes depend on the
// value alone.
type cborCodec struct{ typ reflect.Type }

var cborWriter = must(cbor.EncOptions{
	Sort: cbor.SortCoreDeterministic, ShortestFloat: cbor.ShortestFloatNone, NaNConvert: cbor.NaNConvertNone,
	InfConvert: cbor.InfConvertNone, Time: cbor.TimeRFC3339Nano, NilContainers: cbor.NilContainerAsNull,
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

// append panics with a *drive.CodecError if a method of the user's returns an error.
func (c cborCodec) append(dst []byte, v mem.Pointer) []byte {
	b := cborBuffers.Get().(*bytes.Buffer)
	defer cborBuffers.Put(b)
	b.Reset()
	if err := cborWriter.MarshalToBuffer(reflect.NewAt(c.typ, v.Address).Interface(), b); err != nil {
		panic(&drive.CodecError{Err: fmt.Errorf("state: a %v as CBOR: %w", c.typ, err)})
	}
	return append(dst, b.Bytes()...)
}

func (c cborCodec) read(src []byte, v mem.Pointer) error {
	if err := cborReader.Unmarshal(src, reflect.NewAt(c.typ, v.Address).Interface()); err != nil {
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

// deep describes how CBOR writes a type: all structs in it with the names by which their fields are
// written. What writes itself is named, in quotes.
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

// nameInCBOR returns the name by which a field is written, and whether it is embedded: then its
// fields are those of the struct. The name of one that is a number says so.
func nameInCBOR(f reflect.StructField) (name string, inner bool) {
	tag := f.Tag.Get("cbor")
	if tag == "" {
		tag = f.Tag.Get("json")
	}
	name, options, _ := strings.Cut(tag, ",")
	inner = f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && !marshalsHalf(f.Type)
	if name == "" {
		name = f.Name
	}
	if slices.Contains(strings.Split(options, ","), "keyasint") {
		name += ",keyasint"
	}
	return name, inner
}

// writtenAsArray reports whether the tag of a struct says that its fields have no names.
func writtenAsArray(t reflect.Type) bool {
	f, ok := t.FieldByName("_")
	return ok && slices.Contains(strings.Split(f.Tag.Get("cbor"), ","), "toarray")
}

// marshals reports whether a type says itself how it is written and read.
func marshals(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	is := func(i reflect.Type) bool { return p.Implements(i) }
	return is(reflect.TypeFor[encoding.BinaryMarshaler]()) && is(reflect.TypeFor[encoding.BinaryUnmarshaler]()) ||
		is(reflect.TypeFor[cbor.Marshaler]()) && is(reflect.TypeFor[cbor.Unmarshaler]())
}

// marshalsHalf reports whether a type has some of the methods by which it would be written or read.
func marshalsHalf(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return slices.ContainsFunc([]reflect.Type{
		reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.BinaryUnmarshaler](),
		reflect.TypeFor[cbor.Marshaler](), reflect.TypeFor[cbor.Unmarshaler](),
	}, p.Implements)
}

// byCBOR returns an error that says what in a type CBOR would lose.
func byCBOR(t reflect.Type, path string, within []reflect.Type) error {
	switch {
	case marshals(t):
		return nil
	case marshalsHalf(t):
		return fmt.Errorf("%s is a %v, which has a method to be written or to be read, and not both", path, t)
	case t.Name() != "" && slices.Contains(within, t):
		return fmt.Errorf("%s is a %v, which may hold itself", path, t)
	}
	within = append(within[:len(within):len(within)], t)
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return nil
	case reflect.Slice, reflect.Array:
		return byCBOR(t.Elem(), path+"[0]", within)
	case reflect.Pointer:
		if k := t.Elem().Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map {
			return fmt.Errorf("%s is a pointer to a %v, which may be nil as well", path, k)
		}
		return byCBOR(t.Elem(), path, within)
	case reflect.Map:
		switch k := t.Key().Kind(); {
		case marshalsHalf(t.Key()), k != reflect.String && (k < reflect.Bool || k > reflect.Uint64):
			return fmt.Errorf("%s has keys that are no strings or integers", path)
		}
		return byCBOR(t.Elem(), path+"[]", within)
	case reflect.Struct:
		return structByCBOR(t, path, within, map[string]bool{})
	}
	return fmt.Errorf("%s is a %s", path, kindName(t))
}

// structByCBOR is byCBOR for a struct, or one that is embedded in it: their fields have the same
// names.
func structByCBOR(t reflect.Type, path string, within []reflect.Type, names map[string]bool) error {
	for i := range t.NumField() {
		f := t.Field(i)
		at := path + "." + f.Name
		name, inner := nameInCBOR(f)
		switch {
		case f.Name == "_":
			continue
		case !f.IsExported():
			return fmt.Errorf("%s is not exported", at)
		case name == "-":
			return fmt.Errorf("%s is left out by its tag", at)
		case inner:
			if err := structByCBOR(f.Type, at, within, names); err != nil {
				return err
			}
			continue
		}
		if names[name] {
			return fmt.Errorf("%s has the name of another field, %q", at, name)
		}
		names[name] = true
		if err := byCBOR(f.Type, at, within); err != nil {
			return err
		}
	}
	return nil
}

// asError makes an error of a panic by append, and repeats others.
func asError(err *error) {
	if v := recover(); v != nil {
		e, ok := v.(error)
		var failed *drive.CodecError
		if !ok || !errors.As(e, &failed) {
			panic(v)
		}
		*err = e
	}
}
