// Package access does what a system does with its accessors, for the test that
// looks at what the compiler makes of it.
package access

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/world"
)

// Position is a component.
type Position struct{ X, Y float64 }

// Slice is a loop's access.
func Slice(r *world.Reader[Position], c world.Chunk) []Position { return r.Slice(c) }

// SliceWrite is a loop's access for writing.
func SliceWrite(w *world.Writer[Position], c world.Chunk) []Position { return w.Slice(c) }

// At is access to an atom that was located.
func At(r *world.Reader[Position], l shard.Loc) *Position { return r.At(l) }

// AtWrite is that for writing.
func AtWrite(w *world.Writer[Position], l shard.Loc) *Position { return w.At(l) }

// Get is access by handle.
func Get(r *world.Reader[Position], h handle.Handle) *Position { return r.Get(h) }

// GetWrite is access by handle for writing.
func GetWrite(w *world.Writer[Position], h handle.Handle) *Position { return w.Get(h) }

// Locate finds an atom once for several accessors.
func Locate(c *world.Context, h handle.Handle) shard.Loc { return c.Locate(h) }

// LocateIdle does so on an idle world.
func LocateIdle(w *world.World, h handle.Handle) shard.Loc { return w.Locate(h) }

// Alive checks a handle.
func Alive(w *world.World, h handle.Handle) bool { return w.Alive(h) }

// AliveInSystem checks one within a system.
func AliveInSystem(c *world.Context, h handle.Handle) bool { return c.Alive(h) }

// AliveFromOutside checks one from a port.
func AliveFromOutside(p *world.Port, h handle.Handle) bool { return p.Alive(h) }

// ColumnAt is access to an atom of any shard, as a foreign reader has it.
func ColumnAt(c *store.Column, l slots.Loc) *Position { return (*Position)(c.At(l)) }
