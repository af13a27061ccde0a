// Package line is what a server and its clients share: lines of bounded length, and the counts of
// what became of commands, which both keep.
package line

import (
	"bytes"
	"errors"
	"io"
)

// BytesMax is the length of the longest line that either side may send.
const BytesMax = 256

// Tally counts what became of commands.
type Tally struct {
	Accepted uint64 // got a number
	Applied  uint64 // were applied
	Late     uint64 // came too late: the avatar had died
	Refused  uint64 // met a limit of the world at the refresh or in a system
	Lost     uint64 // got no outcome in time, which is a failure
	Rejected uint64 // not accepted, because too much was under way
}

// Decided returns how many commands have an outcome.
func (t Tally) Decided() uint64 { return t.Applied + t.Late + t.Refused + t.Lost }

// ErrTooLong is returned once for a line that is longer than the limit. The
// rest of that line is skipped; the lines after it are read as usual.
var ErrTooLong = errors.New("line: too long")

// bufferBytes is how much is read ahead, if the limit of a line allows it.
const bufferBytes = 2048

// Reader cuts what it reads into lines. It has one buffer of fixed size,
// whatever is sent.
//
// Invariants: buffer[start:end] is read and not yet returned; buffer[start:seen]
// holds no end of line.
//
// Ownership: one goroutine.
type Reader struct {
	from             io.Reader
	buffer           []byte
	bytesMax         int
	start, seen, end int
	skipping         bool // within a line that is too long
}

// NewReader makes a reader of lines of at most bytesMax bytes, their end not
// counted.
func NewReader(from io.Reader, bytesMax int) *Reader {
	return &Reader{from: from, bytesMax: bytesMax, buffer: make([]byte, max(bufferBytes, bytesMax+len("\r\n")))}
}

// Next returns the next line without its end, which is LF or CRLF. The slice is
// valid until the next call. An error of the underlying reader, such as a passed
// deadline, loses nothing: what was read of the line stays for the next call. An
// incomplete line at the end of the connection is dropped.
func (r *Reader) Next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buffer[r.seen:r.end], '\n'); i >= 0 {
			line := bytes.TrimSuffix(r.buffer[r.start:r.seen+i], []byte{'\r'})
			r.seen += i + 1
			r.start = r.seen
			switch {
			case r.skipping:
				r.skipping = false
				continue
			case len(line) > r.bytesMax:
				return nil, ErrTooLong
			}
			return line, nil
		}
		r.seen = r.end
		if r.skipping {
			r.start = r.end
		} else if r.end-r.start > r.bytesMax+len("\r") {
			r.skipping, r.start = true, r.end
			return nil, ErrTooLong
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more into the rest of the buffer.
func (r *Reader) fill() error {
	if r.start > 0 {
		copy(r.buffer, r.buffer[r.start:r.end])
		r.seen -= r.start
		r.end -= r.start
		r.start = 0
	}
	n, err := r.from.Read(r.buffer[r.end:])
	r.end += n
	if n > 0 {
		return nil // an error, if any, is returned by the next read
	}
	return err
}
