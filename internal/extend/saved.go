package extend

import (
	"io"

	"github.com/atoll-sim/atoll/internal/slots"
)

// Saved is an Extension that can be saved and loaded. It is found by
// its name.
type Saved interface {
	// AppendSaved appends all that LoadSaved needs to dst. The same state gives the same bytes.
	AppendSaved(dst []byte) []byte
	// LoadSaved restores the extension, whatever state it has. The entities exist already. After an
	// error the extension may have any state that AppendSaved can show.
	LoadSaved(src []byte) error
}

// Optioned is a Saved extension whose options are in snapshots.
type Optioned interface {
	// SavedOptions returns the options as text, and the part of them that must be the same in a
	// world that loads the snapshot. The others only concern what is new, or LoadSaved handles
	// them. The text begins with a word for what SavedCount counts.
	SavedOptions() (all, same string)
	// SavedCount returns how much there is: what would be lost without the extension.
	SavedCount() int
}

// Refusing is an Optioned extension whose LoadSaved may refuse a state that was saved with other
// options.
type Refusing interface {
	// Refuses returns why, or nil if LoadSaved would take the state. It changes nothing.
	Refuses(src []byte) error
}

// ErrImage is wrapped by errors about a state that no world can have.
var ErrImage = slots.ErrImage

// ReadExtra returns what the Extra of a name has appended in a snapshot, or nil if it has none. It
// reads the whole snapshot, without a world. Package snapshot sets it when the program starts. The
// error is that of snapshot.Verify.
var ReadExtra func(src io.Reader, name string) ([]byte, error)

// CheckSnapshot reads a file of package snapshot to its end, an increment without its base too, and
// checks each checksum. It returns the tick and the hash of the world that it is of. Package snapshot
// sets it when the program starts. It returns the errors of snapshot.Verify.
var CheckSnapshot func(src io.Reader) (tick, hash uint64, err error)

// Incarnation returns the last incarnation that the world in a directory of package durable was, or 0
// if the directory does not say. Package durable sets it when the program starts. An error says what
// is wrong with the file.
var Incarnation func(path string) (uint32, error)
