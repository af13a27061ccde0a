package snapshot

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/internal/drive"
)

// Errors of Load, Inspect and Import. Errors that wrap them say what is wrong, and where.
var (
	// ErrNoSnapshot is returned for data that does not begin as a snapshot does.
	ErrNoSnapshot = errors.New("snapshot: not a snapshot")
	// ErrVersion is returned for a snapshot of another version of the format.
	ErrVersion = errors.New("snapshot: another version of the format")
	// ErrBase is returned for an increment without the snapshot that it is based on, or with
	// another. The error has the tick and hash of that base.
	ErrBase = errors.New("snapshot: not with its base")
	// ErrTruncated is returned for a snapshot that ends too soon.
	ErrTruncated = errors.New("snapshot: truncated")
	// ErrAltered is returned for a snapshot whose bytes are not those that Save wrote, or that
	// has contents that no world can have.
	ErrAltered = errors.New("snapshot: altered")
	// ErrOtherWorld is returned if the world lacks something that the snapshot has, or has it
	// in another form, and no Options.Changes says what becomes of it. The error lists all of that.
	ErrOtherWorld = errors.New("snapshot: of another world")
	// ErrNotNew is returned for a world that has given a handle, made a tick, or was sent
	// something.
	ErrNotNew = errors.New("snapshot: the world is not new")
	// ErrTooLarge is returned for a snapshot that would take more memory than Options.BytesMax,
	// and by Save for a part of more than a gigabyte.
	ErrTooLarge = errors.New("snapshot: too large")
	// ErrDiffers is returned if the loaded state has another hash than the saved one, for example
	// because a codec read another value than was written.
	ErrDiffers = errors.New("snapshot: the loaded state differs")
)

// altered returns an error about a part of a snapshot.
func altered(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	for _, x := range args {
		if e, ok := x.(error); ok && errors.Is(e, drive.ErrMemory) {
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
	}
	return fmt.Errorf("%w: %w", ErrAltered, err)
}

// otherWorld returns an error about something that the new world lacks.
func otherWorld(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOtherWorld, fmt.Sprintf(format, args...))
}

// within adds the section to an error.
func (l *loading) within(s *section, err error) error {
	for _, own := range []error{ErrAltered, ErrOtherWorld, ErrTooLarge} {
		if errors.Is(err, own) {
			return fmt.Errorf("%w (%v)", err, s)
		}
	}
	return altered("%v: %w", s, err)
}
