package engine

import "unsafe"

// isNil reports whether an interface is nil or holds a nil pointer. x must hold no other nil: no map,
// slice or function.
//
// Safety: the second word of an interface is what it holds, if that is a pointer, or else its address.
func isNil(x any) bool { return (*[2]unsafe.Pointer)(unsafe.Pointer(&x))[1] == nil }

// What is embedded, as the first field, in the types that define types of package world.
type (
	worldSelf         struct{}
	contextSelf       struct{}
	entityContextSelf struct{}
	portSelf          struct{}
	buildSelf         struct{}
	frameSelf         struct{}
)

// self returns the World that s is embedded in.
//
// Safety: s is the address of the first field, which is the address of the whole. The same holds for
// the functions below.
func (s *worldSelf) self() Self { return (*World)(unsafe.Pointer(s)) }

// Safety: as for worldSelf.self.
func (s *contextSelf) self() Self { return (*Context)(unsafe.Pointer(s)) }

// Safety: as for worldSelf.self.
func (s *entityContextSelf) self() Self { return (*EntityContext)(unsafe.Pointer(s)) }

// Safety: as for worldSelf.self.
func (s *portSelf) self() Self { return (*Port)(unsafe.Pointer(s)) }

// Safety: as for worldSelf.self.
func (s *worldSelf) bind(call string) binding { return (*World)(unsafe.Pointer(s)).binding(call) }

// Safety: as for worldSelf.self.
func (s *buildSelf) bind(call string) binding { return (*Build)(unsafe.Pointer(s)).binding(call) }

// Safety: as for worldSelf.self.
func (s *frameSelf) bind(call string) binding { return (*Frame)(unsafe.Pointer(s)).binding(call) }

// Safety: as for worldSelf.self.
func (s *frameSelf) itself() *Frame { return (*Frame)(unsafe.Pointer(s)) }
