package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/zeebo/xxh3"
)

// A snapshot is a preamble and sections; docs/snapshot-format.md has the whole format.
//
//	preamble  "atollsnp" │ version                                            12 bytes
//	section   kind │ compression │ 0 │ number │ length │ stored │ checksum    32 bytes
//	          body, of stored bytes
const (
	magic           = "atollsnp"
	version  uint32 = 2
	preamble        = len(magic) + 4
	headSize        = 32
	sumAt           = headSize - 8
	// sectionMax bounds a section, uncompressed.
	sectionMax = 1 << 30
	// readAtOnce bounds how much a wrong length makes the reader allocate.
	readAtOnce = 1 << 20
)

// The kinds of sections, in their order.
const (
	baseSection      = 'B' // of an increment: what it is based on
	headerSection    = 'H' // which world it is of
	namesSection     = 'N' // what is registered
	worldSection     = 'W'
	shardSection     = 'S' // of each shard: slots, tables and chunks
	rowsSection      = 'R' // entities and components, some chunks of a shard
	mailSection      = 'M' // of each shard, and of global systems: messages, requests
	resourceSection  = 'V'
	extensionSection = 'X'
	schedulerSection = 'P'
	alsoSection      = 'A'
	endSection       = 'E'
)

// rank returns the place of a kind of section among all, or -1.
func rank(kind byte) int {
	return slices.Index([]byte{
		headerSection, namesSection, worldSection, shardSection, rowsSection, mailSection, resourceSection, extensionSection, schedulerSection, alsoSection}, kind)
}

// section is one section, packed or not.
type section struct {
	kind   byte
	how    Compression // of the body
	number int         // of the shard, or among the sections of its kind
	length int         // of the body, uncompressed
	body   []byte
	sum    uint64
	at     int64 // its offset in the snapshot
	sure   bool  // it comes from memory: there is no checksum
}

// head appends the head of a section without its checksum.
func (s *section) head(dst []byte) []byte {
	dst = append(dst, s.kind, byte(s.how), 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.number))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.length))
	return binary.LittleEndian.AppendUint64(dst, uint64(len(s.body)))
}

// checksum returns the checksum of head and body.
func (s *section) checksum() uint64 {
	var head [sumAt]byte
	return xxh3.HashSeed(s.body, xxh3.Hash(s.head(head[:0])))
}

func (s *section) String() string {
	return fmt.Sprintf("section %q %d, at byte %d", s.kind, s.number, s.at)
}

// writer writes sections.
type writer struct {
	out      io.Writer
	head     []byte
	sections uint64
	chain    uint64 // of the checksums of all sections
	base     *base  // of an increment
}

func (w *writer) begin() error {
	err := w.write(binary.LittleEndian.AppendUint32([]byte(magic), version))
	if err == nil && w.base != nil {
		s := &section{kind: baseSection, how: None, body: appendBase(nil, *w.base)}
		s.length = len(s.body)
		s.sum = s.checksum()
		err = w.section(s)
	}
	return err
}

// section writes a section with its checksum.
func (w *writer) section(s *section) error {
	w.head = binary.LittleEndian.AppendUint64(s.head(w.head[:0]), s.sum)
	w.sections++
	w.chain = link(w.chain, s.sum)
	if err := w.write(w.head); err != nil {
		return err
	}
	return w.write(s.body)
}

// link adds the checksum of a section to that of all.
func link(chain, sum uint64) uint64 {
	var both [16]byte
	binary.LittleEndian.PutUint64(both[:], chain)
	binary.LittleEndian.PutUint64(both[8:], sum)
	return xxh3.Hash(both[:])
}

// end writes the last section. In an increment it also has the sum of the whole snapshot.
func (w *writer) end(whole uint64) error {
	s := &section{kind: endSection, how: None}
	s.body = appendEnd(s.body, w.sections, w.chain)
	if w.base != nil {
		s.body = binary.LittleEndian.AppendUint64(s.body, whole)
	}
	s.length = len(s.body)
	s.sum = s.checksum()
	return w.section(s)
}

