package inputlog

import (
	"encoding/binary"
	"errors"

	"github.com/atoll-sim/atoll/handle"
)

var errBody = errors.New("its body ends too soon")

// cursor reads a record's body. After an error all it reads is zero.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) number() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.fail(errBody)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err, c.rest = err, nil
	}
}

// count reads the number of elements that follow. Each takes some bytes, so count refuses numbers
// that exceed the rest of the record, and a wrong number cannot allocate more than the log is long.
func (c *cursor) count() int {
	n := c.number()
	if n > uint64(len(c.rest)) {
		c.fail(errBody)
		return 0
	}
	return int(n)
}

// times yields count times, and stops at an error.
func (c *cursor) times(yield func() bool) {
	for n := c.count(); n > 0 && c.err == nil; n-- {
		if !yield() {
			return
		}
	}
}

// below reads a number that is less than a limit.
func (c *cursor) below(limit uint64) uint64 {
	n := c.number()
	if n >= limit {
		c.fail(errors.New("a number in its body is out of range"))
		return 0
	}
	return n
}

func (c *cursor) bytes() []byte {
	n := c.count()
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// word reads 8 bytes, little endian.
func (c *cursor) word() uint64 {
	if len(c.rest) < 8 {
		c.fail(errBody)
		return 0
	}
	v := binary.LittleEndian.Uint64(c.rest)
	c.rest = c.rest[8:]
	return v
}

func (c *cursor) handle() handle.Handle {
	home := c.below(handle.HomeMax + 1)
	index := c.below(handle.IndexMax + 1)
	return handle.Handle(home<<(handle.IndexBits+handle.VersionBits) | index<<handle.VersionBits | c.below(handle.VersionMax+1))
}

func appendHandle(dst []byte, h handle.Handle) []byte {
	dst = binary.AppendUvarint(dst, uint64(h.Home()))
	dst = binary.AppendUvarint(dst, uint64(h.Index()))
	return binary.AppendUvarint(dst, uint64(h.Version()))
}

func appendBytes[T string | []byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}
