package handle

import (
	"errors"
	"fmt"
	"strconv"
)

// The two ways in which input is not a handle. Every error of this package
// wraps exactly one of them, for [errors.Is]; its message says what is wrong,
// where, and which limit was passed.
var (
	// ErrSyntax means that the input does not have the form of a handle.
	ErrSyntax = errors.New("handle: bad syntax")

	// ErrRange means that the input has the form of a handle, but one of its
	// fields is beyond its limit.
	ErrRange = errors.New("handle: out of range")
)

// fieldError is what New panics with: its arguments, at least one of them out of range. It is
// formatted only when its text is read, because New could not be inlined with a call that formats.
type fieldError struct{ home, index, version uint32 }

// Error names the first field that is out of range, and its limit.
func (e fieldError) Error() string {
	switch {
	case e.home > HomeMax:
		return fmt.Sprintf("handle: home %d is out of range: the largest is HomeMax, %d", e.home, HomeMax)
	case e.index > IndexMax:
		return fmt.Sprintf("handle: index %d is out of range: the largest is IndexMax, %d", e.index, IndexMax)
	case e.version > VersionMax:
		return fmt.Sprintf("handle: version %d is out of range: the largest is VersionMax, %d", e.version, VersionMax)
	default:
		return "handle: version 0 is out of range: versions start at 1; for no entity use None"
	}
}

// Unwrap returns ErrRange.
func (e fieldError) Unwrap() error { return ErrRange }

// inputError returns an error that wraps sentinel and says that the input is wrong at byte offset
// at, because of problem.
func inputError[T string | []byte](sentinel error, input T, at int, problem string) error {
	return fmt.Errorf("%w: %s, byte %d: %s", sentinel, quote(input), at, problem)
}

// quoteSizeMax is how much of a hostile input an error repeats, in bytes. It
// leaves room to see what follows the longest handle.
const quoteSizeMax = textSizeMax + 9

// quote returns input as a Go string literal in printable ASCII, cut after
// quoteSizeMax bytes, so that it can neither fill a log nor write escape
// sequences into one.
func quote[T string | []byte](input T) string {
	if len(input) <= quoteSizeMax {
		return strconv.QuoteToASCII(string(input))
	}
	return fmt.Sprintf("%s... (%d bytes)", strconv.QuoteToASCII(string(input[:quoteSizeMax])), len(input))
}
