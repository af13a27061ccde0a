package inputlog

import "errors"

// What is wrong with a log, or with playing it. Errors of this package wrap one of
// these and name the place.
var (
	// ErrNoLog means that the bytes are not a log.
	ErrNoLog = errors.New("inputlog: this is no log of inputs")
	// ErrVersion means that another version of this package wrote the log.
	ErrVersion = errors.New("inputlog: the log has another version")
	// ErrTruncated means that the log ends without its end mark: the process that wrote it died or
	// has not closed it yet. Everything before the end is valid.
	ErrTruncated = errors.New("inputlog: the log is cut off")
	// ErrAltered means that a checksum is wrong, or that the data makes no sense.
	ErrAltered = errors.New("inputlog: the log was altered")
	// ErrOtherWorld means that the log is of a world that was made in another way.
	ErrOtherWorld = errors.New("inputlog: the log is of another world")
	// ErrDiffers means that a hash is not the one in the log: something was not deterministic, was
	// changed between ticks or behind a Reader, is shared by two entities or requests, or is a time
	// with a monotonic reading.
	ErrDiffers = errors.New("inputlog: the world differs from the recorded one")
	// ErrChanged means that the recorded world was changed between two ticks by something that is
	// not an input, so the log cannot be played beyond that: see Options.OnChange.
	ErrChanged = errors.New("inputlog: the recorded world was changed outside of its ticks")
	// ErrClosed is returned by a Recorder after Close.
	ErrClosed = errors.New("inputlog: the recorder is closed")
)
