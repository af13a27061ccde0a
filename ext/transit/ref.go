package transit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
)

// World is the number of a world among those that exchange messages. Each has another, from 1 on,
// and keeps it for as long as it exists: in its snapshots, and after each restart.
type World uint32

// ErrRef is the error of a text or of bytes that are no Ref.
var ErrRef = errors.New("transit: this is no Ref; want a world's number and a handle, as in 7/3:1047@5, or none")

// Ref names an entity of a world among others. The zero value names none. A Ref is a plain value:
// it can be compared, be a key, and be kept in components and messages. That its entity is alive is
// known in its own world alone. snapshot.Insert and prefabs leave it as it is, because it names an
// entity of that world and no other.
type Ref struct {
	world  World
	entity uint64 // no handle.Handle: inserting a world into another would give it a new one
}

// RefOf returns the Ref of an entity of a world. There is no world 0: it returns the zero Ref.
func RefOf(w World, h handle.Handle) Ref {
	if w == 0 {
		return Ref{} // any other would have no text and no bytes that can be read
	}
	return Ref{w, uint64(h)}
}

// World returns the number of the entity's world; 0 if the Ref names none.
func (r Ref) World() World { return r.world }

// Handle returns the entity's handle, which means something in its own world alone.
func (r Ref) Handle() handle.Handle { return handle.Handle(r.entity) }

// String returns the text of a Ref: the world's number and the handle, as in "7/3:1047@5", or
// "none".
func (r Ref) String() string {
	if r == (Ref{}) {
		return handle.None.String()
	}
	return strconv.FormatUint(uint64(r.world), 10) + "/" + r.Handle().String()
}

// ParseRef returns the Ref of a text that String has returned. It accepts no other. The error wraps
// ErrRef.
func ParseRef(s string) (Ref, error) {
	if s == handle.None.String() {
		return Ref{}, nil
	}
	number, text, ok := strings.Cut(s, "/")
	n, err := strconv.ParseUint(number, 10, 32)
	if !ok || err != nil || n == 0 || strconv.FormatUint(n, 10) != number {
		return Ref{}, fmt.Errorf("%w: %.64q", ErrRef, s)
	}
	h, err := handle.Parse(text)
	if err != nil {
		return Ref{}, fmt.Errorf("%w: %w", ErrRef, err)
	}
	return RefOf(World(n), h), nil
}

// AppendText appends the text of a Ref. It implements encoding.TextAppender. The error is that of
// Handle.AppendText.
func (r Ref) AppendText(b []byte) ([]byte, error) {
	if _, err := r.Handle().AppendText(nil); err != nil {
		return b, err
	}
	return append(b, r.String()...), nil
}

// MarshalText returns the text of a Ref, so that JSON has it as a string and a Ref can be a key
// there.
func (r Ref) MarshalText() ([]byte, error) { return r.AppendText(nil) }

// UnmarshalText sets r to the Ref with a text, as ParseRef does. After an error r is as before.
func (r *Ref) UnmarshalText(text []byte) error {
	x, err := ParseRef(string(text))
	if err == nil {
		*r = x
	}
	return err
}

// refBytes is the length of the binary form.
const refBytes = 12

// AppendBinary appends the binary form of a Ref: 12 bytes, big endian. It implements
// encoding.BinaryAppender. The error comes from Handle.AppendBinary.
func (r Ref) AppendBinary(b []byte) ([]byte, error) {
	whole, err := r.Handle().AppendBinary(binary.BigEndian.AppendUint32(b, uint32(r.world)))
	if err != nil {
		return b, err
	}
	return whole, nil
}

// MarshalBinary returns the binary form of a Ref.
func (r Ref) MarshalBinary() ([]byte, error) { return r.AppendBinary(make([]byte, 0, refBytes)) }

// UnmarshalBinary sets r to the Ref with a binary form. After an error, which wraps ErrRef, r is as
// before.
func (r *Ref) UnmarshalBinary(data []byte) error {
	if len(data) != refBytes {
		return fmt.Errorf("%w: %d bytes, want %d", ErrRef, len(data), refBytes)
	}
	var h handle.Handle
	if err := h.UnmarshalBinary(data[4:]); err != nil {
		return fmt.Errorf("%w: %w", ErrRef, err)
	}
	w := World(binary.BigEndian.Uint32(data))
	if w == 0 && h != handle.None {
		return fmt.Errorf("%w: the world's number is 0", ErrRef)
	}
	*r = RefOf(w, h)
	return nil
}
