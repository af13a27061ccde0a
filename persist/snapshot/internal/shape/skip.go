package shape

import (
	"encoding/binary"
	"errors"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
)

// ErrShort is returned for bytes that end within a value.
var ErrShort = errors.New("a value ends before its last field")

// Cut splits off the bytes of a part from the front of src.
func Cut(src []byte, p *extend.Part) (body, rest []byte, err error) {
	n := uint64(p.Size)
	if p.ByCodec {
		if len(src) < 4 {
			return nil, nil, ErrShort
		}
		n, src = uint64(binary.LittleEndian.Uint32(src)), src[4:]
	}
	if n > uint64(len(src)) {
		return nil, nil, ErrShort
	}
	return src[:n:n], src[n:], nil
}

// Skipper passes over values, of which it needs only the parts that are written of each. Of a
// extend.Form it is the half that reads.
//
// Ownership: immutable.
type Skipper struct {
	extend.Form // nil
	parts       []extend.Part
	least       int
}

// Skip returns a Skipper of values with these parts.
func Skip(parts []extend.Part) *Skipper { return &Skipper{parts: parts, least: Least(parts)} }

// Least returns how many bytes a value takes at least.
func Least(parts []extend.Part) (least int) {
	for _, p := range parts {
		if least += p.Size; p.ByCodec {
			least += 4
		}
	}
	return least
}

// Fixed reports whether each value takes as many bytes: all of it is written as memory.
func Fixed(parts []extend.Part) bool {
	for _, p := range parts {
		if p.ByCodec {
			return false
		}
	}
	return true
}

// Least returns how many bytes a value takes at least.
func (s *Skipper) Least() int { return s.least }

// Fixed reports whether each value takes as many bytes.
func (s *Skipper) Fixed() bool { return Fixed(s.parts) }

// ByCodec reports false: nothing is called.
func (s *Skipper) ByCodec() bool { return false }

// Read passes over a value.
func (s *Skipper) Read(src []byte, _ mem.Cells) (rest []byte, err error) {
	for i := range s.parts {
		if _, src, err = Cut(src, &s.parts[i]); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// ReadAll passes over as many values as there are cells.
func (s *Skipper) ReadAll(src []byte, values mem.Cells) (rest []byte, err error) {
	if s.Fixed() {
		if s.least > 0 && values.Len > len(src)/s.least {
			return nil, ErrShort
		}
		return src[s.least*values.Len:], nil
	}
	for range values.Len {
		if src, err = s.Read(src, values); err != nil {
			return nil, err
		}
	}
	return src, nil
}
