package snapshot

import (
	"errors"

	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// Errors of Load and Inspect, and of package text. Errors that wrap them say what is wrong, and
// where.
var (
	// ErrNoSnapshot is returned for data that does not begin as a snapshot does.
	ErrNoSnapshot = format.ErrNoSnapshot
	// ErrVersion is returned for a snapshot of another version of the format.
	ErrVersion = format.ErrVersion
	// ErrBase is returned for an increment without the snapshot that it is based on, or with
	// another. The error has the tick and hash of that base.
	ErrBase = format.ErrBase
	// ErrTruncated is returned for a snapshot that ends too soon.
	ErrTruncated = format.ErrTruncated
	// ErrAltered is returned for a snapshot whose bytes are not those that Save wrote, or that
	// has contents that no world can have.
	ErrAltered = format.ErrAltered
	// ErrOtherWorld is returned if the world lacks something that the snapshot has, or has it
	// in another form, and no Options.Changes says what becomes of it. The error lists all of that.
	ErrOtherWorld = format.ErrOtherWorld
	// ErrNotNew is returned for a world that has given a handle, made a tick, or was sent
	// something.
	ErrNotNew = errors.New("snapshot: the world is not new")
	// ErrTooLarge is returned for a snapshot that would take more memory than Options.BytesMax,
	// and by Save for a part of more than a gigabyte.
	ErrTooLarge = format.ErrTooLarge
	// ErrDiffers is returned if the loaded state has another hash than the saved one, for example
	// because a codec read another value than was written.
	ErrDiffers = errors.New("snapshot: the loaded state differs")
)
