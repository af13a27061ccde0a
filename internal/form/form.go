// Package form writes and reads single values of users' types, by their codecs or by reflection. It
// is what package state shows of codecs.
package form

import (
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
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
	// Take takes memory of the Budget, if there is one, for values that were or will be read from so
	// many bytes. The error is extend.ErrMemory.
	Take(memory uintptr, bytes int) error
	// ByCodec reports whether it calls functions of the user.
	ByCodec() bool
	// Parts lists what Append writes, in order: enough to read it without the Go type. It must not be
	// written.
	Parts() []Part
	// ReadPart reads what the codec of a part wrote, without its length, into the first of the
	// cells.
	ReadPart(part int, src []byte, value mem.Cells) error
	// Constants lists the constants of all enums in values, each as a line. The shape says nothing
	// of them.
	Constants() []string
	// Taken returns a function that says which number in a value was no constant of a program whose
	// Constants are given, and is one here, or "". It is nil if there is no such number.
	Taken(constants []string) func(value mem.Cells) string
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

// Unsure reports whether methods or functions of the user's write values of a form, so that they
// may not be readable.
func Unsure(f Form) bool {
	return slices.ContainsFunc(f.Parts(), func(p Part) bool { return p.ByCodec && p.Fields[0].Type != "string" })
}

// Coded is an extend.Extension or extend.Late whose state has values of the user's types.
type Coded interface {
	// Coded returns a value that shows the state by codecs and, if toRead is set, loads it. It
	// returns ErrNoCodec if there is no codec for a type that needs one.
	Coded(codecs *Codecs, toRead bool) (any, error)
}

// Holder is what Coded returns of a state that can be saved, with values of one type of the user's
// in it. They may have been saved in another form.
type Holder interface {
	// Held returns the type of the values.
	Held() reflect.Type
	// LoadHeld is LoadSaved of extend.Saved for values that another form reads.
	LoadHeld(src []byte, by Form) error
}

// Insertable is what Coded returns of a state whose entries go along with entities, as with an
// engine.Insertable. They have values of one type of the user's, which another form may read.
//
// Ownership: as for engine.Insertable.
type Insertable interface {
	Held() reflect.Type
	AppendExcerpt(tx *engine.Tx, dst []byte, of *extend.Excerpt) (excerpt []byte, n int)
	// Take takes the entries of entities away, by a transaction.
	Take(tx *engine.Tx, of *extend.Excerpt)
	// ReadExcerpt reads what AppendExcerpt has appended of so many entities in another world, with
	// values that a form reads, perhaps by code of the user. It trusts no byte, and changes nothing.
	ReadExcerpt(src []byte, entities int, by Form) (read any, err error)
	// PlanInsert is engine.Insertable's, of what ReadExcerpt has returned. It calls rewrite for
	// each value.
	// With back it puts back what Take has taken, for which there is room whatever the limits say.
	PlanInsert(tx *engine.Tx, read any, now []handle.Handle, back bool, rewrite func(mem.Cells) error) (insert func(), err error)
}

// StateOf returns the value that shows the state of an Extension or Late: itself, unless it is
// Coded. Callers save, load or hash the state. It returns Coded's error, and has changed nothing.
func StateOf(x extend.Base, codecs *Codecs, toRead bool) (any, error) {
	if c, ok := x.(Coded); ok {
		return c.Coded(codecs, toRead)
	}
	return x, nil
}
