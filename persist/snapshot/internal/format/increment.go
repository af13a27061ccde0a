package format

import (
	"crypto/sha256"
	"fmt"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/state"
)

// Chain remembers what was written last, so that the next snapshot can be an increment on it. The
// zero value remembers nothing: the next is whole.
type Chain struct {
	last *written
}

// Began reports whether the next snapshot is an increment.
func (x *Chain) Began() bool { return x.last != nil }

// base returns what the next increment is based on, or nil.
func (x *Chain) base() *Base {
	if x.last == nil {
		return nil
	}
	return &x.last.Base
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

func digestOf(piece []byte) digest {
	sum := sha256.Sum256(piece)
	return digest(sum[:])
}

// written has the digests of a snapshot.
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

// Base names the snapshot with which an increment must be merged.
type Base struct {
	tick uint64
	hash state.Hash
	sum  uint64 // the sum in its section E, as without compression
}

func (b Base) String() string { return fmt.Sprintf("that of tick %d with hash %v", b.tick, b.hash) }

// Place says where a chunk is in a shard.
type Place struct{ Table, Chunk int }

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
// refers to bytes in the order of the base.
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

func (d *delta) end() []byte {
	d.flush()
	d.own(len(d.raw))
	return d.dst
}

// appendBase appends the first section of an increment.
func appendBase(dst []byte, b Base) []byte {
	for _, n := range []uint64{b.tick, uint64(b.hash), b.sum} {
		dst = extend.AppendNumber(dst, n)
	}
	return dst
}

func readBase(s *Section) (b Base, err error) {
	c := extend.Cursor{Rest: s.Body}
	b = Base{c.Number(), state.Hash(c.Number()), c.Number()}
	if err := c.End(); err != nil || s.How != None || s.Number != 0 {
		return b, Altered("%v: it names no base", s)
	}
	return b, nil
}
