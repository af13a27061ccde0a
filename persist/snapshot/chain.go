package snapshot

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/persist/state"
)

// Chain writes a sequence of snapshots. The first is whole. Each later one is an increment, which
// has only what has changed since the one before. Merge makes whole snapshots of them. The zero
// value is ready.
//
// A Chain remembers a digest of 16 bytes for each piece of 256 bytes that it wrote last.
//
// Ownership: one goroutine at a time saves. Another may save a Captured without the Chain
// meanwhile.
type Chain struct {
	last *written // nil: the next is whole
}

// Save writes a capture. The errors are those of Captured.Save; after one, the
// Chain is unchanged. If what was written is lost later, use a new Chain: increments cannot
// be read without their base.
func (x *Chain) Save(dst io.Writer, c *Captured) error { return c.save(dst, x) }

const (
	// pieceSize is the unit of comparison: one changed byte makes that many be written.
	pieceSize = 256
	// ofHandles stands for the column of handles.
	ofHandles = -1
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
	base
	blocks map[blockKey]pieces
}

// base returns what the next increment is based on, or nil.
func (x *Chain) base() *base {
	if x.last == nil {
		return nil
	}
	return &x.last.base
}

// add adds a section.
func (w *written) add(x *encoded) {
	w.sum = link(w.sum, x.whole)
	for i, b := range x.blocks {
		w.blocks[x.cuts[i].blockKey] = b
	}
}

// base names the snapshot with which an increment must be merged.
type base struct {
	tick uint64
	hash state.Hash
	sum  uint64 // the sum in its section E, as without compression
}

func (b base) String() string { return fmt.Sprintf("that of tick %d with hash %v", b.tick, b.hash) }

// blockKey says what a block is: a column of a chunk, or another section as a whole.
type blockKey struct {
	kind   byte
	number int // of the section
	place
	column int
}

// pieces says where a block is in a snapshot, and has the digests of its pieces.
type pieces struct {
	section, at int
	digests     []digest
}

// cut is where a block begins in a section.
type cut struct {
	at int
	blockKey
}

// compare finds the bytes of a section that are in the base. It returns the section as in an
// increment, and its blocks for the next one. Blocks are in the same order in both, so an increment
// refers to bytes in the order of the base.
func (w *written) compare(dst, raw []byte, number int, cuts []cut) ([]byte, []pieces) {
	d := delta{dst: dst, raw: raw}
	all := make([]digest, 0, len(raw)/pieceSize+len(cuts))
	blocks := make([]pieces, len(cuts))
	for i, c := range cuts {
		end := len(raw)
		if i+1 < len(cuts) {
			end = cuts[i+1].at
		}
		first := len(all)
		var old pieces
		if w != nil {
			old = w.blocks[c.blockKey]
		}
		for at := c.at; at < end; at += pieceSize {
			k := len(all) - first
			n := min(pieceSize, end-at)
			all = append(all, digestOf(raw[at:at+n]))
			if k < len(old.digests) && old.digests[k] == all[first+k] {
				d.same(at, n, old.section, old.at+k*pieceSize)
			}
		}
		blocks[i] = pieces{number, c.at, all[first:len(all):len(all)]}
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
		d.dst = drive.AppendNumber(drive.AppendNumber(drive.AppendNumber(d.dst, d.n<<1|1), d.section), d.of)
		d.done, d.n = d.at+d.n, 0
	}
}

// own appends the bytes that are not in the base.
func (d *delta) own(end int) {
	if n := end - d.done; n > 0 {
		d.dst = append(drive.AppendNumber(d.dst, n<<1), d.raw[d.done:end]...)
	}
}

func (d *delta) end() []byte {
	d.flush()
	d.own(len(d.raw))
	return d.dst
}

// appendBase appends the first section of an increment.
func appendBase(dst []byte, b base) []byte {
	for _, n := range []uint64{b.tick, uint64(b.hash), b.sum} {
		dst = drive.AppendNumber(dst, n)
	}
	return dst
}

func readBase(s *section) (b base, err error) {
	c := drive.Cursor{Rest: s.body}
	b = base{c.Number(), state.Hash(c.Number()), c.Number()}
	if err := c.End(); err != nil || s.how != None || s.number != 0 {
		return b, altered("%v: it names no base", s)
	}
	return b, nil
}
