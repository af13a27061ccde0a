// Package format has the format of a snapshot's file: its sections, and what each of them
// describes. It knows how a world's state is written, and nothing of how that is taken from a world
// or put into one. docs/snapshot-format.md describes all of it.
package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/state"
)

// A snapshot is a preamble and sections.
//
//	preamble  "atollsnp" │ version                                            12 bytes
//	section   kind │ compression │ 0 │ number │ length │ stored │ checksum    32 bytes
//	          body, of stored bytes
const (
	magic = "atollsnp"
	// Version is the version of the format.
	Version  uint32 = 3
	preamble        = len(magic) + 4
	headSize        = 32
	sumAt           = headSize - 8
	// SectionMax bounds a section, uncompressed.
	SectionMax = 1 << 30
	// readAtOnce bounds how much a wrong length makes the reader allocate.
	readAtOnce = 1 << 20
)

// The kinds of sections, in their order.
const (
	BaseSection      = 'B' // of an increment: what it is based on
	HeaderSection    = 'H' // which world it is of
	NamesSection     = 'N' // what is registered
	WorldSection     = 'W'
	ShardSection     = 'S' // of each shard: slots, tables and chunks
	RowsSection      = 'R' // entities and components, some chunks of a shard
	MailSection      = 'M' // of each shard, and of global systems: messages, requests
	ResourceSection  = 'V'
	ExtensionSection = 'X'
	SchedulerSection = 'P'
	ExtraSection     = 'A'
	EndSection       = 'E'
)

// Rank returns the place of a kind of section among all, or -1.
func Rank(kind byte) int {
	return slices.Index([]byte{
		HeaderSection, NamesSection, WorldSection, ShardSection, RowsSection, MailSection, ResourceSection, ExtensionSection, SchedulerSection, ExtraSection}, kind)
}

// Section is one section, packed or not.
//
// Ownership: one goroutine at a time: who reads it, and then who unpacks it.
type Section struct {
	Kind   byte
	How    Compression // of the body
	Number int         // of the shard, or among the sections of its kind
	Length int         // of the body, uncompressed
	Body   []byte
	Sum    uint64
	At     int64 // its offset in the snapshot
	Sure   bool  // it comes from memory: there is no checksum
}

// head appends the head of a section without its checksum.
func (s *Section) head(dst []byte) []byte {
	dst = append(dst, s.Kind, byte(s.How), 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.Number))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.Length))
	return binary.LittleEndian.AppendUint64(dst, uint64(len(s.Body)))
}

// Checksum returns the checksum of head and body.
func (s *Section) Checksum() uint64 {
	var head [sumAt]byte
	return xxh3.HashSeed(s.Body, xxh3.Hash(s.head(head[:0])))
}

// String names the section, for errors.
func (s *Section) String() string {
	return fmt.Sprintf("section %q %d, at byte %d", s.Kind, s.Number, s.At)
}

// Writer writes sections. After an error it writes nothing more that counts.
//
// Ownership: the goroutine that writes.
type Writer struct {
	Out  io.Writer
	Base *Base // of an increment

	head     []byte
	sections uint64
	chain    uint64 // of the checksums of all sections
}

// Begin writes what comes before the first section of a world. After an error of the output, here
// and below, nothing can be written further.
func (w *Writer) Begin() error {
	err := w.write(binary.LittleEndian.AppendUint32([]byte(magic), Version))
	if err == nil && w.Base != nil {
		s := &Section{Kind: BaseSection, How: None, Body: appendBase(nil, *w.Base)}
		s.Length = len(s.Body)
		s.Sum = s.Checksum()
		err = w.Section(s)
	}
	return err
}

// Section writes a section with its checksum.
func (w *Writer) Section(s *Section) error {
	w.head = binary.LittleEndian.AppendUint64(s.head(w.head[:0]), s.Sum)
	w.sections++
	w.chain = link(w.chain, s.Sum)
	if err := w.write(w.head); err != nil {
		return err
	}
	return w.write(s.Body)
}

// link adds the checksum of a section to that of all.
func link(chain, sum uint64) uint64 {
	var both [16]byte
	binary.LittleEndian.PutUint64(both[:], chain)
	binary.LittleEndian.PutUint64(both[8:], sum)
	return xxh3.Hash(both[:])
}

