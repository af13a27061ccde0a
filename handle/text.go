package handle

import (
	"fmt"
	"strconv"
)

// textNone is the text form of None.
const textNone = "none"

// String returns the text form of h: home, index and version in decimal, as in
// "3:1047@5", or "none" for [None]. [Parse] reads it back. It has at most 23
// bytes, all of them ASCII.
//
// A value that is neither None nor could come from [New], because its version is
// 0, is shown in the same form, as in "3:1047@0", which Parse refuses.
//
// Cost: one allocation, of the string; use [Handle.AppendText] where that is too
// much. Safe from any goroutine.
func (h Handle) String() string {
	var buf [textSizeMax]byte
	return string(h.appendText(buf[:0]))
}

// AppendText appends the text form of h to b and returns the extended slice. It
// implements [encoding.TextAppender].
//
// The error is nil for every handle that [New] can return and for [None]. It
// wraps [ErrRange], and b is returned unchanged, for any other value: version 0
// has no text form.
//
// Cost: no allocation while b has 23 bytes to spare. Safe from any goroutine
// that owns b.
func (h Handle) AppendText(b []byte) ([]byte, error) {
	if h.isMalformed() {
		return b, h.malformedError()
	}
	return h.appendText(b), nil
}

// MarshalText returns the text form of h in a new slice. It implements
// [encoding.TextMarshaler], so a handle can be the key of a JSON object. Errors
// are those of [Handle.AppendText]. Cost: one allocation. Safe from any
// goroutine.
func (h Handle) MarshalText() ([]byte, error) {
	return h.AppendText(make([]byte, 0, textSizeMax))
}

// UnmarshalText sets h to the handle with the given text form. It implements
// [encoding.TextUnmarshaler]. It accepts what [Parse] accepts, and returns its
// errors; then h keeps its value. It does not keep text.
//
// Cost: no allocation, except for an error. Writes h: not safe while another
// goroutine uses the same variable.
func (h *Handle) UnmarshalText(text []byte) error {
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// appendText appends the text form of any h, malformed or not.
func (h Handle) appendText(b []byte) []byte {
	if h == None {
		return append(b, textNone...)
	}
	b = strconv.AppendUint(b, uint64(h.Home()), 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, uint64(h.Index()), 10)
	b = append(b, '@')
	return strconv.AppendUint(b, uint64(h.Version()), 10)
}

// malformedError says that h, whose version is 0, has no encoded form.
func (h Handle) malformedError() error {
	return fmt.Errorf("%w: %s (bits %#016x) cannot be encoded: versions start at 1", ErrRange, h, uint64(h))
}
