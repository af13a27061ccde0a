package durable

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/internal/marks"
)

// A log is a preamble and records, as format.go of package inputlog says. So it can be copied and
// checked without knowing what is in it.

const (
	preambleSize = 8
	recordHead   = 5 // kind and length of the body
	recordSum    = 8
	bodyMax      = 1 << 30
	readAtOnce   = 1 << 20
)

// errSum is for a record whose checksum is wrong.
var errSum = errors.New("durable: a checksum in the log is wrong")

// records reads the records of a log, with its preamble as the first and the marks between them, and
// checks their checksums. The zero value is at the beginning of a log.
//
// Ownership: the goroutine that copies.
type records struct {
	at    int64 // where the next one begins
	chain uint64
	buf   []byte
}

// next returns the next record, which it reads from in; that is valid until the call after. The
// error is io.EOF between two records, io.ErrUnexpectedEOF within one, errSum, or that of in.
// After an error it can be called again, with a reader of what is at at.
func (r *records) next(in io.Reader) (record []byte, mark bool, err error) {
	r.buf = r.buf[:0]
	if r.at == 0 {
		if err = r.read(in, preambleSize); err == nil {
			r.at = preambleSize
		}
		return r.buf, false, err
	}
	if err := r.read(in, recordHead); err != nil {
		return nil, false, err
	}
	n := binary.LittleEndian.Uint32(r.buf[1:])
	if n > bodyMax {
		return nil, false, errSum
	}
	if err := r.read(in, int(n)+recordSum); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, false, err
	}
	if r.buf[0] == marks.Kind {
		if !marks.Valid(r.buf) {
			return nil, false, errSum
		}
		r.at += int64(len(r.buf))
		return r.buf, true, nil
	}
	sum := xxh3.HashSeed(r.buf[:len(r.buf)-recordSum], r.chain)
	if sum != binary.LittleEndian.Uint64(r.buf[len(r.buf)-recordSum:]) {
		return nil, false, errSum
	}
	r.chain = sum
	r.at += int64(len(r.buf))
	return r.buf, false, nil
}

// read appends n bytes to buf. A wrong length allocates little more than there is.
func (r *records) read(in io.Reader, n int) error {
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

// appendBlank appends a mark of no file, which takes the place of another: it proves nothing.
func appendBlank(dst []byte) []byte { return marks.Append(dst, 0, 0) }