// End writes the last section. In an increment it also has the sum of the whole snapshot.
func (w *Writer) End(whole uint64) error {
	s := &Section{Kind: EndSection, How: None}
	s.Body = appendEnd(s.Body, w.sections, w.chain)
	if w.Base != nil {
		s.Body = binary.LittleEndian.AppendUint64(s.Body, whole)
	}
	s.Length = len(s.Body)
	s.Sum = s.Checksum()
	return w.Section(s)
}

// appendEnd appends the body of the last section: how many others there are, and the chain of their
// checksums.
func appendEnd(dst []byte, sections, chain uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, sections), chain)
}

// write writes bytes to the output.
func (w *Writer) write(p []byte) error {
	n, err := w.Out.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

// Base names the snapshot with which an increment must be merged.
type Base struct {
	tick uint64
	hash state.Hash
	sum  uint64 // the sum in its section E, as without compression
}

// String describes the base, for errors.
func (b Base) String() string { return fmt.Sprintf("that of tick %d with hash %v", b.tick, b.hash) }

// appendBase appends the first section of an increment.
func appendBase(dst []byte, b Base) []byte {
	for _, n := range []uint64{b.tick, uint64(b.hash), b.sum} {
		dst = extend.AppendNumber(dst, n)
	}
	return dst
}

// readBase reads the first section of an increment. The error is ErrAltered.
func readBase(s *Section) (b Base, err error) {
	c := extend.Cursor{Rest: s.Body}
	b = Base{c.Number(), state.Hash(c.Number()), c.Number()}
	if err := c.End(); err != nil || s.How != None || s.Number != 0 {
		return b, Altered("%v: it names no base", s)
	}
	return b, nil
}

// Source has the sections of a snapshot.
type Source interface {
	Begin() error
	// Next makes s the next section. It may reuse the body of s.
	Next(s *Section) error
	// Finish checks the last section.
	Finish(s *Section) error
}

// reader is a Source that reads a snapshot. After an error it cannot be read further.
//
// Ownership: the goroutine that reads.
type reader struct {
	in        io.Reader
	at        int64
	sections  uint64
	chain     uint64
	head      [headSize]byte
	increment bool // it begins with a base
}

// Begin reads the preamble. It returns ErrNoSnapshot or ErrVersion for another one.
func (r *reader) Begin() error {
	head := r.head[:preamble]
	n, err := io.ReadFull(r.in, head)
	r.at = int64(n)
	switch {
	case string(head[:min(n, len(magic))]) != magic[:min(n, len(magic))]:
		return ErrNoSnapshot
	case err != nil:
		return r.short(err, "its first %d bytes", preamble)
	}
	if v := binary.LittleEndian.Uint32(head[len(magic):]); v != Version {
		return fmt.Errorf("%w: %d, want %d", ErrVersion, v, Version)
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

// Next reads a section into s, and reuses its body. It does not check the checksum of the body;
// Check does. After an error the snapshot cannot be read further.
func (r *reader) Next(s *Section) error {
	s.At = r.at
	n, err := io.ReadFull(r.in, r.head[:])
	r.at += int64(n)
	if err != nil {
		return r.short(err, "the head of section %d", r.sections)
	}
	le := binary.LittleEndian
	length, stored := le.Uint64(r.head[8:]), le.Uint64(r.head[16:])
	s.Kind, s.How, s.Number, s.Sum = r.head[0], Compression(r.head[1]), int(le.Uint32(r.head[4:])), le.Uint64(r.head[sumAt:])
	if r.head[2]|r.head[3] != 0 || s.How > None || length > SectionMax || stored > SectionMax || s.How == None && stored != length {
		return Altered("%v has %d bytes, %d stored, %v", s, length, stored, s.How)
	}
	s.Length = int(length)
	s.Body = s.Body[:0]
	for left := int(stored); left > 0; {
		at, some := len(s.Body), min(left, max(readAtOnce, cap(s.Body)-len(s.Body)))
		s.Body = append(s.Body, make([]byte, some)...)
		n, err := io.ReadFull(r.in, s.Body[at:])
		r.at += int64(n)
		if err != nil {
			return r.short(err, "%v", s)
		}
		left -= some
	}
	r.sections++
	r.increment = r.increment || r.sections == 1 && s.Kind == BaseSection
	if s.Kind != EndSection {
		r.chain = link(r.chain, s.Sum)
	}
	return nil
}

// Check compares the checksum of a section with its contents. The error is ErrAltered. A section
// that comes from memory is right.
func (s *Section) Check() error {
	if !s.Sure && s.Checksum() != s.Sum {
		return Altered("%v: its checksum is wrong", s)
	}
	return nil
}

// Unpack checks a section and returns its uncompressed body, which may be in buf. Any goroutine
// that has the section may call it. The error is ErrAltered.
func (s *Section) Unpack(buf *[]byte) (body []byte, err error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.How == None {
		return s.Body, nil
	}
	*buf, err = Unpack(s.How, (*buf)[:0], s.Body, s.Length)
	if err != nil {
		return nil, Altered("%v: %v", s, err)
	}
	return *buf, nil
}

// Finish checks the last section: that it names all before it. The error is ErrAltered.
func (r *reader) Finish(s *Section) error {
	if err := s.Check(); err != nil {
		return err
	}
	want := appendEnd(nil, r.sections-1, r.chain)
	size := len(want)
	if r.increment {
		size += 8
	}
	if s.How != None || s.Number != 0 || len(s.Body) != size || !bytes.HasPrefix(s.Body, want) {
		return Altered("%v: it does not end the %d sections before it", s, r.sections-1)
	}
	return nil
}

// Compression is how the bodies of sections are compressed.
type Compression uint8

// The compressions.
const (
	Zstd Compression = iota
	S2
	None
)

// String returns the compression as a lower-case word.
func (c Compression) String() string {
	switch c {
	case Zstd:
		return "zstd"
	case S2:
		return "s2"
	case None:
		return "none"
	}
	return fmt.Sprintf("compression %d", uint8(c))
}

// A compressed body is a sequence of blocks, each compressed by itself and of limited size, so that
// a false size cannot make a reader allocate much:
//
//	length │ stored │ stored bytes    4, 4 bytes; stored is length for an uncompressed block
const (
	blockMax  = 1 << 20
	blockHead = 8
	// blockSpare is room that the decompressor needs after a block.
	blockSpare = 64
)

// One of each is enough: EncodeAll and DecodeAll are safe for concurrent use.
var (
	zstdWriter = sync.OnceValue(func() *zstd.Encoder {
		return must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false)))
	})
	zstdReader = sync.OnceValue(func() *zstd.Decoder {
		return must(zstd.NewReader(nil, zstd.WithDecoderMaxMemory(blockMax), zstd.WithDecoderConcurrency(0)))
	})
)

