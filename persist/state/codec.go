package state

import "github.com/atoll-sim/atoll/internal/form"

// ErrNoCodec is returned for a world with a component, message, resource or request that needs a
// codec and has none: see Codec.
var ErrNoCodec = form.ErrNoCodec

// Codec writes values of a type as bytes, for hashes, logs and snapshots. Types that hold an
// interface, channel or function need one. For other types it is optional. Without one, numbers are
// written as they are in memory, strings by their text, and slices, maps and pointers as CBOR, with
// the tags cbor and json of package github.com/fxamacker/cbor/v2. A type with the methods
// MarshalCBOR and UnmarshalCBOR of that package, or with encoding.BinaryMarshaler and
// BinaryUnmarshaler, is written by these, unless it is made of numbers alone.
//
// A value that is written without a Codec is read as one that is reflect.DeepEqual to it. But two
// pointers to one value, or two slices of one array, share nothing when they are read; and a
// time.Time is the same moment with the same offset from UTC, without the name of its zone or a
// monotonic clock. Types that would lose more need a Codec, as a unique.Handle does to be read, and
// errors name the field. So within slices, maps and pointers, fields must be exported, have names of
// their own and no tag that leaves out more than zero; structs embed neither pointers nor types with
// such methods; keys of maps are strings, integers or bools; and a type must not contain itself.
type Codec[T any] struct {
	// Append appends v to dst. The same value must give the same bytes, so write a map
	// in the order of its keys. Append must not change v.
	Append func(dst []byte, v *T) []byte
	// Read sets v, which is zero, to the value that was appended as src. It must not
	// keep src. Only logs and snapshots that are read need it: see package inputlog.
	Read func(src []byte, v *T) error
}

// Codecs are the codecs of a world's types. The zero value has none.
//
// Ownership: one goroutine at a time.
type Codecs form.Codecs

// Register adds the codec of T. It panics if T already has one, or if Append is
// nil.
func Register[T any](to *Codecs, codec Codec[T]) {
	form.Register((*form.Codecs)(to), codec.Append, codec.Read)
}
