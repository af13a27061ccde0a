// Package marks has the marks in a log of package inputlog that say what of it is on disk.
//
// A mark is written when a sync has returned, and is not synced itself: the next sync does that. So
// a mark proves that what it names was on disk, even if what is before it cannot be read any more.
// It is no part of the chain of records, and a reader of records passes over it.
package marks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
)

// A mark is
//
//	kind │ length │ id, tick │ checksum    1, 4, 16 and 8 bytes, little endian
//
// The id belongs to the file: a client that guesses how marks look cannot send one.
const (
	Kind = 'M'

	headSize = 5
	bodySize = 16
	sumSize  = 8
	size     = headSize + bodySize + sumSize
	keySize  = headSize + 8 // what all marks of a file begin with
)

var table = crc64.MakeTable(crc64.ECMA)

// Append appends a mark: all ticks before tick are on disk. Package durable calls it when a sync
// has returned.
func Append(dst []byte, id, tick uint64) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(append(dst, Kind), bodySize)
	dst = binary.LittleEndian.AppendUint64(dst, id)
	dst = binary.LittleEndian.AppendUint64(dst, tick)
	return binary.LittleEndian.AppendUint64(dst, crc64.Checksum(dst[at:], table))
}

// Valid reports whether bytes are a mark of any file. The reader of a log calls it, to pass over
// marks.
func Valid(b []byte) bool {
	return len(b) == size && b[0] == Kind && binary.LittleEndian.Uint32(b[1:]) == bodySize &&
		crc64.Checksum(b[:size-sumSize], table) == binary.LittleEndian.Uint64(b[size-sumSize:])
}

// Last returns the highest tick of the marks of a file, or 0, and where the last mark ends. It finds
// them behind bytes of any kind. A start calls it, to learn what must be there. An error is that of
// in; the tick is then of what was read so far.
func Last(in io.Reader, id uint64) (tick uint64, end int64, err error) {
	key := Append(nil, id, 0)[:keySize]
	read := int64(0) // of in, with what is in buf
	buf := make([]byte, 0, 1<<16)
	for {
		n, err := io.ReadFull(in, buf[len(buf):cap(buf)])
		buf, read = buf[:len(buf)+n], read+int64(n)
		ends := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ends {
			return tick, end, err
		}
		rest := buf
		for at := bytes.Index(rest, key); at >= 0 && len(rest)-at >= size; at = bytes.Index(rest, key) {
			if x := rest[at : at+size]; Valid(x) {
				tick = max(tick, binary.LittleEndian.Uint64(x[keySize:]))
				end = read - int64(len(rest)-at-size)
			}
			rest = rest[at+1:]
		}
		if ends {
			return tick, end, nil
		}
		left := rest[max(0, len(rest)-size+1):] // a mark may begin there
		buf = buf[:copy(buf, left)]
	}
}
