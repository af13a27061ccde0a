package engine

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/store"
)

// ComponentSet names components: a Part, or what embeds one.
type ComponentSet interface {
	Viewable
	// components returns the set. It panics if they belong to another world.
	components(w *World) store.Set
	// in reports whether a set has all of them. It panics as components does.
	in(w *World, set *store.Set) bool
}

// Viewable is what World.NewView takes: a ComponentSet, or what Extend or Derive returned.
type Viewable interface {
	// enter adds it to a view. It panics if it belongs to another world.
	enter(v *View)
	// framed returns the number and the world of an extension, or nil.
	framed() (*World, int)
}

// Part makes what it is embedded in a ComponentSet.
//
// Ownership: immutable.
type Part struct {
	w    *World
	set  store.Set
	only int    // the component, if there is but one; else -1
	what string // for messages
	name string
}

// components implements ComponentSet.
func (p *Part) components(w *World) store.Set {
	if p.w != w {
		panic(fmt.Sprintf("world: %s %q belongs to another world; use that world's own", p.what, p.name))
	}
	return p.set
}

// in implements ComponentSet.
func (p *Part) in(w *World, set *store.Set) bool {
	if p.w == w && p.only >= 0 {
		return set.Has(p.only)
	}
	of := p.components(w)
	return set.Contains(&of)
}

// enter implements Viewable.
func (p *Part) enter(v *View) { v.components = v.components.Union(p.components(v.w)) }

// framed implements Viewable: a set of components is no extension.
func (p *Part) framed() (*World, int) { return nil, 0 }

// SetOf returns the components of parts. It panics if one is nil or of another world.
func (w *World) SetOf(call string, parts []ComponentSet) (set store.Set) {
	for i, p := range parts {
		mustPart(call, i, p)
		set = set.Union(p.components(w))
	}
	return set
}

// mustPart panics about part i of a call if it is nil.
func mustPart(call string, i int, p ComponentSet) {
	switch {
	case p == nil:
		panic(fmt.Sprintf("world: %s: part %d is nil; pass a *Component or a *Bundle", call, i))
	case isNil(p):
		panic(fmt.Sprintf("world: %s: part %d is a nil %T; pass what world.Register, world.NewBundle, prefab.New or prefab.Load returned", call, i, p))
	}
}
