package state

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// This file finds what CBOR would lose of a type, so that no field is left out silently.

// marshals reports whether a type has methods to write and read itself. Methods for CBOR take
// precedence over those for bytes.
func marshals(t reflect.Type) bool {
	is := reflect.PointerTo(t).Implements
	write, read := is(reflect.TypeFor[cbor.Marshaler]()), is(reflect.TypeFor[cbor.Unmarshaler]())
	if write || read {
		return write && read
	}
	return is(reflect.TypeFor[encoding.BinaryMarshaler]()) && is(reflect.TypeFor[encoding.BinaryUnmarshaler]())
}

// marshalsHalf reports whether a type has some of the methods to write and read itself.
func marshalsHalf(t reflect.Type) bool { return hasMethods(reflect.PointerTo(t)) }

// hasMethods is marshalsHalf without the methods of a pointer.
func hasMethods(t reflect.Type) bool {
	return slices.ContainsFunc([]reflect.Type{
		reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.BinaryUnmarshaler](),
		reflect.TypeFor[cbor.Marshaler](), reflect.TypeFor[cbor.Unmarshaler](),
	}, t.Implements)
}

// byCBOR returns an error that says what CBOR would lose of a type.
func byCBOR(t reflect.Type, path string, within []reflect.Type) error {
	switch {
	case marshals(t):
		return promoted(t, path)
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

// promoted returns an error if the methods by which a struct writes itself may be those of an
// embedded field, which do not write the other fields. reflect cannot tell whether they are.
func promoted(t reflect.Type, path string) error {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		alone := t.NumField() == 1 && f.Type.Kind() != reflect.Pointer && f.Type.Kind() != reflect.Interface
		if f.Anonymous && !alone && (marshalsHalf(f.Type) || hasMethods(f.Type)) {
			return fmt.Errorf("%s is a %v, which may be written by the methods of what it embeds, %s; do not embed that", path, t, f.Name)
		}
	}
	return nil
}

// structByCBOR is byCBOR for a struct, or one that is embedded in it: their fields have the same
// names.
func structByCBOR(t reflect.Type, path string, within []reflect.Type, names map[string]bool) error {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue
		}
		at := path + "." + f.Name
		name, inner := nameInCBOR(f)
		if err := fieldByCBOR(f, at, name); err != nil {
			return err
		}
		if inner {
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

// fieldByCBOR returns an error if CBOR would lose something because a field has a tag or is
// embedded.
func fieldByCBOR(f reflect.StructField, at, name string) error {
	tag, options := tagOf(f)
	number, isNumber := strings.CutSuffix(name, ",keyasint")
	_, err := strconv.Atoi(number)
	embedded := f.Anonymous && tag == ""
	switch {
	case !f.IsExported():
		return fmt.Errorf("%s is not exported", at)
	case tag == "-" && len(options) == 0:
		return fmt.Errorf("%s is left out by its tag", at)
	case embedded && f.Type.Kind() == reflect.Struct && marshalsHalf(f.Type):
		return fmt.Errorf("%s is embedded, and has methods to be written or to be read: give it a name, as with the tag cbor:%q", at, f.Name)
	case embedded && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
		return fmt.Errorf("%s is an embedded pointer: give it a name, as with the tag cbor:%q", at, f.Name)
	case isNumber && err != nil:
		return fmt.Errorf("%s has the tag keyasint, and %q is no number", at, number)
	case omits(f.Type, options):
		return fmt.Errorf("%s is left out by omitempty or omitzero, and what is left out may not be zero", at)
	}
	return nil
}

// omits reports whether the options of a tag would leave out some values of a type that are not
// zero: an empty slice, or -0.
func omits(t reflect.Type, options []string) bool {
	k := t.Kind()
	plain := k == reflect.String || k == reflect.Pointer || k >= reflect.Bool && k <= reflect.Uint64
	if slices.Contains(options, "omitzero") {
		_, own := reflect.PointerTo(t).MethodByName("IsZero")
		_, inner := t.MethodByName("IsZero")
		return !plain || own || inner
	}
	return !plain && slices.Contains(options, "omitempty")
}
