// Package remap replaces handles in values.
package remap

import (
	"errors"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Mapper replaces handles in values, wherever a field, an element, a key or what a pointer points
// to has the type handle.Handle. Memory behind slices, pointers, maps and interfaces is never
// written, because others may share it: what has handles is copied.
//
// Ownership: one goroutine at a time.
type Mapper struct {
	// Cut is how many handles became None.
	Cut      int
	to       func(handle.Handle) (to handle.Handle, ok bool)
	liveness *extend.Liveness // of the world that gets the values; nil if it is their own
	owner    reflect.Type
	depth    int
	known    map[reflect.Type]Map
}

// Map replaces the handles in the value at an address. It panics with ErrDeep or ErrOwner.
type Map func(at mem.Address)

// New makes a Mapper for values that go to another world, or with nil stay in theirs. A handle
// becomes the result of to, or None if that reports false: it is cut. owner is the type
// reference.Owner.
func New(liveness *extend.Liveness, owner reflect.Type, to func(handle.Handle) (handle.Handle, bool)) *Mapper {
	return &Mapper{to: to, liveness: liveness, owner: owner, known: map[reflect.Type]Map{}}
}

// deepMost limits how deep values may be nested: one that holds itself has no end.
const deepMost = 10_000

// Errors for values that are refused.
var (
	ErrDeep  = errors.New("a value holds itself, or is nested too deep")
	ErrOwner = errors.New("it holds a reference.Owner, whose share would never be released; keep a handle or a reference.Weak in components")
)

// Catch calls f if a Map has panicked, with the error. It is for defer.
func Catch(f func(error)) {
	switch v := recover(); v {
	case nil:
	case ErrDeep, ErrOwner:
		f(v.(error))
	default:
		panic(v)
	}
}

// The types whose values are replaced.
var (
	handleType   = reflect.TypeFor[handle.Handle]()
	livenessType = reflect.TypeFor[*extend.Liveness]() // of a reference
)

// HoldsHandles reports whether values of a type may hold handles.
func HoldsHandles(t reflect.Type) bool {
	return holds(t, map[reflect.Type]bool{}, func(t reflect.Type) bool {
		return t == handleType || t == livenessType || t.Kind() == reflect.Interface
	})
}

// Holds reports whether values of a type may hold values of another, not counting interfaces.
func Holds(t, some reflect.Type) bool {
	return holds(t, map[reflect.Type]bool{}, func(t reflect.Type) bool { return t == some })
}

// holds reports whether values of a type may hold a value of a type for which meant returns true.
// looked has the types that were searched already.
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

// Of returns the Map for values of a type, or nil if the type has no handles.
func (m *Mapper) Of(t reflect.Type) Map {
	if f, ok := m.known[t]; ok {
		return f
	}
	var f Map
	if HoldsHandles(t) {
		m.known[t] = func(at mem.Address) { f(at) } // set first, for a type that holds itself
		f = m.make(t)
	}
	m.known[t] = f
	return f
}

func (m *Mapper) make(t reflect.Type) Map {
	switch t {
	case handleType:
		return m.handle
	case livenessType:
		return m.reference
	case m.owner:
		return func(mem.Address) { panic(ErrOwner) }
	}
	switch t.Kind() {
	case reflect.Struct:
		return m.structOf(t)
	case reflect.Array:
		return m.arrayOf(t.Elem(), t.Len())
	}
	var copied func(v reflect.Value) // has something to copy
	switch t.Kind() {
	case reflect.Slice:
		elem, size := m.Of(t.Elem()), t.Elem().Size()
		copied = func(v reflect.Value) {
			all := reflect.MakeSlice(t, v.Len(), v.Len())
			reflect.Copy(all, v)
			v.Set(all)
			for i := range all.Len() {
				elem(mem.Pointer{Address: all.UnsafePointer()}.At(i, size).Address)
			}
		}
	case reflect.Map:
		copied = m.mapOf(t)
	case reflect.Pointer:
		elem := m.Of(t.Elem())
		copied = func(v reflect.Value) { v.Set(copyOf(v.Elem(), elem).Addr().Convert(t)) }
	default: // an interface
		copied = func(v reflect.Value) {
			if f := m.Of(v.Elem().Type()); f != nil {
				v.Set(copyOf(v.Elem(), f))
			}
		}
	}
	return func(at mem.Address) {
		v := reflect.NewAt(t, at).Elem()
		if v.IsNil() {
			return
		}
		if m.depth++; m.depth > deepMost {
			m.depth = 0
			panic(ErrDeep)
		}
		copied(v)
		m.depth--
	}
}

// copyOf returns a copy of a value, rewritten by f unless that is nil. The value stays as it is.
func copyOf(v reflect.Value, f Map) reflect.Value {
	x := reflect.New(v.Type())
	x.Elem().Set(v)
	if f != nil {
		f(x.UnsafePointer())
	}
	return x.Elem()
}

func (m *Mapper) handle(at mem.Address) {
	h := mem.As[handle.Handle](mem.Pointer{Address: at})
	if *h == handle.None {
		return
	}
	to, ok := m.to(*h)
	if *h = to; !ok {
		m.Cut++
	}
}

// reference binds a reference to the other world.
func (m *Mapper) reference(at mem.Address) {
	if l := mem.As[*extend.Liveness](mem.Pointer{Address: at}); *l != nil && m.liveness != nil {
		*l = m.liveness
	}
}

func (m *Mapper) structOf(t reflect.Type) Map {
	type field struct {
		offset uintptr
		of     Map
	}
	var fields []field
	for i := range t.NumField() {
		if f := m.Of(t.Field(i).Type); f != nil {
			fields = append(fields, field{t.Field(i).Offset, f})
		}
	}
	every := func(at mem.Address) {
		for _, f := range fields {
			f.of(mem.Pointer{Address: at}.At(1, f.offset).Address)
		}
	}
	if len(fields) == 2 && t.NumField() == 2 && t.Field(0).Type == livenessType && t.Field(1).Type == handleType {
		return m.weak(every, t.Field(1).Offset)
	}
	return every
}

// weak returns the Map of a reference, which is bound to the other world even if a codec has read it,
// and empty if its handle is cut.
func (m *Mapper) weak(every Map, handleAt uintptr) Map {
	return func(at mem.Address) {
		every(at)
		if m.liveness == nil {
			return
		}
		bound := mem.As[*extend.Liveness](mem.Pointer{Address: at})
		if *bound = m.liveness; *mem.As[handle.Handle](mem.Pointer{Address: at}.At(1, handleAt)) == handle.None {
			*bound = nil
		}
	}
}

func (m *Mapper) arrayOf(elem reflect.Type, n int) Map {
	f, size := m.Of(elem), elem.Size()
	return func(at mem.Address) {
		for i := range n {
			f(mem.Pointer{Address: at}.At(i, size).Address)
		}
	}
}

// mapOf leaves out entries whose key has a handle that is cut: several such keys could become
// equal.
func (m *Mapper) mapOf(t reflect.Type) func(v reflect.Value) {
	key, elem := m.Of(t.Key()), m.Of(t.Elem())
	return func(v reflect.Value) {
		all := reflect.MakeMapWithSize(t, v.Len())
		for i := v.MapRange(); i.Next(); {
			before := m.Cut
			if k := copyOf(i.Key(), key); m.Cut == before {
				all.SetMapIndex(k, copyOf(i.Value(), elem))
			}
		}
		v.Set(all)
	}
}
