// Package driver opens worlds to this module's packages: it is package drive with the types of
// package world.
package driver

import (
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/world"
)

// World is what a world lets this module's packages do.
type World = drive.World[*world.Build, *world.Context, *world.PanicError]

// Tick is a running tick of a world.
type Tick = drive.Tick[*world.PanicError]

// Of returns the World that an actor acts on, a *world.World among them. It panics about a nil
// one.
func Of(by world.Actor) World { return drive.Of[World](by) }

// Acting returns the part of a Context that says which system it acts for.
func Acting(c *world.Context) *drive.Acting { return Of(c).Acting(c) }
