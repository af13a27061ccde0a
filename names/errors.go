package names

import (
	"errors"

	"github.com/atoll-sim/atoll/handle"
)

// Errors that a name can be refused with, for errors.Is. Nothing was changed then.
var (
	// ErrTaken is returned for a name that another entity has.
	ErrTaken = errors.New("names: another entity has that name")
	// ErrUnnamed is returned when an entity without a name is to give it up.
	ErrUnnamed = errors.New("names: entity has no name")
	// ErrLength is returned for a string that is longer than Options.LengthMax.
	ErrLength = errors.New("names: name is longer than LengthMax")
)

// Refusal is a request of a system or a port that the last refresh refused, because
// the name was taken.
type Refusal[K Name] struct {
	// Entity is the one that was to get the name.
	Entity handle.Handle
	// Name is what it was to be called.
	Name K
	// Holder is the entity that had the name then.
	Holder handle.Handle
}
