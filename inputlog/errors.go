package inputlog

import "errors"

// What is wrong with a log, or with playing it. Errors of this package wrap one of
// these and say where.
var (
	// ErrNoLog tells that the bytes are no log at all.
	ErrNoLog = errors.New("inputlog: this is no log of inputs")
	// ErrVersion tells that another version of this package wrote the log.
	ErrVersion = errors.New("inputlog: the log has another version")
	// ErrTruncated tells that the log ends without its end mark: whoever wrote it died
	// or has not closed it yet. What is before is good.
	ErrTruncated = errors.New("inputlog: the log is cut off")
	// ErrAltered tells that a checksum is wrong, or what it is over makes no sense.
	ErrAltered = errors.New("inputlog: the log was altered")
	// ErrOtherWorld tells that the log is of a world that was made in another way.
	ErrOtherWorld = errors.New("inputlog: the log is of another world")
	// ErrDiffers tells that a hash is not the one in the log.
	ErrDiffers = errors.New("inputlog: the world differs from the recorded one")
	// ErrChanged tells that the recorded world was changed between two ticks by what is no input, so
	// that the log cannot be played further: see Options.OnChange.
	ErrChanged = errors.New("inputlog: the recorded world was changed outside of its ticks")
	// ErrClosed is returned by a Recorder after Close.
	ErrClosed = errors.New("inputlog: the recorder is closed")
)
