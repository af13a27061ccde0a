package format

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/state"
)

// Part is a section that is to be written.
type Part struct {
	Kind   byte
	Number int
	// Body appends the body to dst. If cuts is not nil, it adds where the blocks of the body begin, if
	// it has several.
	Body func(dst []byte, cuts *[]Cut) []byte
}

// PartOf returns a Part with a body of one block.
func PartOf(kind byte, number int, body func(dst []byte) []byte) Part {
	return Part{kind, number, func(dst []byte, _ *[]Cut) []byte { return body(dst) }}
}

// Output says how a snapshot is written.
type Output struct {
	Workers     int // goroutines; 0 for GOMAXPROCS
	Compression Compression
	Tick        uint64
	Hash        state.Hash
	Chain       *Chain // if it is not nil, the snapshot may be an increment, and the next is one
}

// encoded is a section on its way to the writer.
type encoded struct {
	Section
	ready       chan struct{} // has an element when all else may be read
	raw, packed []byte
	cuts        []Cut
	delta       []byte   // for an increment, instead of raw
	whole       uint64   // its checksum in a whole, uncompressed snapshot
	blocks      []pieces // for the next increment
	panicked    any
	err         error
}

// Write encodes parts on several goroutines, one for each because a codec may end it, and writes
// them in order on the caller's. It returns when all of them have ended. After an error what was
// written is no snapshot, and the Chain is unchanged.
func (o Output) Write(dst io.Writer, parts []Part) (err error) {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	workers := min(o.Workers, len(parts))
	var stopped atomic.Bool
	running := make(chan struct{}, workers)
	order, free := make(chan *encoded, 2*workers), make(chan *encoded, 2*workers) // bounds how many are under way
	for range cap(free) {
		free <- &encoded{ready: make(chan struct{}, 1)}
	}
	go func() {
		defer close(order)
		for i := range parts {
			x := <-free
			order <- x
			running <- struct{}{}
			go func() {
				defer func() {
					<-running
					x.ready <- struct{}{}
				}()
				if !stopped.Load() {
					o.encode(x, parts, i)
				}
			}()
		}
	}()
	defer func() { // also if dst panics or ends this goroutine: no goroutine is left waiting
		stopped.Store(true)
		for x := range order {
			<-x.ready
			free <- x
		}
	}()
	out, now := Writer{Out: dst}, &written{Base: Base{tick: o.Tick, hash: o.Hash}}
	if o.Chain != nil {
		out.Base, now.blocks = o.Chain.base(), map[Block]pieces{}
	}
	if err := out.Begin(); err != nil {
		return err
	}
	for x := range order {
		if <-x.ready; x.panicked != nil {
			panic(x.panicked)
		}
		err := x.err
		if err == nil {
			err = out.Section(&x.Section)
		}
		if err != nil {
			return err
		}
		now.add(x)
		free <- x
	}
	if err = out.End(now.sum); err == nil && o.Chain != nil {
		o.Chain.last = now
	}
	return err
}

// encode encodes a part, on a goroutine of its own, which has x until then. It keeps an error and a
// panic of the user's code in x.
func (o Output) encode(x *encoded, parts []Part, at int) {
	x.panicked, x.err = nil, ErrGoexit
	defer func() {
		v := recover()
		var failed *form.CodecError
		if e, ok := v.(error); ok && errors.As(e, &failed) {
			x.err = fmt.Errorf("snapshot: %w", e)
		} else {
			x.panicked = v
		}
	}()
	p := &parts[at]
	var cuts *[]Cut
	if x.cuts = x.cuts[:0]; o.Chain != nil {
		cuts = &x.cuts
	}
	if x.raw = p.Body(x.raw[:0], cuts); len(x.cuts) == 0 {
		x.cuts = append(x.cuts, Cut{Block: Block{Kind: p.Kind, Number: p.Number}})
	}
	x.err = nil
	x.Section = Section{Kind: p.Kind, How: None, Number: p.Number, Length: len(x.raw), Body: x.raw}
	if len(x.raw) > SectionMax {
		x.err = fmt.Errorf("%w: a section of kind %q has %d bytes, more than %d", ErrTooLarge, p.Kind, len(x.raw), SectionMax)
		return
	}
	if o.Chain != nil {
		x.whole = x.Checksum()
		x.delta, x.blocks = o.Chain.last.compare(x.delta[:0], x.raw, at, x.cuts)
		if o.Chain.last != nil && p.Kind != HeaderSection {
			x.Body, x.Length = x.delta, len(x.delta)
		}
	}
	if o.Compression != None && p.Kind != HeaderSection {
		x.How = o.Compression
		x.packed = Pack(x.How, x.packed[:0], x.Body)
		x.Body = x.packed
	}
	x.Sum = x.Checksum()
}

// Chain remembers what was written last, so that the next snapshot can be an increment on it. The
// zero value remembers nothing: the next is whole.
//
// Ownership: one goroutine at a time saves. The goroutines that encode only read it.
type Chain struct {
	last *written
}

// Began reports whether the next snapshot is an increment.
func (c *Chain) Began() bool { return c.last != nil }

// base returns what the next increment is based on, or nil.
func (c *Chain) base() *Base {
	if c.last == nil {
		return nil
	}
	return &c.last.Base
}

const (
	// pieceSize is the unit of comparison: one changed byte makes that many be written.
	pieceSize = 256
	// OfHandles stands for the column of handles.
	OfHandles = -1
)

// digest identifies a piece: the first half of its SHA-256. Players write what is in
// pieces, so the digest must be hard to forge.
type digest [16]byte

