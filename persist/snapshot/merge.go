package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/atoll-sim/atoll/internal/drive"
)

// Merge returns a reader of the whole snapshot that a base and increments on it make: the same
// bytes that Save would have written at the time of the last increment. Pass the increments in
// their order, each based on the one before; the base is whole. To make one file of a chain, copy
// to it:
//
//	_, err := io.Copy(file, snapshot.Merge(base, first, second))
//
// Load, Verify and everything else that reads a snapshot accepts the reader, too; then nothing is
// compressed again. All files are read at the same time, from beginning to end, a section of each
// at a time. Errors are those of Verify, with the number of the file, and ErrBase for files that do
// not belong together.
func Merge(base io.Reader, increments ...io.Reader) io.Reader {
	top := &layer{in: reader{in: base}}
	for i, in := range increments {
		top = &layer{in: reader{in: in}, number: i + 1, base: top}
	}
	return &merging{top: top}
}

// sourceOf returns the source that reads a snapshot.
func sourceOf(src io.Reader) source {
	if x, ok := src.(*opened); ok {
		src = x.Reader
	}
	if m, ok := src.(*merging); ok && !m.began {
		m.began, m.err = true, errors.New("snapshot: what Merge has returned is read already; call it again")
		return m.top
	}
	return &reader{in: src}
}

// merging merges sections as its reader asks for bytes.
type merging struct {
	top    *layer
	began  bool
	out    bytes.Buffer
	w      writer
	s      section
	packed []byte
	err    error
}

func (m *merging) Read(p []byte) (int, error) {
	if !m.began {
		m.began = true
		m.w.out = &m.out
		if m.err = m.top.begin(); m.err == nil {
			m.err = m.w.begin()
		}
	}
	for m.err == nil && m.out.Len() == 0 {
		m.err = m.step()
	}
	if m.out.Len() > 0 {
		return m.out.Read(p)
	}
	return 0, m.err
}

// step merges a section.
func (m *merging) step() error {
	s := &m.s
	if err := m.top.next(s); err != nil {
		return err
	}
	if s.kind == endSection {
		if err := m.w.end(0); err != nil {
			return err
		}
		return io.EOF
	}
	out := *s
	if out.how = m.top.packed.how; out.how != None {
		m.packed = pack(out.how, m.packed[:0], s.body)
		out.body = m.packed
		out.sum = out.checksum()
	}
	return m.w.section(&out)
}

// layer is a source that merges a file of a chain with the layer below it. Its sections are not
// compressed.
type layer struct {
	in     reader
	number int // of the increment
	base   *layer
	packed section // of the file
	buf    []byte
	info   Info
	told   bool    // the header, which is in packed, was returned
	chain  uint64  // of the checksums of all sections
	count  uint64  // of sections
	cur    section // of the base
	at     int     // the number of cur, from 1
	used   int     // bytes of cur that were used
}

// chainError adds the file of the chain to an error.
type chainError struct {
	number int
	error
}

func (e *chainError) Unwrap() error { return e.error }

func (e *chainError) Error() string {
	if e.number == 0 {
		return e.error.Error() + " (of the base)"
	}
	return fmt.Sprintf("%v (of increment %d)", e.error, e.number)
}

func (l *layer) fail(err error) error {
	if err == nil {
		return nil
	}
	return &chainError{l.number, err}
}

// begin reads all headers, and checks that the files belong together.
func (l *layer) begin() error {
	if l.base == nil {
		err := l.in.begin()
		if err == nil {
			l.info, _, err = readHeader(&l.in, &l.packed)
		}
		return l.fail(err)
	}
	if err := l.base.begin(); err != nil {
		return err
	}
	err := l.in.begin()
	if err == nil {
		l.info, _, err = readAnyHeader(&l.in, &l.packed)
	}
	if err == nil && !l.info.Increment {
		err = fmt.Errorf("%w: it is whole, and so the first of a chain", ErrBase)
	}
	if below := l.base.info; err == nil && (l.info.BaseTick != below.Tick || l.info.BaseHash != below.Hash) {
		err = fmt.Errorf("%w: it is an increment on %v, and the snapshot before it is %v", ErrBase, l.info.base, base{tick: below.Tick, hash: below.Hash})
	}
	return l.fail(err)
}

func (l *layer) next(s *section) error {
	if l.told {
		if err := l.in.next(&l.packed); err != nil {
			return l.fail(err)
		}
	}
	l.told = true
	body, err := l.packed.unpack(&l.buf)
	if err != nil {
		return l.fail(err)
	}
	p := &l.packed
	s.kind, s.how, s.number, s.at, s.sure = p.kind, None, p.number, p.at, false
	switch {
	case p.kind == endSection:
		return l.end(s)
	case l.base == nil || p.kind == headerSection:
		if p.how == None {
			s.body, p.body = body, s.body
		} else {
			s.body, l.buf = body, s.body
		}
		s.length, s.sum = len(s.body), 0
	default:
		if err := l.apply(s, body); err != nil {
			return err
		}
	}
	s.sum = s.checksum()
	l.count++
	l.chain = link(l.chain, s.sum)
	return nil
}

func (l *layer) finish(*section) error { return nil }

// end checks that nothing is missing, in the files below too.
func (l *layer) end(s *section) error {
	if err := l.in.finish(&l.packed); err != nil {
		return l.fail(err)
	}
	if l.base != nil {
		for l.cur.kind != endSection {
			if err := l.base.next(&l.cur); err != nil {
				return err
			}
		}
		c := drive.Cursor{Rest: l.packed.body[16:]}
		switch sum := l.base.chain; {
		case l.info.base.sum != sum:
			return l.fail(fmt.Errorf("%w: it is an increment on %v, and the one before it is of that tick and hash, and yet another", ErrBase, l.info.base))
		case c.Word64() != l.chain:
			return l.fail(altered("%v: what it makes of its base is not what was saved", s))
		}
	}
	s.body = appendEnd(s.body[:0], l.count, l.chain)
	s.length = len(s.body)
	s.sum = s.checksum()
	return nil
}

// apply merges a section of the base with the increment.
func (l *layer) apply(s *section, delta []byte) error {
	c := drive.Cursor{Rest: delta}
	s.body = s.body[:0]
	for len(c.Rest) > 0 {
		n := c.Int()
		size := n >> 1
		if n&1 == 0 {
			s.body = append(s.body, c.Take(size)...)
		} else {
			number, at := c.Int(), c.Int()
			if c.Err != nil {
				break
			}
			part, err := l.part(s, number, at, size)
			if err != nil {
				return err
			}
			s.body = append(s.body, part...)
		}
		if len(s.body) > sectionMax {
			return l.fail(altered("%v: it has more than %d bytes", s, sectionMax))
		}
	}
	if c.Err != nil {
		return l.fail(altered("%v: %w", s, c.Err))
	}
	s.length = len(s.body)
	return nil
}

// part returns bytes of a section of the base. Each byte is used once, and in order. So only one
// section is in memory at a time, and the result is no longer than all files together.
func (l *layer) part(s *section, number, at, size int) ([]byte, error) {
	for l.at <= number && l.cur.kind != endSection {
		if err := l.base.next(&l.cur); err != nil {
			return nil, err
		}
		l.at, l.used = l.at+1, 0
	}
	if l.at != number+1 || l.cur.kind == endSection || at < l.used || size > len(l.cur.body)-at {
		return nil, l.fail(altered("%v: %d bytes at %d of section %d of its base are not there, or are used already", s, size, at, number))
	}
	l.used = at + size
	return l.cur.body[at:l.used], nil
}
