package handle

import (
	"encoding/binary"
	"fmt"
)

// binarySize is the length of the binary form, in bytes.
const binarySize = 8

// AppendBinary appends the binary form of h to b and returns the extended slice:
// 8 bytes, big endian, so that [bytes.Compare] of two forms is
// [Handle.Compare] of their handles. [None] is 8 zero bytes. It implements
// [encoding.BinaryAppender].
//
// The error is nil for every handle that [New] can return and for None. It wraps
// [ErrRange], and b is returned unchanged, for any other value: version 0 has no
// binary form.
//
// Cost: no allocation while b has 8 bytes to spare. Safe from any goroutine that
// owns b.
func (h Handle) AppendBinary(b []byte) ([]byte, error) {
	if h.isMalformed() {
		return b, h.malformedError()
	}
	return binary.BigEndian.AppendUint64(b, uint64(h)), nil
}

// MarshalBinary returns the binary form of h, 8 bytes, in a new slice. It
// implements [encoding.BinaryMarshaler]. Errors are those of
// [Handle.AppendBinary]. Cost: one allocation. Safe from any goroutine.
func (h Handle) MarshalBinary() ([]byte, error) {
	return h.AppendBinary(make([]byte, 0, binarySize))
}

// UnmarshalBinary sets h to the handle with the given binary form. It implements
// [encoding.BinaryUnmarshaler].
//
// Data of any length but 8 bytes is refused with an error that wraps
// [ErrSyntax]; version 0 in anything but [None] with one that wraps [ErrRange].
// Then h keeps its value. It does not keep data.
//
// Cost: no allocation, except for an error. Writes h: not safe while another
// goroutine uses the same variable.
func (h *Handle) UnmarshalBinary(data []byte) error {
	if len(data) != binarySize {
		return fmt.Errorf("%w: want %d bytes, found %d", ErrSyntax, binarySize, len(data))
	}
	decoded := Handle(binary.BigEndian.Uint64(data))
	if decoded.isMalformed() {
		return fmt.Errorf("%w: bytes %016x: the version, in the lowest %d bits, is 0, and versions start at 1",
			ErrRange, uint64(decoded), VersionBits)
	}
	*h = decoded
	return nil
}
