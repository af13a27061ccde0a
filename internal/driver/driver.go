// Package driver gives this module's other packages access to worlds: it is package drive with the
// types of package world.
package driver

import (
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/world"
)

// World is what a world offers to this module's packages.
type World = drive.World[*world.Build, *world.Context, *world.PanicError]

// Tick is a running tick of a world.
type Tick = drive.Tick[*world.PanicError]

// Of returns the World of an actor, which may be a *world.World itself. It panics if the actor is
// nil.
func Of(by world.Actor) World { return drive.Of[World](by) }

// Acting returns the part of a Context that says which system it acts for.
func Acting(c *world.Context) *drive.Acting { return Of(c).Acting(c) }
