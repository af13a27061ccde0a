package state

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/atoll-sim/atoll/handle"
)

// otherTypes says which types are written and read as another type with the same memory. It returns
// nil for all types but these.
type otherTypes func(reflect.Type) reflect.Type

// others are the types whose own methods would lose or refuse values.
var others otherTypes = func(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[time.Time]():
		return reflect.TypeFor[moment]()
	case reflect.TypeFor[handle.Handle]():
		return reflect.TypeFor[anyHandle]()
	}
	return nil
}

// exactOthers are the types whose values a reader of CBOR would not keep bit by bit.
var exactOthers otherTypes = func(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Float32 && !marshals(t) {
		return reflect.TypeFor[float32Bits]()
	}
	return nil
}

// anyHandle is a handle.Handle that can be written even if it is not valid: components may hold any
// number.
type anyHandle handle.Handle

// MarshalBinary writes the bytes that a valid handle's method would.
func (h anyHandle) MarshalBinary() ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, uint64(h)), nil
}

// UnmarshalBinary reads what MarshalBinary writes.
func (h *anyHandle) UnmarshalBinary(src []byte) error {
	if len(src) != 8 {
		return fmt.Errorf("a handle of %d bytes, want 8", len(src))
	}
	*h = anyHandle(binary.BigEndian.Uint64(src))
	return nil
}

// within returns a type with the same memory as t, in which the other types stand for theirs.
func (o otherTypes) within(t reflect.Type) reflect.Type {
	if other := o(t); other != nil {
		return other
	}
	if marshals(t) || !o.held(t) {
		return t
	}
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(o.within(t.Elem()))
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), o.within(t.Elem()))
	case reflect.Pointer:
		return reflect.PointerTo(o.within(t.Elem()))
	case reflect.Map:
		return reflect.MapOf(t.Key(), o.within(t.Elem()))
	}
	return o.withinStruct(t)
}

// withinStruct is within for a struct. Its embedded fields lose their methods, because
// reflect.StructOf does not support them.
func (o otherTypes) withinStruct(t reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		_, inner := nameInCBOR(f)
		if f.Anonymous = inner; inner {
			f.Type = o.withinStruct(f.Type)
		} else if f.Name != "_" {
			f.Type = o.within(f.Type)
		}
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// held reports whether a type that does not write itself contains a type that has another.
func (o otherTypes) held(t reflect.Type) bool {
	switch {
	case o(t) != nil:
		return true
	case marshals(t):
		return false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
		return o.held(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" && o.held(f.Type) {
				return true
			}
		}
	}
	return false
}
