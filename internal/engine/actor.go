package engine

import (
	"fmt"
	"strings"

	"github.com/atoll-sim/atoll/handle"
)

// Actor is a world.Actor: what acts on a world. The types of package world are defined by types of
// this package, so what is embedded in these is promoted to those: an Actor can say what it is
// here.
type Actor interface{ self() Self }

// Self is an Actor as this package uses it: a *World, *Context, *EntityContext, *Tx or *Port.
type Self interface {
	Actor
	Alive(h handle.Handle) bool
	world() *World
}

// SelfOf returns what an Actor is in this package. It panics if that is nil; call is the name for
// messages. Any goroutine that may use the actor may call it.
func SelfOf(by Actor, call string) Self {
	if isNil(by) {
		panic(noActor(by, call))
	}
	return by.self()
}

// noActor is the panic's text for an Actor that is nil, or a nil pointer.
func noActor(by Actor, call string) string {
	if by == nil {
		return fmt.Sprintf("world: %s by a nil Actor; pass a *World, *Context, *EntityContext, *Tx or *Port", call)
	}
	return fmt.Sprintf("world: %s by a nil %s; pass one of a world", call, nameOf(by))
}

// Is returns what an Actor is in this package, or nil if it is nil. Extensions ask this, on the
// actor's goroutine: a type switch of their own would not find what a program's struct embeds.
func Is(by Actor) Self {
	if isNil(by) {
		return nil
	}
	return by.self()
}

// Of returns the world of an Actor, for extensions. It panics if that is nil; see SelfOf.
func Of(by Actor) *World {
	x := SelfOf(by, "a reference")
	mustActor(x, "a reference")
	return x.world()
}

// nameOf returns the type of an actor for messages, as a program knows it.
func nameOf(x any) string { return strings.Replace(fmt.Sprintf("%T", x), "engine.", "world.", 1) }
