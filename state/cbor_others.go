package state

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/atoll-sim/atoll/handle"
)

// others are the types whose own methods would lose or refuse values. Each has a type with the same
// memory that is written and read instead.
var others = map[reflect.Type]reflect.Type{
	reflect.TypeFor[time.Time]():     reflect.TypeFor[moment](),
	reflect.TypeFor[handle.Handle](): reflect.TypeFor[anyHandle](),
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

// withOthers returns a type with the same memory, in which the types in others are replaced.
func withOthers(t reflect.Type) reflect.Type {
	if other := others[t]; other != nil {
		return other
	}
	if marshals(t) || !holdsOther(t) {
		return t
	}
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(withOthers(t.Elem()))
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), withOthers(t.Elem()))
	case reflect.Pointer:
		return reflect.PointerTo(withOthers(t.Elem()))
	case reflect.Map:
		return reflect.MapOf(t.Key(), withOthers(t.Elem()))
	}
	return structWithOthers(t)
}

// structWithOthers is withOthers for a struct. Its embedded fields lose their methods, because
// reflect.StructOf does not support them.
func structWithOthers(t reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		_, inner := nameInCBOR(f)
		if f.Anonymous = inner; inner {
			f.Type = structWithOthers(f.Type)
		} else if f.Name != "_" {
			f.Type = withOthers(f.Type)
		}
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// holdsOther reports whether a type that does not write itself contains a type in others.
func holdsOther(t reflect.Type) bool {
	switch {
	case others[t] != nil:
		return true
	case marshals(t):
		return false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
		return holdsOther(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" && holdsOther(f.Type) {
				return true
			}
		}
	}
	return false
}
