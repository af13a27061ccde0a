package engine

import "unsafe"

// isNil reports whether an interface is nil or holds a nil pointer. x must hold no other nil: no
// map, slice or function.
//
// Safety: the second word of an interface is what it holds, if that is a pointer, or else its
// address.
func isNil(x any) bool { return (*[2]unsafe.Pointer)(unsafe.Pointer(&x))[1] == nil }

// These are embedded, as the first field, in the types by which package world defines its own: see
// Actor.
type (
	worldSelf         struct{}
	contextSelf       struct{}
	entityContextSelf struct{}
	portSelf          struct{}
	txSelf            struct{}
	buildSelf         struct{}
	frameSelf         struct{}
)

// self returns the World that w is embedded in.
//
// Safety: w is the address of the first field, which is the address of the whole. The same holds
// for the functions below.
func (w *worldSelf) self() Self { return (*World)(unsafe.Pointer(w)) }

// self returns the Context that c is embedded in.
//
// Safety: as for worldSelf.self.
func (c *contextSelf) self() Self { return (*Context)(unsafe.Pointer(c)) }

// self returns the EntityContext that e is embedded in.
//
// Safety: as for worldSelf.self.
func (e *entityContextSelf) self() Self { return (*EntityContext)(unsafe.Pointer(e)) }

// self returns the Port that p is embedded in.
//
// Safety: as for worldSelf.self.
func (p *portSelf) self() Self { return (*Port)(unsafe.Pointer(p)) }

// self returns the Tx that t is embedded in.
//
// Safety: as for worldSelf.self.
func (t *txSelf) self() Self { return (*Tx)(unsafe.Pointer(t)) }

// transaction returns the Tx that t is embedded in.
//
// Safety: as for worldSelf.self.
func (t *txSelf) transaction() *Tx { return (*Tx)(unsafe.Pointer(t)) }

// bind is World.binding.
//
// Safety: as for worldSelf.self.
func (w *worldSelf) bind(call string) binding { return (*World)(unsafe.Pointer(w)).binding(call) }

// bind is Build.binding.
//
// Safety: as for worldSelf.self.
func (b *buildSelf) bind(call string) binding { return (*Build)(unsafe.Pointer(b)).binding(call) }

// bind is Frame.binding.
//
// Safety: as for worldSelf.self.
func (f *frameSelf) bind(call string) binding { return (*Frame)(unsafe.Pointer(f)).binding(call) }

// itself returns the Frame that f is embedded in.
//
// Safety: as for worldSelf.self.
func (f *frameSelf) itself() *Frame { return (*Frame)(unsafe.Pointer(f)) }
