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

// RegisterEnum names the constants of T, a named type of integers, wherever the values of a world
// have it: in components, messages, resources, arguments, and in arrays, slices, maps and structs
// within these. A snapshot keeps the names. If a later program gives its constants other numbers,
// each value gets the number that its name has by then; a plan of package snapshot or durable shows
// it. A constant whose name is gone blocks the load, until a snapshot.RenamedField or Dropped of T,
// by the name that its type has, such as "game.Slot", says what becomes of it.
//
//	state.RegisterEnum(&codecs, map[Slot]string{Head: "head", Hand: "hand"})
//
// Declare all constants, and zero if it has a name. A number without a name stays as it is, unless
// it is a constant by then: that ends the load, and the replay of a log that has it in a request.
// What a Codec, or a method of T's, writes is not looked at. RegisterEnum panics if names is empty,
// if a name is empty or two numbers have it, or if T has a codec or an enum already, or is no type
// of your own.
func RegisterEnum[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](to *Codecs, names map[T]string) {
	form.RegisterEnum((*form.Codecs)(to), names)
}
