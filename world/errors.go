package world

import (
	"errors"

	"github.com/atoll-sim/atoll/shard"
)

// Errors that a caller can meet in normal running, for errors.Is.
var (
	// ErrFull is returned when a sender has as much under way as its limits
	// allow. Nothing was sent and no slot was used; the next refresh makes room.
	ErrFull = errors.New("world: lane is full until the next refresh")
	// ErrStale is returned for a handle that is not alive.
	ErrStale = errors.New("world: entity is not alive")
	// ErrMissing is returned when an entity lacks the component.
	ErrMissing = errors.New("world: entity has no such component")
	// ErrTooOld is returned when a tick is asked about that is no longer
	// remembered.
	ErrTooOld = errors.New("world: that tick is no longer remembered")
	// ErrNone is returned when no entity matches a query that wants one.
	ErrNone = errors.New("world: no entity matches the query")
	// ErrSeveral is returned when more than one entity matches a query that
	// wants one.
	ErrSeveral = errors.New("world: several entities match the query")
	// ErrClosed is returned by a closed port, and by whatever asks something of a
	// closed world.
	ErrClosed = errors.New("world: the port, or its world, is closed")
	// ErrPorts is returned when as many ports are open as PortsMax allows.
	ErrPorts = errors.New("world: too many open ports")
	// ErrIndexes is returned when a shard has given all of its indexes.
	ErrIndexes = shard.ErrIndexes
	// ErrChunks is returned when a shard has given all of its chunk numbers.
	ErrChunks = shard.ErrChunks
)