// must returns a compressor whose options are known to be right.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Pack compresses a body and appends it to dst. Any goroutine may call it.
func Pack(how Compression, dst, body []byte) []byte {
	for len(body) > 0 {
		block := body[:min(len(body), blockMax)]
		body = body[len(block):]
		at := len(dst)
		dst = append(dst, make([]byte, blockHead)...)
		switch how {
		case Zstd:
			dst = zstdWriter().EncodeAll(block, dst)
		case S2:
			dst = append(dst, s2.Encode(nil, block)...)
		}
		if len(dst)-at-blockHead >= len(block) {
			dst = append(dst[:at+blockHead], block...)
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(block)))
		binary.LittleEndian.PutUint32(dst[at+4:], uint32(len(dst)-at-blockHead))
	}
	return dst
}

// Unpack undoes Pack: it appends the body, of the given length, to dst. It trusts no number in it.
// An error says that it was altered; dst is then of no use.
func Unpack(how Compression, dst, body []byte, length int) ([]byte, error) {
	for len(body) > 0 {
		if len(body) < blockHead {
			return dst, extend.ErrBody
		}
		n, stored := int64(binary.LittleEndian.Uint32(body)), int64(binary.LittleEndian.Uint32(body[4:]))
		body = body[blockHead:]
		if n == 0 || n > blockMax || stored > int64(len(body)) || n > int64(length-len(dst)) {
			return dst, fmt.Errorf("a block of %d bytes, %d stored, does not fit", n, stored)
		}
		block, at := body[:stored], len(dst)
		body = body[stored:]
		dst = slices.Grow(dst, int(n)+blockSpare)
		out, err := block, error(nil)
		switch {
		case stored == n:
		case how == Zstd:
			out, err = zstdReader().DecodeAll(block, dst[at:at:cap(dst)])
		default:
			if length, e := s2.DecodedLen(block); e != nil || int64(length) != n {
				return dst, fmt.Errorf("a block has %d bytes, and says %d", length, n)
			}
			out, err = s2.Decode(dst[at:at+int(n)], block)
		}
		if err == nil && int64(len(out)) != n {
			err = fmt.Errorf("a block has %d bytes, and says %d", len(out), n)
		}
		if err != nil {
			return dst, err
		}
		if dst = dst[:at+int(n)]; &out[0] != &dst[at] {
			copy(dst[at:], out)
		}
	}
	if len(dst) != length {
		return dst, fmt.Errorf("its blocks have %d bytes, want %d", len(dst), length)
	}
	return dst, nil
}

