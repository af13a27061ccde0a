package snapshot

import (
	"errors"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/reference"
)

// rewriter replaces handles in values, wherever a field, an element, a key or what a pointer points
// to has the type handle.Handle. Memory behind slices, pointers, maps and interfaces is never
// written, because others may share it: what has handles is copied.
type rewriter struct {
	to       map[handle.Handle]handle.Handle
	liveness *drive.Liveness // of the world that the values come to
	cut      int             // handles that to does not have
	depth    int
	known    map[reflect.Type]rewrite
}

// rewrite replaces the handles in the value at an address. It is nil for a type without handles.
type rewrite func(at mem.Address)

// deepMost bounds how deep values may be nested: one that holds itself has no end.
const deepMost = 10_000

// The values that are refused.
var (
	errDeep  = errors.New("a value holds itself, or is nested too deep")
	errOwner = errors.New("it holds a reference.Owner, whose share nobody would release; keep a handle or a reference.Weak in components")
)

// The types that are replaced.
var (
	handleType   = reflect.TypeFor[handle.Handle]()
	livenessType = reflect.TypeFor[*drive.Liveness]() // of a reference
	ownerType    = reflect.TypeFor[reference.Owner]()
)

// hasHandles reports whether values of a type may hold handles.
func hasHandles(t reflect.Type) bool {
	return holds(t, map[reflect.Type]bool{}, func(t reflect.Type) bool {
		return t == handleType || t == livenessType || t.Kind() == reflect.Interface
	})
}

// hasOwners reports whether values of a type may hold owners, but within interfaces.
func hasOwners(t reflect.Type) bool {
	return holds(t, map[reflect.Type]bool{}, func(t reflect.Type) bool { return t == ownerType })
}

// holds reports whether values of a type may hold one that is meant. Types in which it was looked for
// already are left out.
func holds(t reflect.Type, looked map[reflect.Type]bool, meant func(reflect.Type) bool) bool {
	if meant(t) {
		return true
	}
	if looked[t] {
		return false
	}
	looked[t] = true
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return holds(t.Elem(), looked, meant)
	case reflect.Array:
		return t.Len() > 0 && holds(t.Elem(), looked, meant)
	case reflect.Map:
		return holds(t.Key(), looked, meant) || holds(t.Elem(), looked, meant)
	case reflect.Struct:
		for i := range t.NumField() {
			if holds(t.Field(i).Type, looked, meant) {
				return true
			}
		}
	}
	return false
}

// of returns what rewrites values of a type.
func (r *rewriter) of(t reflect.Type) rewrite {
	if f, ok := r.known[t]; ok {
		return f
	}
	var f rewrite
	if hasHandles(t) {
		r.known[t] = func(at mem.Address) { f(at) } // for a type that holds itself
		f = r.make(t)
	}
	r.known[t] = f
	return f
}

func (r *rewriter) make(t reflect.Type) rewrite {
	switch t {
	case handleType:
		return r.handle
	case livenessType:
		return r.reference
	case ownerType: // in an interface
		return func(mem.Address) { panic(errOwner) }
	}
	switch t.Kind() {
	case reflect.Struct:
		return r.structOf(t)
	case reflect.Array:
		return r.arrayOf(t.Elem(), t.Len())
	}
	var copied func(v reflect.Value) // has something to copy
	switch t.Kind() {
	case reflect.Slice:
		elem, size := r.of(t.Elem()), t.Elem().Size()
		copied = func(v reflect.Value) {
			all := reflect.MakeSlice(t, v.Len(), v.Len())
			reflect.Copy(all, v)
			v.Set(all)
			for i := range all.Len() {
				elem(mem.Pointer{Address: all.UnsafePointer()}.At(i, size).Address)
			}
		}
	case reflect.Map:
		copied = r.mapOf(t)
	case reflect.Pointer:
		elem := r.of(t.Elem())
		copied = func(v reflect.Value) { v.Set(copyOf(v.Elem(), elem).Addr().Convert(t)) }
	default: // an interface
		copied = func(v reflect.Value) {
			if f := r.of(v.Elem().Type()); f != nil {
				v.Set(copyOf(v.Elem(), f))
			}
		}
	}
	return func(at mem.Address) {
		v := reflect.NewAt(t, at).Elem()
		if v.IsNil() {
			return
		}
		if r.depth++; r.depth > deepMost {
			panic(errDeep)
		}
		copied(v)
		r.depth--
	}
}

// copyOf returns a copy of a value, rewritten.
func copyOf(v reflect.Value, f rewrite) reflect.Value {
	x := reflect.New(v.Type())
	x.Elem().Set(v)
	if f != nil {
		f(x.UnsafePointer())
	}
	return x.Elem()
}

func (r *rewriter) handle(at mem.Address) {
	h := mem.As[handle.Handle](mem.Pointer{Address: at})
	if *h == handle.None {
		return
	}
	to, ok := r.to[*h]
	if *h = to; !ok {
		r.cut++
	}
}

// reference binds a reference to the other world.
func (r *rewriter) reference(at mem.Address) {
	if l := mem.As[*drive.Liveness](mem.Pointer{Address: at}); *l != nil {
		*l = r.liveness
	}
}

func (r *rewriter) structOf(t reflect.Type) rewrite {
	type field struct {
		offset uintptr
		rewrite
	}
	var fields []field
	for i := range t.NumField() {
		if f := r.of(t.Field(i).Type); f != nil {
			fields = append(fields, field{t.Field(i).Offset, f})
		}
	}
	return func(at mem.Address) {
		for _, f := range fields {
			f.rewrite(mem.Pointer{Address: at}.At(1, f.offset).Address)
		}
	}
}

func (r *rewriter) arrayOf(elem reflect.Type, n int) rewrite {
	f, size := r.of(elem), elem.Size()
	return func(at mem.Address) {
		for i := range n {
			f(mem.Pointer{Address: at}.At(i, size).Address)
		}
	}
}

// mapOf leaves out what has a key with a handle that is cut: such keys would become one.
func (r *rewriter) mapOf(t reflect.Type) func(v reflect.Value) {
	key, elem := r.of(t.Key()), r.of(t.Elem())
	return func(v reflect.Value) {
		all := reflect.MakeMapWithSize(t, v.Len())
		for i := v.MapRange(); i.Next(); {
			before := r.cut
			if k := copyOf(i.Key(), key); r.cut == before {
				all.SetMapIndex(k, copyOf(i.Value(), elem))
			}
		}
		v.Set(all)
	}
}
