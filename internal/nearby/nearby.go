// Package nearby gives package interest access to indexes of package near.
package nearby

import "github.com/atoll-sim/atoll/handle"

// Index is an index as a frame has it. Its entities have places: numbers from 0 to Places-1.
// Entities that are near each other mostly have places that are close.
//
// Ownership: any goroutine reads it until the frame is released.
type Index interface {
	Places() int
	// Within appends the entities that are no farther than radius and margin together from a point.
	// The order has no meaning. A Distance2 is infinite only if the entity is beyond radius.
	Within(dst []Hit, x, y, z, radius, margin float64) []Hit
	// Cell returns the number of the cell that the entity at a place is in.
	Cell(place uint32) int
}

// Hit is an entity that was found.
type Hit struct {
	Handle    handle.Handle
	Distance2 float64
	Place     uint32
}

// open returns the Index that a *near.Reader reads. It is set once, when the program starts.
var open func(reader any) Index

// Register sets what Of calls. Package near calls it when the program starts.
func Register(f func(reader any) Index) { open = f }

// Of returns the Index that a *near.Reader of a frame reads.
func Of(reader any) Index { return open(reader) }
