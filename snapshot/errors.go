package snapshot

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/internal/drive"
)

// Errors of Load, Inspect and Import. What wraps them says where, and what is wrong.
var (
	// ErrNoSnapshot is returned for what does not begin as a snapshot does.
	ErrNoSnapshot = errors.New("snapshot: not a snapshot")
	// ErrVersion is returned for a snapshot of another version of the format.
	ErrVersion = errors.New("snapshot: another version of the format")
	// ErrBase is returned for an increment without the snapshot that it is based on, or with another.
	// The error has the tick and hash of that base.
	ErrBase = errors.New("snapshot: not with its base")
	// ErrTruncated is returned for a snapshot that ends too soon.
	ErrTruncated = errors.New("snapshot: truncated")
	// ErrAltered is returned for a snapshot whose bytes are not those that Save wrote, or that
	// shows what no world can have.
	ErrAltered = errors.New("snapshot: altered")
	// ErrOtherWorld is returned for a world that lacks something that the snapshot has, or has it
	// in another form, unless Options.Changes say what becomes of it. The error lists all of that.
	ErrOtherWorld = errors.New("snapshot: of another world")
	// ErrNotNew is returned for a world that has given a handle, made a tick, or was sent
	// something.
	ErrNotNew = errors.New("snapshot: the world is not new")
	// ErrTooLarge is returned for a snapshot that would take more memory than Options.BytesMax,
	// and by Save for a part of more than a gigabyte.
	ErrTooLarge = errors.New("snapshot: too large")
	// ErrDiffers is returned if the loaded state has another hash than the saved one, as when a
	// codec reads another value than was written.
	ErrDiffers = errors.New("snapshot: the loaded state differs")
)

// altered says what is wrong with a part of a snapshot.
func altered(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	for _, x := range args {
		if e, ok := x.(error); ok && errors.Is(e, drive.ErrMemory) {
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
	}
	return fmt.Errorf("%w: %w", ErrAltered, err)
}

// otherWorld says what the new world lacks.
func otherWorld(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOtherWorld, fmt.Sprintf(format, args...))
}

// within says in which section an error is.
func (l *loading) within(s *section, err error) error {
	for _, own := range []error{ErrAltered, ErrOtherWorld, ErrTooLarge} {
		if errors.Is(err, own) {
			return fmt.Errorf("%w (%v)", err, s)
		}
	}
	return altered("%v: %w", s, err)
}