// digestOf returns the digest of a piece.
func digestOf(piece []byte) digest {
	sum := sha256.Sum256(piece)
	return digest(sum[:])
}

// written has the digests of a snapshot.
//
// Ownership: the goroutine that saves; once it is the last of a Chain, nobody writes it.
type written struct {
	Base
	blocks map[Block]pieces
}

// add adds a section.
func (w *written) add(x *encoded) {
	w.sum = link(w.sum, x.whole)
	for i, b := range x.blocks {
		w.blocks[x.cuts[i].Block] = b
	}
}

// Block says what a run of bytes is: a column of a chunk, or another section as a whole.
type Block struct {
	Kind   byte
	Number int // of the section
	Place
	Column int
}

// pieces says where a block is in a snapshot, and has the digests of its pieces.
type pieces struct {
	section, at int
	digests     []digest
}

// Cut is where a block begins in a section.
type Cut struct {
	At int
	Block
}

// compare finds the bytes of a section that are in the base. It returns the section as in an
// increment, and its blocks for the next one. Blocks are in the same order in both, so an increment
// refers to bytes in the order of the base. It changes nothing of the base.
func (w *written) compare(dst, raw []byte, number int, cuts []Cut) ([]byte, []pieces) {
	d := delta{dst: dst, raw: raw}
	all := make([]digest, 0, len(raw)/pieceSize+len(cuts))
	blocks := make([]pieces, len(cuts))
	for i, c := range cuts {
		end := len(raw)
		if i+1 < len(cuts) {
			end = cuts[i+1].At
		}
		first := len(all)
		var old pieces
		if w != nil {
			old = w.blocks[c.Block]
		}
		for at := c.At; at < end; at += pieceSize {
			k := len(all) - first
			n := min(pieceSize, end-at)
			all = append(all, digestOf(raw[at:at+n]))
			if k < len(old.digests) && old.digests[k] == all[first+k] {
				d.same(at, n, old.section, old.at+k*pieceSize)
			}
		}
		blocks[i] = pieces{number, c.At, all[first:len(all):len(all)]}
	}
	if w == nil {
		return dst, blocks
	}
	return d.end(), blocks
}

// delta writes a section as new bytes and references to the sections of the base.
//
// Ownership: the goroutine that encodes the section.
type delta struct {
	dst, raw    []byte
	done        int // bytes of raw that were written
	at, n       int // bytes of raw that are in the base, so far
	section, of int // where those are in the base
}

// same notes that n bytes are in the base.
func (d *delta) same(at, n, section, of int) {
	if d.n > 0 && d.at+d.n == at && d.section == section && d.of+d.n == of {
		d.n += n
		return
	}
	d.flush()
	d.at, d.n, d.section, d.of = at, n, section, of
}

// flush appends the reference to the bytes that are in the base, if there are some.
func (d *delta) flush() {
	if d.n > 0 {
		d.own(d.at)
		d.dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(d.dst, d.n<<1|1), d.section), d.of)
		d.done, d.n = d.at+d.n, 0
	}
}

// own appends the bytes that are not in the base.
func (d *delta) own(end int) {
	if n := end - d.done; n > 0 {
		d.dst = append(extend.AppendNumber(d.dst, n<<1), d.raw[d.done:end]...)
	}
}

// end appends what is left, and returns the section.
func (d *delta) end() []byte {
	d.flush()
	d.own(len(d.raw))
	return d.dst
}

// Merge returns a reader of the whole snapshot that a base and increments on it make. It reads none
// of them before its own Read is called.
func Merge(base io.Reader, increments ...io.Reader) io.Reader {
	top := &layer{in: reader{in: base}}
	for i, in := range increments {
		top = &layer{in: reader{in: in}, number: i + 1, base: top}
	}
	return &merging{top: top}
}

// SourceOf returns the Source that reads a snapshot. src may have another reader in it, as its
// method Within says. Nothing is read yet.
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
//
// Ownership: the goroutine that reads.
type merging struct {
	top    *layer
	began  bool
	out    bytes.Buffer
	w      Writer
	s      Section
	packed []byte
	err    error
}

// Read merges as many sections as it takes to have bytes. It reads all files of the chain
// meanwhile, on the caller's goroutine. After an error it returns the same again.
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

// step merges a section. The error is io.EOF after the last.
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
//
// Ownership: the goroutine that reads.
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

// Unwrap returns the error without the file.
func (c *ChainError) Unwrap() error { return c.Err }

// Error returns the error with the file that it is about.
func (c *ChainError) Error() string {
	if c.Number == 0 {
		return c.Err.Error() + " (of the base)"
	}
	return fmt.Sprintf("%v (of increment %d)", c.Err, c.Number)
}

// fail makes an error one of the layer's file.
func (l *layer) fail(err error) error {
	if err == nil {
		return nil
	}
	return &ChainError{l.number, err}
}

// Begin reads all headers, from the base up, and checks that the files belong together. If not, it
// returns ErrBase.
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

// Next makes s the next section, merged with the base and not compressed. After an error the chain
// cannot be read further.
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

// Finish does nothing: end has checked the file.
func (l *layer) Finish(*Section) error { return nil }

// end checks that nothing is missing, in the files below too. An error says which file it is.
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

// apply merges a section of the base with the increment: it makes the body of s. An error says that
// the increment refers to what the base does not have.
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
// section is in memory at a time, and the result is no longer than all files together. An error
// says that the increment is altered, or that of the base.
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
