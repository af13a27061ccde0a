package marks

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/zeebo/xxh3"
)

// A log is a preamble and records, as package inputlog says. Records are whole, or not at all: so a
// log can be copied and checked without knowing what is in it.

const (
	preambleSize = 8
	bodyMax      = 1 << 30
	readAtOnce   = 1 << 20
)

// ErrAltered is returned for a record whose checksum is wrong.
var ErrAltered = errors.New("marks: a checksum in the log is wrong")

// Records reads the records of a log, with its preamble as the first and the marks between them, and
// checks their checksums. The zero value is at the beginning of a log.
//
// Ownership: the goroutine that copies.
type Records struct {
	At    int64 // where the next one begins
	chain uint64
	buf   []byte
}

// Next returns the next record, which it reads from in; that is valid until the call after. The
// error is io.EOF between two records, io.ErrUnexpectedEOF within one, ErrAltered, or that of in.
// After an error Next can be called again, with a reader of what is at At.
func (r *Records) Next(in io.Reader) (record []byte, mark bool, err error) {
	r.buf = r.buf[:0]
	if r.At == 0 {
		if err = r.read(in, preambleSize); err == nil {
			r.At = preambleSize
		}
		return r.buf, false, err
	}
	if err := r.read(in, headSize); err != nil {
		return nil, false, err
	}
	n := binary.LittleEndian.Uint32(r.buf[1:])
	if n > bodyMax {
		return nil, false, ErrAltered
	}
	if err := r.read(in, int(n)+sumSize); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, false, err
	}
	if r.buf[0] == Kind {
		if !Valid(r.buf) {
			return nil, false, ErrAltered
		}
		r.At += int64(len(r.buf))
		return r.buf, true, nil
	}
	sum := xxh3.HashSeed(r.buf[:len(r.buf)-sumSize], r.chain)
	if sum != binary.LittleEndian.Uint64(r.buf[len(r.buf)-sumSize:]) {
		return nil, false, ErrAltered
	}
	r.chain = sum
	r.At += int64(len(r.buf))
	return r.buf, false, nil
}

// read appends n bytes to buf. A wrong length allocates little more than there is.
func (r *Records) read(in io.Reader, n int) error {
	for n > 0 {
		at, some := len(r.buf), min(n, readAtOnce)
		r.buf = append(r.buf, make([]byte, some)...)
		if _, err := io.ReadFull(in, r.buf[at:]); err != nil {
			return err
		}
		n -= some
	}
	return nil
}

// AppendBlank appends a mark of no file, which takes the place of another: it proves nothing.
func AppendBlank(dst []byte) []byte { return Append(dst, 0, 0) }
