package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/atoll-sim/atoll/internal/extend"
)

// Merge returns a reader of the whole snapshot that a base and increments on it make.
func Merge(base io.Reader, increments ...io.Reader) io.Reader {
	top := &layer{in: reader{in: base}}
	for i, in := range increments {
		top = &layer{in: reader{in: in}, number: i + 1, base: top}
	}
	return &merging{top: top}
}

// SourceOf returns the Source that reads a snapshot. src may have another reader in it, as its
// method Within says.
func SourceOf(src io.Reader) Source {
	if x, ok := src.(interface{ Within() io.Reader }); ok {
		src = x.Within()
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
	w      Writer
	s      Section
	packed []byte
	err    error
}

// Read merges as many sections as it takes to have bytes.
func (m *merging) Read(p []byte) (int, error) {
	if !m.began {
		m.began = true
		m.w.Out = &m.out
		if m.err = m.top.Begin(); m.err == nil {
			m.err = m.w.Begin()
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
	if err := m.top.Next(s); err != nil {
		return err
	}
	if s.Kind == EndSection {
		if err := m.w.End(0); err != nil {
			return err
		}
		return io.EOF
	}
	out := *s
	if out.How = m.top.packed.How; out.How != None {
		m.packed = Pack(out.How, m.packed[:0], s.Body)
		out.Body = m.packed
		out.Sum = out.Checksum()
	}
	return m.w.Section(&out)
}

// layer is a source that merges a file of a chain with the layer below it. Its sections are not
// compressed.
type layer struct {
	in     reader
	number int // of the increment
	base   *layer
	packed Section // of the file
	buf    []byte
	head   Header
	told   bool    // the header, which is in packed, was returned
	chain  uint64  // of the checksums of all sections
	count  uint64  // of sections
	cur    Section // of the base
	at     int     // the number of cur, from 1
	used   int     // bytes of cur that were used
}

// ChainError adds the file of the chain to an error.
type ChainError struct {
	Number int
	Err    error
}

func (e *ChainError) Unwrap() error { return e.Err }

func (e *ChainError) Error() string {
	if e.Number == 0 {
		return e.Err.Error() + " (of the base)"
	}
	return fmt.Sprintf("%v (of increment %d)", e.Err, e.Number)
}

func (l *layer) fail(err error) error {
	if err == nil {
		return nil
	}
	return &ChainError{l.number, err}
}

// Begin reads all headers, and checks that the files belong together.
func (l *layer) Begin() error {
	if l.base == nil {
		err := l.in.Begin()
		if err == nil {
			l.head, err = ReadHeader(&l.in, &l.packed)
		}
		return l.fail(err)
	}
	if err := l.base.Begin(); err != nil {
		return err
	}
	err := l.in.Begin()
	if err == nil {
		l.head, err = ReadAnyHeader(&l.in, &l.packed)
	}
	if err == nil && !l.head.Increment {
		err = fmt.Errorf("%w: it is whole, and so the first of a chain", ErrBase)
	}
	if below := l.base.head; err == nil && (l.head.BaseTick != below.Tick || l.head.BaseHash != below.Hash) {
		err = fmt.Errorf("%w: it is an increment on %v, and the snapshot before it is %v", ErrBase, l.head.Base, Base{tick: below.Tick, hash: below.Hash})
	}
	return l.fail(err)
}

// Next makes s the next section, merged with the base and not compressed.
func (l *layer) Next(s *Section) error {
	if l.told {
		if err := l.in.Next(&l.packed); err != nil {
			return l.fail(err)
		}
	}
	l.told = true
	body, err := l.packed.Unpack(&l.buf)
	if err != nil {
		return l.fail(err)
	}
	p := &l.packed
	s.Kind, s.How, s.Number, s.At, s.Sure = p.Kind, None, p.Number, p.At, false
	switch {
	case p.Kind == EndSection:
		return l.end(s)
	case l.base == nil || p.Kind == HeaderSection:
		if p.How == None {
			s.Body, p.Body = body, s.Body
		} else {
			s.Body, l.buf = body, s.Body
		}
		s.Length, s.Sum = len(s.Body), 0
	default:
		if err := l.apply(s, body); err != nil {
			return err
		}
	}
	s.Sum = s.Checksum()
	l.count++
	l.chain = link(l.chain, s.Sum)
	return nil
}

func (l *layer) Finish(*Section) error { return nil }

// end checks that nothing is missing, in the files below too.
func (l *layer) end(s *Section) error {
	if err := l.in.Finish(&l.packed); err != nil {
		return l.fail(err)
	}
	if l.base != nil {
		for l.cur.Kind != EndSection {
			if err := l.base.Next(&l.cur); err != nil {
				return err
			}
		}
		c := extend.Cursor{Rest: l.packed.Body[16:]}
		switch sum := l.base.chain; {
		case l.head.Base.sum != sum:
			return l.fail(fmt.Errorf("%w: it is an increment on %v, and the one before it is of that tick and hash, and yet another", ErrBase, l.head.Base))
		case c.Word64() != l.chain:
			return l.fail(Altered("%v: what it makes of its base is not what was saved", s))
		}
	}
	s.Body = appendEnd(s.Body[:0], l.count, l.chain)
	s.Length = len(s.Body)
	s.Sum = s.Checksum()
	return nil
}

// apply merges a section of the base with the increment.
func (l *layer) apply(s *Section, delta []byte) error {
	c := extend.Cursor{Rest: delta}
	s.Body = s.Body[:0]
	for len(c.Rest) > 0 {
		n := c.Int()
		size := n >> 1
		if n&1 == 0 {
			s.Body = append(s.Body, c.Take(size)...)
		} else {
			number, at := c.Int(), c.Int()
			if c.Err != nil {
				break
			}
			part, err := l.part(s, number, at, size)
			if err != nil {
				return err
			}
			s.Body = append(s.Body, part...)
		}
		if len(s.Body) > SectionMax {
			return l.fail(Altered("%v: it has more than %d bytes", s, SectionMax))
		}
	}
	if c.Err != nil {
		return l.fail(Altered("%v: %w", s, c.Err))
	}
	s.Length = len(s.Body)
	return nil
}

// part returns bytes of a section of the base. Each byte is used once, and in order. So only one
// section is in memory at a time, and the result is no longer than all files together.
func (l *layer) part(s *Section, number, at, size int) ([]byte, error) {
	for l.at <= number && l.cur.Kind != EndSection {
		if err := l.base.Next(&l.cur); err != nil {
			return nil, err
		}
		l.at, l.used = l.at+1, 0
	}
	if l.at != number+1 || l.cur.Kind == EndSection || at < l.used || size > len(l.cur.Body)-at {
		return nil, l.fail(Altered("%v: %d bytes at %d of section %d of its base are not there, or are used already", s, size, at, number))
	}
	l.used = at + size
	return l.cur.Body[at:l.used], nil
}
