package extend

import (
	"io"
	"reflect"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// Form is how single values of a type are written as bytes and read again. Fields with a
// state.Codec are written by that, strings as their text, and other fields as they are in memory,
// with all bytes zeroed that hold no value. Machines of another byte order or size of int cannot
// read them. Immutable.
type Form interface {
	// Shape distinguishes forms: those of the same shape can read each other's bytes, as far as
	// codecs can.
	Shape() string
	// Append appends a value, the first of the cells, to dst. It allocates nothing but what
	// codecs and dst do.
	Append(dst []byte, value mem.Cells) []byte
	// Read reads a value that Append wrote into the first of the cells, which must be new, and
	// returns the bytes of src after it. It returns an error if src ends too soon, or the codec's.
	Read(src []byte, value mem.Cells) (rest []byte, err error)
	// AppendAll and ReadAll are Append and Read for all of the cells. ReadAll accepts anything with
	// enough bytes.
	AppendAll(dst []byte, values mem.Cells) []byte
	ReadAll(src []byte, values mem.Cells) (rest []byte, err error)
	// Whole reports whether Append writes the memory of a value, and nothing else.
	Whole() bool
	// Least returns how many bytes a value takes at least.
	Least() int
	// ByCodec reports whether it calls functions of the user.
	ByCodec() bool
	// Parts lists what Append writes, in order: enough to read it without the Go type.
	Parts() []Part
	// ReadPart reads what the codec of a part wrote, without its length, into the first of the
	// cells.
	ReadPart(part int, src []byte, value mem.Cells) error
}

// Part is a run of a value's memory, or one field that a codec, text or CBOR writes after a length
// of 4 bytes.
type Part struct {
	Offset  int     `json:"at"`
	Size    int     `json:"size"` // in memory; 0 for a field that is not written as memory
	ByCodec bool    `json:"codec,omitempty"`
	Fields  []Field `json:"fields"` // in the order of the memory; one if a codec writes it
}

// Field is a field of a value.
type Field struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Offset int    `json:"at"` // in the value
}

// CodecError is what Append panics with if a user's method returns an error.
type CodecError struct{ Err error }

// Error returns the method's error.
func (e *CodecError) Error() string { return e.Err.Error() }

// Unwrap returns the method's error.
func (e *CodecError) Unwrap() error { return e.Err }

// FormOf returns the Form of a type by a *state.Codecs. It returns state.ErrNoCodec, naming the
// field, if a codec is missing, or if toRead is set and it has no Read. Package state sets FormOf
// when the program starts.
var FormOf func(codecs any, t reflect.Type, toRead bool) (Form, error)

// Turns hashes a part of a world's state in each tick, in turns.
type Turns interface {
	// Sum is called when a log begins, and once a tick, at the time of a Recorder's Settled.
	Sum() uint64
	// Wrong returns which types are left out because they have no codec, and how a codec has
	// failed, or nil.
	Wrong() error
}

// NewTurns makes the Turns of an idle *world.World with a *state.Codecs. Package state sets it when
// the program starts.
var NewTurns func(w, codecs any) Turns

// Hashing is the hash of a world's state whose shards are hashed later.
type Hashing interface {
	// Hash hashes the shards, by images with the handles and the components that were left out. It
	// is called once.
	Hash(image func(shard int) *store.Image) uint64
}

// HashLater hashes the state of an idle *world.World by a *state.Codecs, except for what is hashed
// later: the slots of shards, which entity is in which row, and the components for which has
// returns true. Package state sets HashLater when the program starts. The error is that of
// state.StateHash.
var HashLater func(w, codecs any, has func(component int) bool) (Hashing, error)

// ReadExtra returns what the Extra of a name has appended in a snapshot, or nil if it has none. It
// reads the whole snapshot, without a world. Package snapshot sets it when the program starts. The
// error is that of snapshot.Verify.
var ReadExtra func(src io.Reader, name string) ([]byte, error)
