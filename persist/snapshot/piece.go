package snapshot

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// Piece is some entities, outside of any world: what Extract makes and Insert takes. It is bytes, to be
// kept in a file or a database, sent to another process, and read by another version of the program.
//
// Ownership: any goroutines, at once.
type Piece struct {
	bytes []byte
	once  sync.Once
	has   *contents
	err   error
}

// ReadPiece returns the piece that has these bytes, which Piece.Bytes has returned, perhaps in another
// program. It keeps them: do not write them afterwards. It trusts none of them, and checks what can be
// seen without a world; Insert checks the rest, before it changes anything.
//
// Errors are ErrNoSnapshot for bytes that do not begin as a piece does, ErrVersion, ErrAltered,
// and ErrOtherWorld for a piece from a machine with another byte order or size of int.
func ReadPiece(b []byte) (*Piece, error) {
	p := &Piece{bytes: b[:len(b):len(b)]}
	if _, err := p.contents(); err != nil {
		return nil, err
	}
	return p, nil
}

// Bytes returns the piece as bytes, for ReadPiece. They must not be written. The same roots of the same
// world, in the same order, give the same bytes.
func (p *Piece) Bytes() []byte { return p.bytes }

// Len returns how many entities the piece has.
func (p *Piece) Len() int {
	has, _ := p.contents()
	return len(has.entities.Handles)
}

// Handles yields the handles that the entities had where the piece comes from.
func (p *Piece) Handles() iter.Seq[handle.Handle] {
	has, _ := p.contents()
	return slices.Values(has.entities.Handles)
}

// A piece begins with its magic, the version of its format and the machine that has written it, and
// ends with a checksum.
const (
	pieceMagic   = "atollpce"
	pieceVersion = 1
	pieceHead    = len(pieceMagic) + 4
	sumBytes     = 8
	lengthBytes  = 4 // of a column or a part
)

// machine tells machines apart whose values are other bytes: a piece says which one has written it.
var machine = binary.NativeEndian.Uint16([]byte{1, 0}) | bits.UintSize<<8

// appendPieceHead appends what each piece begins with.
func appendPieceHead(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(append(dst, pieceMagic...), pieceVersion)
	return binary.LittleEndian.AppendUint16(dst, machine)
}

// appendSized appends what f appends, behind its length. It reports whether it is too long for that.
func appendSized(dst []byte, f func(dst []byte) []byte) (all []byte, tooLong bool) {
	at := len(dst)
	dst = f(append(dst, make([]byte, lengthBytes)...))
	n := len(dst) - at - lengthBytes
	binary.LittleEndian.PutUint32(dst[at:], uint32(n))
	return dst, n > format.SectionMax
}

// contents are what a piece has. Whatever has a length is in its place in the bytes.
//
// Ownership: as for the Piece.
type contents struct {
	catalogue []byte
	once      sync.Once  // guards names, unique and err until they are there
	err       error      // of describe
	names     *catalogue // by describe
	unique    []bool     // by extension: only one entity can have what it has, such as a name
	entities  extend.Excerpt
	groups    []pieceGroup
	parts     []piecePart
}

// pieceGroup is the entities of one shard that have the same components.
type pieceGroup struct {
	shard      int
	components []int // numbers in the catalogue, ascending
	first, n   int   // places of the entities
	flags      []byte
	columns    [][]byte
}

// piecePart is what an extension has of the entities.
type piecePart struct {
	extension int // number in the catalogue
	count     int // as of extend.Optioned
	excerpt   []byte
}

// contents reads the bytes, once. The error is what ReadPiece returns.
func (p *Piece) contents() (*contents, error) {
	p.once.Do(func() {
		if p.has, p.err = readContents(p.bytes); p.err != nil {
			p.has = new(contents)
		}
	})
	return p.has, p.err
}

