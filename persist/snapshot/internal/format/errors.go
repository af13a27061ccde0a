package format

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/internal/extend"
)

// Package snapshot exports these errors, and says what they mean.
var (
	ErrNoSnapshot = errors.New("snapshot: not a snapshot")
	ErrVersion    = errors.New("snapshot: another version of the format")
	ErrBase       = errors.New("snapshot: not with its base")
	ErrTruncated  = errors.New("snapshot: truncated")
	ErrAltered    = errors.New("snapshot: altered")
	ErrOtherWorld = errors.New("snapshot: of another world")
	ErrTooLarge   = errors.New("snapshot: too large")
)

// ErrGoexit is what a function of the user becomes that ends its goroutine.
var ErrGoexit = errors.New("snapshot: a function has ended its goroutine, by runtime.Goexit")

// Altered returns an error about a part of a snapshot.
func Altered(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	for _, x := range args {
		if e, ok := x.(error); ok && errors.Is(e, extend.ErrMemory) {
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
	}
	return fmt.Errorf("%w: %w", ErrAltered, err)
}

// OtherWorld returns an error about something that the new world lacks.
func OtherWorld(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOtherWorld, fmt.Sprintf(format, args...))
}

// About how much memory the parts of a world take.
const (
	BytesOfChunk = 512 // without its rows
	BytesOfTable = 4096

	// BytesPerByte bounds the memory for each byte that describes some, unless it is very little.
	BytesPerByte = 64
	bytesFree    = 1 << 30
)

// BytesMax returns how much memory a snapshot may take after that many bytes of it were read: most,
// or a default if that is 0.
func BytesMax(most, read int64) int64 {
	if most > 0 {
		return most
	}
	return bytesFree + BytesPerByte*read
}
