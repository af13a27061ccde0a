package names

import (
	"errors"

	"github.com/atoll-sim/atoll/handle"
)

// Errors of refused calls, for errors.Is. A refused call changes nothing.
var (
	// ErrTaken is returned for a name that another entity has.
	ErrTaken = errors.New("names: another entity has that name")
	// ErrUnnamed is returned by Unbind for an entity without a name.
	ErrUnnamed = errors.New("names: entity has no name")
	// ErrLength is returned for a string that is longer than Options.LengthMax.
	ErrLength = errors.New("names: name is longer than LengthMax")
)

// Refusal is a request of a system or a port that the last refresh refused, because
// the name was taken.
type Refusal[K Name] struct {
	// Entity is the entity that was to get the name.
	Entity handle.Handle
	// Name is the name that was refused.
	Name K
	// Holder is the entity that had the name at that time.
	Holder handle.Handle
}