func appendEnd(dst []byte, sections, chain uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, sections), chain)
}

func (w *writer) write(p []byte) error {
	n, err := w.out.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

// source has the sections of a snapshot.
type source interface {
	begin() error
	// next makes s the next section. It may reuse the body of s.
	next(s *section) error
	// finish checks the last section.
	finish(s *section) error
}

// reader is a source that reads a snapshot.
type reader struct {
	in        io.Reader
	at        int64
	sections  uint64
	chain     uint64
	head      [headSize]byte
	increment bool // it begins with a base
}

func (r *reader) begin() error {
	head := r.head[:preamble]
	n, err := io.ReadFull(r.in, head)
	r.at = int64(n)
	switch {
	case string(head[:min(n, len(magic))]) != magic[:min(n, len(magic))]:
		return ErrNoSnapshot
	case err != nil:
		return r.short(err, "its first %d bytes", preamble)
	}
	if v := binary.LittleEndian.Uint32(head[len(magic):]); v != version {
		return fmt.Errorf("%w: %d, want %d", ErrVersion, v, version)
	}
	return nil
}

// short returns an error for a snapshot that ends too soon.
func (r *reader) short(err error, within string, args ...any) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends at byte %d, within %s", ErrTruncated, r.at, fmt.Sprintf(within, args...))
	}
	return fmt.Errorf("snapshot: at byte %d: %w", r.at, err)
}

// next reads a section into s, and reuses its body. It does not check the checksum of the
// body; check does.
func (r *reader) next(s *section) error {
	s.at = r.at
	n, err := io.ReadFull(r.in, r.head[:])
	r.at += int64(n)
	if err != nil {
		return r.short(err, "the head of section %d", r.sections)
	}
	le := binary.LittleEndian
	length, stored := le.Uint64(r.head[8:]), le.Uint64(r.head[16:])
	s.kind, s.how, s.number, s.sum = r.head[0], Compression(r.head[1]), int(le.Uint32(r.head[4:])), le.Uint64(r.head[sumAt:])
	if r.head[2]|r.head[3] != 0 || s.how > None || length > sectionMax || stored > sectionMax || s.how == None && stored != length {
		return altered("%v has %d bytes, %d stored, %v", s, length, stored, s.how)
	}
	s.length = int(length)
	s.body = s.body[:0]
	for left := int(stored); left > 0; {
		at, some := len(s.body), min(left, max(readAtOnce, cap(s.body)-len(s.body)))
		s.body = append(s.body, make([]byte, some)...)
		n, err := io.ReadFull(r.in, s.body[at:])
		r.at += int64(n)
		if err != nil {
			return r.short(err, "%v", s)
		}
		left -= some
	}
	r.sections++
	r.increment = r.increment || r.sections == 1 && s.kind == baseSection
	if s.kind != endSection {
		r.chain = link(r.chain, s.sum)
	}
	return nil
}

// check compares the checksum of a section with its contents.
func (s *section) check() error {
	if !s.sure && s.checksum() != s.sum {
		return altered("%v: its checksum is wrong", s)
	}
	return nil
}

// unpack checks a section and returns its uncompressed body, which may be in buf.
func (s *section) unpack(buf *[]byte) (body []byte, err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.how == None {
		return s.body, nil
	}
	*buf, err = unpack(s.how, (*buf)[:0], s.body, s.length)
	if err != nil {
		return nil, altered("%v: %v", s, err)
	}
	return *buf, nil
}

// finish reads and checks the last section.
func (r *reader) finish(s *section) error {
	if err := s.check(); err != nil {
		return err
	}
	want := appendEnd(nil, r.sections-1, r.chain)
	size := len(want)
	if r.increment {
		size += 8
	}
	if s.how != None || s.number != 0 || len(s.body) != size || !bytes.HasPrefix(s.body, want) {
		return altered("%v: it does not end the %d sections before it", s, r.sections-1)
	}
	return nil
}
