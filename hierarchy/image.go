package hierarchy

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// An image is a tree as bytes: words of 64 bits, little endian.
//
//	magic · version · counts of what follows · links · the first free record
//	sizes of buckets · the first free bucket of each size · bases of the pages
//	pages of nodes · records · owners · buckets     the memory, as it is
//	checksum
//
// Records refer to each other by number, never by address, so the memory is copied as it
// is. Only the directory is built again.
const (
	imageMagic   = 0x454552544c4f5441 // "ATOLTREE"
	imageVersion = 3
	imageHead    = 8 // words: magic, version, classes, pages, lists, words, links, first free record
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SaveSize returns how many bytes Save appends.
func (t *Tree) SaveSize() int {
	t.Settle()
	return (imageHead + len(t.classes) + len(t.free) + t.dir.pages*(1+pageSize) + len(t.records) + len(t.owners) + len(t.words) + 1) * wordBytes
}

// Save appends an image of the tree to dst: its memory copied as it is, and a
// checksum. The same changes in the same order give the same image.
func (t *Tree) Save(dst []byte) []byte {
	from := len(dst)
	dst = slices.Grow(dst, t.SaveSize())
	put := func(words ...word) { dst = appendWords(dst, words) }
	put(imageMagic, imageVersion, word(len(t.classes)), word(t.dir.pages))
	put(word(len(t.owners)), word(len(t.words)), word(t.links), word(t.freeList))
	for _, size := range t.classes {
		put(word(size))
	}
	for _, at := range t.free {
		put(word(at))
	}
	for first := range t.dir.each {
		put(first >> handle.VersionBits)
	}
	for _, p := range t.dir.each {
		dst = appendWords(dst, p[:])
	}
	dst = appendWords(dst, t.records)
	dst = appendWords(dst, t.owners)
	dst = appendWords(dst, t.words)
	put(word(crc32.Checksum(dst[from:], castagnoli)))
	return dst
}

// Load makes a tree of an image. It returns ErrImage with the reason for bytes that are
// truncated, altered, or not a tree. It checks every link.
func Load(image []byte, o TreeOptions) (*Tree, error) {
	t := NewTree(TreeOptions{KeepCapacity: o.KeepCapacity})
	t.manual = o.ManualGrowth
	if err := t.Load(image); err != nil {
		return nil, err
	}
	return t, nil
}

// Load replaces the contents of the tree, and the sizes of its buckets, by an image. On
// an error, as those of the function Load, the tree is unchanged.
func (t *Tree) Load(image []byte) error {
	next, err := decode(image)
	if err == nil {
		err = next.verify()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImage, err)
	}
	t.become(next)
	return nil
}

// become takes over the memory of another tree.
func (t *Tree) become(next *Tree) {
	next.keep, next.manual = t.keep, t.manual
	next.reader, next.path = t.reader, t.path
	*t = *next
}

// decode copies an image and finds a tree's parts in the copy. It checks only that the parts are
// present; verify checks their contents.
func decode(image []byte) (*Tree, error) {
	n := len(image) - wordBytes
	if n < imageHead*wordBytes || n%wordBytes != 0 {
		return nil, fmt.Errorf("it has %d bytes", len(image))
	}
	if sum := binary.LittleEndian.Uint64(image[n:]); sum != uint64(crc32.Checksum(image[:n], castagnoli)) {
		return nil, fmt.Errorf("the checksum does not match")
	}
	rest := make([]word, n/wordBytes)
	readWords(rest, image)
	short := false
	cut := func(n word) []word {
		if n > word(len(rest)) {
			n, short = 0, true
		}
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	head := cut(imageHead)
	if head[0] != imageMagic || head[1] != imageVersion {
		return nil, fmt.Errorf("it is not one of version %d", imageVersion)
	}
	pages, lists := head[3], head[4]
	sizes := cut(head[2])
	t := &Tree{links: int(head[6]), freeList: uint32(head[7]), classes: make(classes, len(sizes))}
	for i, size := range sizes {
		t.classes[i] = int(size)
	}
	if !t.classes.ascending() || lists-1 > ParentsMax {
		return nil, fmt.Errorf("its sizes of buckets are not ascending, or it has %d lists", lists)
	}
	t.free = make([]uint32, t.classes.count())
	for i, at := range cut(word(len(t.free))) {
		t.free[i] = uint32(at)
	}
	for _, base := range cut(pages) {
		first := base << handle.VersionBits
		if base%pageSize != 0 || first>>handle.VersionBits != base || t.dir.place(first) != nil {
			return nil, fmt.Errorf("a page begins at %#x, or two do", uint64(base))
		}
		if p := cut(pageSize); !short {
			t.dir.add(first, (*page)(p))
		}
	}
	t.split = splitFor(int(lists))
	t.records, t.owners, t.words = cut(lists*listWords), cut(lists), cut(head[5])
	if short || len(rest) > 0 {
		return nil, fmt.Errorf("its head tells of more than it has, or of less")
	}
	return t, nil
}
