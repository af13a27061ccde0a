package hierarchy

import (
	"encoding/binary"
	"unsafe"

	"github.com/atoll-sim/atoll/handle"
)

// This file is the one with unsafe: it finds lists, which is most of what every reading
// does, without checking again what the directories promise; and it
// copies memory as bytes, which is what makes saving and loading one copy.

// hot is what every reading needs of a tree: its directories.
//
// Invariants: they are those of the tree, as show left them.
type hot struct {
	lists  unsafe.Pointer // *[len(lists)]listRef
	owners unsafe.Pointer // *[len(owners)]handle.Handle
}

// show notes where the directories are, after one has grown.
//
// Safety: the addresses are used as what they are of alone.
func (t *Tree) show() {
	t.hot = hot{
		lists: unsafe.Pointer(unsafe.SliceData(t.lists)), owners: unsafe.Pointer(unsafe.SliceData(t.owners)),
	}
}

// parent returns the parent of h, or None.
//
// Safety: a node's list has an owner; that of list 0, which is that of no node, is
// None.
func (t *Tree) parent(h handle.Handle) handle.Handle {
	n := t.look(h)
	if n.hasList() {
		n = t.list(t.number(n)).link()
	}
	return *(*handle.Handle)(unsafe.Add(t.hot.owners, uintptr(t.number(n))*wordBytes))
}

// children returns the places of the list of h, holes among them.
//
// Safety: a node's list has a record in its page, and its places are in its arena.
func (t *Tree) children(h handle.Handle) []handle.Handle {
	n := t.look(h)
	if !n.hasList() {
		return nil
	}
	number := uintptr(t.number(n))
	ref := (*listRef)(unsafe.Add(t.hot.lists, number>>listPageBits*unsafe.Sizeof(listRef{})))
	l := (*list)(unsafe.Add(unsafe.Pointer(ref.page), number%listPageSize*unsafe.Sizeof(list{})))
	span := l[listSpan]
	if span&open != 0 {
		return t.closed(t.number(n))
	}
	first := unsafe.Add(unsafe.Pointer(unsafe.SliceData(ref.arena.words)), uintptr(span>>32)*wordBytes)
	places := span & (open - 1)
	return (*[min(open, WordsMax)]handle.Handle)(first)[:places:places]
}

// littleEndian says whether words in memory are as they are in an image.
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
// Safety: as of bytesOf.
func appendWords(dst []byte, words []word) []byte {
	if littleEndian {
		return append(dst, bytesOf(words)...)
	}
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(w))
	}
	return dst
}

// readWords fills words from an image, which has as many.
//
// Safety: as of bytesOf.
func readWords(words []word, image []byte) {
	if littleEndian {
		copy(bytesOf(words), image)
		return
	}
	for i := range words {
		words[i] = word(binary.LittleEndian.Uint64(image[i*wordBytes:]))
	}
}
