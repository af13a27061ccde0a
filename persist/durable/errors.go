package durable

import (
	"errors"
	"fmt"
)

// Errors of this package wrap one of these, or one that the method's text names.
var (
	// ErrDamaged is returned by Open if a file in the directory is damaged, missing, or in the
	// place of another: the error says which. Restore it, or set Options.AcceptLoss, which continues
	// from what is intact. It is also returned with inputlog.ErrDiffers if the log, played again by
	// the program that wrote it, gives another world. A log of another program is not damaged: see
	// OtherProgram.
	ErrDamaged = errors.New("durable: damaged")
	// ErrInUse is returned by Open if another process, or another Store of this one, uses the
	// directory. On a system that cannot lock files, such as js/wasm and Plan 9, Open returns an
	// error that says so: two processes would destroy the directory.
	ErrInUse = errors.New("durable: in use")
	// ErrFailed is what Wait, Save and Close return, with the reason, when inputs can no longer be
	// written: a write or sync of the log has failed, or something was sent that cannot be
	// recorded. What comes after Durable is lost when the process ends: Close saves no snapshot
	// then. Stop the server, and start it again.
	ErrFailed = errors.New("durable: inputs are not written any more")
	// ErrNotCopy is returned by Follow if the directory to copy to has a world that is no copy of the
	// source's, or of what the source was before it was restored to an earlier day.
	ErrNotCopy = errors.New("durable: the directory is no copy of the source")
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("durable: closed")
)

// ShardsError is returned by Open if the directory was not closed, as after a crash, and the world has
// another number of shards than the one that wrote it. A log can be played only by as many shards. So
// open the directory with a world of so many, Close the Store, and open it with the new world. Or set
// Options.OtherProgram to DiscardOther, which goes back to the snapshot.
type ShardsError struct {
	Shards int // of the world in the directory
}

// Error says what to do.
func (e *ShardsError) Error() string {
	return fmt.Sprintf("the log is of a world with %d shards, and can be played only by one with as many: open the directory with a world.Options.Shards = %[1]d, Close the Store, and then open it with the new number", e.Shards)
}

// errNoPath is for a path that was forgotten, as by a setting without a value.
var errNoPath = errors.New(`durable: the path of the directory is empty; pass "." for the working directory`)
