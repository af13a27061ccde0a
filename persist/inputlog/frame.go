package inputlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/internal/marks"
)

// A log is a preamble and records:
//
//	preamble  "atollog", version                        8 bytes
//	record    kind │ length │ body        │ checksum    1, 4, length and 8 bytes, little endian
//
// The checksum is xxh3 over kind, length and body, seeded with that of the record
// before. So a record that is left out, doubled or exchanged is detected. Whoever writes the file
// may put marks of internal/marks between records. They are not part of this chain, and a reader
// passes over them.
const (
	magic        = "atollog"
	version byte = 10

	headSize = 5
	sumSize  = 8
	bodyMax  = 1 << 30
)

// The kinds of records.
const (
	headerRecord = 'H' // the first: which world it is of, and where it begins
	kindsRecord  = 'K' // kinds of requests, before the first tick that has them
	tickRecord   = 'T' // the inputs of one refresh
	hashRecord   = 'S' // hashes of the state between two ticks
	changeRecord = 'C' // the idle world was changed by something that is not an input
	endRecord    = 'E' // the last
)

// writer writes records, each with one Write.
//
// Ownership: the Recorder's.
type writer struct {
	out   io.Writer
	buf   []byte
	chain uint64
}

// begin begins a record. The caller appends its body to buf.
func (w *writer) begin(kind byte) {
	w.buf = append(w.buf[:0], kind, 0, 0, 0, 0)
}

// end writes the record.
func (w *writer) end() error {
	n := len(w.buf) - headSize
	if n > bodyMax {
		return fmt.Errorf("inputlog: a record of %d bytes, want %d at most", n, bodyMax)
	}
	binary.LittleEndian.PutUint32(w.buf[1:], uint32(n))
	w.chain = xxh3.HashSeed(w.buf, w.chain)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, w.chain)
	n, err := w.out.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	return err
}

// reader reads records.
type reader struct {
	in     *bufio.Reader
	buf    []byte // of the record
	chain  uint64
	number int   // which record it is, from 0
	start  int64 // where it begins
	end    int64
}

// open reads the preamble.
func (r *reader) open() error {
	var preamble [len(magic) + 1]byte
	n, err := io.ReadFull(r.in, preamble[:])
	r.number, r.end = -1, int64(n)
	switch {
	case string(preamble[:min(n, len(magic))]) != magic[:min(n, len(magic))]:
		return ErrNoLog
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: within its first %d bytes", ErrTruncated, len(preamble))
	case err != nil:
		return err
	case preamble[len(magic)] != version:
		return fmt.Errorf("%w: %d, want %d", ErrVersion, preamble[len(magic)], version)
	}
	return nil
}

// next reads the next record that is no mark. The body is valid until the call after.
func (r *reader) next() (kind byte, body []byte, err error) {
	for {
		if kind, body, err = r.record(); err != nil || kind != marks.Kind {
			return kind, body, err
		}
	}
}

// record reads a record or a mark.
func (r *reader) record() (kind byte, body []byte, err error) {
	r.number++
	r.start = r.end
	r.buf = r.buf[:0]
	if err := r.read(headSize); err != nil {
		return 0, nil, err
	}
	length := binary.LittleEndian.Uint32(r.buf[1:])
	if length > bodyMax {
		return 0, nil, r.altered("it has %d bytes, want %d at most", length, bodyMax)
	}
	n := int(length)
	if err := r.read(n + sumSize); err != nil {
		return 0, nil, err
	}
	if r.buf[0] == marks.Kind {
		if !marks.Valid(r.buf) {
			return 0, nil, r.altered("it is a mark whose checksum is wrong")
		}
		return marks.Kind, nil, nil
	}
	sum := xxh3.HashSeed(r.buf[:headSize+n], r.chain)
	if sum != binary.LittleEndian.Uint64(r.buf[headSize+n:]) {
		return 0, nil, r.altered("its checksum is wrong")
	}
	r.chain = sum
	return r.buf[0], r.buf[headSize : headSize+n], nil
}

// readAtOnce bounds how much a wrong length makes the reader allocate.
const readAtOnce = 1 << 20

// read appends n bytes to buf.
func (r *reader) read(n int) error {
	for n > 0 {
		at, some := len(r.buf), min(n, readAtOnce)
		r.buf = append(r.buf, make([]byte, some)...)
		got, err := io.ReadFull(r.in, r.buf[at:])
		r.end += int64(got)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			if r.end == r.start {
				return fmt.Errorf("%w: it ends at byte %d, after record %d, without its end mark", ErrTruncated, r.end, r.number-1)
			}
			return fmt.Errorf("%w: it ends at byte %d, within record %d, which begins at byte %d", ErrTruncated, r.end, r.number, r.start)
		}
		if err != nil {
			return fmt.Errorf("inputlog: record %d, at byte %d: %w", r.number, r.start, err)
		}
		n -= some
	}
	return nil
}

// altered returns an error about the present record.
func (r *reader) altered(format string, args ...any) error {
	return r.wrong(ErrAltered, format, args...)
}

func (r *reader) wrong(as error, format string, args ...any) error {
	return fmt.Errorf("%w: record %d, at byte %d: %s", as, r.number, r.start, fmt.Sprintf(format, args...))
}