// readContents is contents. It trusts nothing.
func readContents(b []byte) (*contents, error) {
	switch {
	case len(b) < pieceHead+sumBytes || string(b[:len(pieceMagic)]) != pieceMagic:
		return nil, fmt.Errorf("%w: a piece begins with %q", ErrNoSnapshot, pieceMagic)
	case binary.LittleEndian.Uint16(b[len(pieceMagic):]) != pieceVersion:
		return nil, fmt.Errorf("%w: this is a piece of version %d, and version %d is read here", ErrVersion, binary.LittleEndian.Uint16(b[len(pieceMagic):]), pieceVersion)
	case binary.LittleEndian.Uint16(b[len(pieceMagic)+2:]) != machine:
		return nil, format.OtherWorld("the piece comes from a machine with another byte order or size of int")
	}
	end := len(b) - sumBytes
	if binary.LittleEndian.Uint64(b[end:]) != xxh3.Hash(b[:end]) {
		return nil, format.Altered("the checksum of the piece does not match: it ends too soon, or its bytes have changed")
	}
	c := extend.Cursor{Rest: b[pieceHead:end]}
	x := &contents{catalogue: c.Bytes()}
	for range c.Count(4) {
		x.readGroup(&c)
	}
	last := -1
	for range c.Count(lengthBytes) {
		p := piecePart{extension: c.Int(), count: c.Int(), excerpt: takeSized(&c)}
		if p.extension <= last {
			c.Err = extend.ErrBody
		}
		last = p.extension
		x.parts = append(x.parts, p)
	}
	if err := c.End(); err != nil {
		return nil, format.Altered("the piece: %w", err)
	}
	for i, h := range x.entities.Handles {
		if at, _ := x.entities.Place(h); at != i || h.Version() == 0 {
			return nil, format.Altered("the piece has the entity %v twice, or it is none", h)
		}
	}
	return x, nil
}

// takeSized takes what appendSized has appended, in place.
func takeSized(c *extend.Cursor) []byte {
	if n := c.Take(lengthBytes); n != nil {
		return c.Take(int(binary.LittleEndian.Uint32(n)))
	}
	return nil
}

// readGroup reads a group. An error is in the cursor.
func (x *contents) readGroup(c *extend.Cursor) {
	g := pieceGroup{shard: int(c.Below(handle.HomeMax)), first: len(x.entities.Handles)}
	last := -1
	for range c.Count(1) {
		id := int(c.Below(store.ComponentsMax))
		if id <= last {
			c.Err = extend.ErrBody
			return
		}
		last = id
		g.components = append(g.components, id)
	}
	handles := extend.WordsOf[handle.Handle](c)
	if g.n = len(handles); g.n == 0 {
		c.Err = extend.ErrBody
		return
	}
	x.entities.Handles = append(x.entities.Handles, handles...)
	if c.Flags(1) != 0 {
		g.flags = c.Take(g.n)
	}
	for range g.components {
		g.columns = append(g.columns, takeSized(c))
	}
	x.groups = append(x.groups, g)
}

// describe reads the catalogue, once, and counts what is in the piece. An error says that it makes no
// sense.
func (x *contents) describe() error {
	x.once.Do(func() { x.err = x.readCatalogue() })
	return x.err
}

// readCatalogue is describe.
func (x *contents) readCatalogue() error {
	names, err := format.ReadCatalogue(x.catalogue)
	if err != nil {
		return format.Altered("what the piece says of its types: %w", err)
	}
	for _, n := range names.Extensions {
		x.unique = append(x.unique, n.Count == 1)
	}
	for _, list := range names.Lists() {
		for i := range *list {
			(*list)[i].Count = 0
		}
	}
	for i := range x.groups {
		for _, id := range x.groups[i].components {
			if id >= len(names.Components) || names.Components[id].Type == "" {
				return format.Altered("the piece does not say what its component %d is", id)
			}
			names.Components[id].Count += x.groups[i].n
		}
	}
	for _, p := range x.parts {
		if p.extension >= len(names.Extensions) || names.Extensions[p.extension].Type == "" {
			return format.Altered("the piece does not say what its extension %d is", p.extension)
		}
		names.Extensions[p.extension].Count = p.count
	}
	x.names = &catalogue{Catalogue: names}
	return nil
}
