package drive

import (
	"reflect"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// Form is how single values of a type are written as bytes and read again: fields with a
// state.Codec by that, strings by their text, the others as they are in memory, with everything
// zeroed that holds nothing. Machines of another byte order or size of int cannot read them.
// Immutable.
type Form interface {
	// Shape tells forms apart: those of the same shape can read each other's bytes, as far as
	// codecs can.
	Shape() string
	// Append appends a value, the first of the cells, to dst. It allocates nothing but what
	// codecs and dst do.
	Append(dst []byte, value mem.Cells) []byte
	// Read reads a value that Append wrote into the first of the cells, which must be new, and
	// returns what is behind it in src. It returns an error if src ends too soon, or the codec's.
	Read(src []byte, value mem.Cells) (rest []byte, err error)
	// AppendAll and ReadAll are Append and Read for all of the cells. What ReadAll reads may be
	// anything that has bytes enough.
	AppendAll(dst []byte, values mem.Cells) []byte
	ReadAll(src []byte, values mem.Cells) (rest []byte, err error)
	// Least returns how many bytes a value takes at least.
	Least() int
	// ByCodec reports whether functions of the user's are called.
	ByCodec() bool
	// Parts lists what Append writes, in order: enough to read it without the Go type.
	Parts() []Part
	// ReadPart reads what the codec of a part wrote, without its length, into the first of the
	// cells.
	ReadPart(part int, src []byte, value mem.Cells) error
}

// Part is a run of a value's memory, or one field that a codec, text or CBOR writes, behind a
// length of 4 bytes.
type Part struct {
	Offset, Size int // in memory; Size is 0 for what is not written as memory
	ByCodec      bool
	Fields       []Field // in the order of the memory; one if it is by a codec
}

// Field is a field of a value.
type Field struct {
	Path, Type string
	Offset     int // in the value
}

// CodecError is what Append panics with if a method of the user's returns an error.
type CodecError struct{ Err error }

func (e *CodecError) Error() string { return e.Err.Error() }
func (e *CodecError) Unwrap() error { return e.Err }

// FormOf returns the Form of a type by a *state.Codecs. It returns state.ErrNoCodec, naming the
// field, if there is none, or, if it is to be read, one without Read. Package state sets it when
// the program starts.
var FormOf func(codecs any, t reflect.Type, toRead bool) (Form, error)

// Turns hashes the parts of a world's state whose turn it is.
type Turns interface {
	// Sum may be called once a tick, where a Recorder's Settled is. It returns an error if something
	// lacks a codec.
	Sum() (uint64, error)
}

// NewTurns makes the Turns of an idle *world.World with a *state.Codecs. Package state sets it when
// the program starts.
var NewTurns func(w, codecs any) Turns

// Hashing is the hash of a world's state of which the shards are hashed later.
type Hashing interface {
	// Hash hashes them, by images that have handles and the components that were left out. It is
	// called once.
	Hash(image func(shard int) *store.Image) uint64
}

// HashLater hashes the state of an idle *world.World by a *state.Codecs, but for the slots and rows of
// shards, and in these for the components for which has is true. Package state sets it when the
// program starts. The error is that of state.StateHash.
var HashLater func(w, codecs any, has func(component int) bool) (Hashing, error)
