package hierarchy

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/atoll-sim/atoll/handle"
)

// This is the package's file with unsafe. It finds lists, which is most of what every reading does,
// without checking again what the tree's invariants promise. It also copies memory as bytes, so
// that saving and loading are one copy.

// parent returns the parent of h, or None.
//
// Safety: a node's list has an owner. No node has list 0, whose owner is
// None.
func (t *tree) parent(h handle.Handle) handle.Handle {
	n := t.look(h)
	if n.hasList() {
		n = t.list(t.number(n)).link()
	}
	return *(*handle.Handle)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.owners)), uintptr(t.number(n))*wordBytes))
}

// children returns the places of the list of h, including holes.
//
// Safety: a node's list has a record, and its places are in its bucket.
func (t *tree) children(h handle.Handle) []handle.Handle {
	n := t.look(h)
	if !n.hasList() {
		return nil
	}
	l := (*list)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.records)), uintptr(t.number(n))*unsafe.Sizeof(list{})))
	span := l[listSpan]
	if span&open != 0 {
		return t.closed(t.number(n))
	}
	return t.bucket(int(span>>32), int(span&(open-1)))
}

// bucket returns the first words of a bucket. A list without one has start 0.
//
// Safety: a bucket is in one arena, whose sectors follow each other in memory, and it has that many
// words.
func (t *tree) bucket(start, n int) []word {
	sector := *(**word)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.firsts)), uintptr(start)>>sectorBits*unsafe.Sizeof(t.firsts[0])))
	first := unsafe.Add(unsafe.Pointer(sector), uintptr(start)%sectorWords*wordBytes)
	return (*[min(open, math.MaxInt/wordBytes)]word)(first)[:n:n]
}

// littleEndian says whether words have the same bytes in memory as in an image.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf returns the memory of words as bytes.
//
// Safety: words hold no pointers, every byte of them may be read and written, and
// the slice has just as many.
func bytesOf(words []word) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*wordBytes)
}

// appendWords appends words in the order of an image.
//
// Safety: as that of bytesOf.
func appendWords(dst []byte, words []word) []byte {
	if littleEndian {
		return append(dst, bytesOf(words)...)
	}
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(w))
	}
	return dst
}

// readWords fills words from an image of the same size.
//
// Safety: as that of bytesOf.
func readWords(words []word, image []byte) {
	if littleEndian {
		copy(bytesOf(words), image)
		return
	}
	for i := range words {
		words[i] = word(binary.LittleEndian.Uint64(image[i*wordBytes:]))
	}
}