// Package snapshot exports these errors, and says what they mean.
var (
	ErrNoSnapshot = errors.New("snapshot: not a snapshot")
	ErrVersion    = errors.New("snapshot: another version of the format")
	ErrBase       = errors.New("snapshot: not with its base")
	ErrTruncated  = errors.New("snapshot: truncated")
	ErrAltered    = errors.New("snapshot: altered")
	ErrOtherWorld = errors.New("snapshot: of another world")
	ErrTooLarge   = errors.New("snapshot: too large")
)

// ErrGoexit is what a function of the user becomes that ends its goroutine.
var ErrGoexit = errors.New("snapshot: a function has ended its goroutine, by runtime.Goexit")

// CodecError returns the error with which a codec has panicked. It repeats other panics.
func CodecError(recovered any) error {
	if recovered == nil {
		return nil
	}
	var failed *form.CodecError
	if err, ok := recovered.(error); ok && errors.As(err, &failed) {
		return err
	}
	panic(recovered)
}

// Altered returns an error about a part of a snapshot.
func Altered(format string, args ...any) error {
	var err error = bounded{fmt.Errorf(format, args...)}
	for _, x := range args {
		if e, ok := x.(error); ok && errors.Is(e, extend.ErrMemory) {
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
	}
	return fmt.Errorf("%w: %w", ErrAltered, err)
}

// Within adds to an error the part of a snapshot that it is about.
func Within(part fmt.Stringer, err error) error {
	for _, own := range []error{ErrNoSnapshot, ErrVersion, ErrAltered, ErrOtherWorld, ErrTooLarge} {
		if errors.Is(err, own) {
			return fmt.Errorf("%w (%v)", err, part)
		}
	}
	return Altered("%v: %w", part, err)
}

// OtherWorld returns an error about something that the new world lacks.
func OtherWorld(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOtherWorld, Short(fmt.Sprintf(format, args...), textMost))
}

// An error may quote what others have written.
const (
	textMost  = 64 << 10 // bytes of the text of an error
	quoteMost = 2 << 10  // of one about bytes that make no sense
)

// bounded is an error whose text has a bound.
type bounded struct{ error }

// Error returns the text, or its beginning.
func (b bounded) Error() string { return Short(b.error.Error(), quoteMost) }

// Unwrap returns the whole error.
func (b bounded) Unwrap() error { return b.error }

// Short returns a text, or its beginning and how much was left out.
func Short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… and %d bytes more", strings.ToValidUTF8(text[:most], ""), len(text)-most)
}

// About how much memory the parts of a world take.
const (
	BytesOfChunk = 512 // without its rows
	BytesOfTable = 4096

	// BytesPerByte bounds the memory for each byte that describes some, unless it is very little.
	BytesPerByte = 64
	bytesFree    = 1 << 30
)

// BytesMax returns how much memory a snapshot may take after that many bytes of it were read: most,
// or a default if that is 0.
func BytesMax(most, read int64) int64 {
	if most > 0 {
		return most
	}
	return bytesFree + BytesPerByte*read
}
