package hierarchy

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// An image is a tree as bytes: words of 64 bits, little endian.
//
//	magic · version · counts of what follows · links · the first free record · the current
//	arena
//	sizes of buckets · the first free bucket of each size · bases of the pages
//	the first sector and the length of each arena
//	pages of nodes · records · owners · arenas     the memory, as it is
//	checksum
//
// Records refer to each other by number, never by address, so the memory is copied as it
// is. Only the directory is built again.
const (
	imageMagic   = 0x454552544c4f5441 // "ATOLTREE"
	imageVersion = 4
	imageHead    = 9 // words: magic, version, classes, pages, lists, arenas, links, first free record, current arena
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SaveSize returns how many bytes Save appends.
func (t *tree) SaveSize() int {
	t.finish()
	arenas, words := t.countArenas()
	return (imageHead + len(t.classes) + len(t.free) + t.dir.Pages*(1+pageSize) + len(t.records) + len(t.owners) + 2*arenas + words + 1) * wordBytes
}

// Save appends an image of the tree to dst: its memory copied as it is, and a
// checksum. The same changes in the same order give the same image.
func (t *tree) Save(dst []byte) []byte {
	from := len(dst)
	dst = slices.Grow(dst, t.SaveSize())
	put := func(words ...word) { dst = appendWords(dst, words) }
	put(imageMagic, imageVersion, word(len(t.classes)), word(t.dir.Pages))
	arenas, _ := t.countArenas()
	put(word(len(t.owners)), word(arenas), word(t.links), word(t.freeList), word(t.current))
	for _, size := range t.classes {
		put(word(size))
	}
	for _, at := range t.free {
		put(word(at))
	}
	for first := range t.dir.All {
		put(first >> handle.VersionBits)
	}
	for first, s := range t.eachArena {
		put(word(first), word(len(s.words)))
	}
	for _, p := range t.dir.All {
		dst = appendWords(dst, p[:])
	}
	dst = appendWords(dst, t.records)
	dst = appendWords(dst, t.owners)
	for _, s := range t.eachArena {
		dst = appendWords(dst, s.words)
	}
	put(word(crc32.Checksum(dst[from:], castagnoli)))
	return dst
}

// finish makes the tree ready to be saved.
func (t *tree) finish() {
	t.Settle()
	t.sweepSome(math.MaxInt)
}

// countArenas returns how many arenas there are, and how many words in all buckets.
func (t *tree) countArenas() (n, words int) {
	for _, s := range t.eachArena {
		n, words = n+1, words+len(s.words)
	}
	return n, words
}

// load makes a tree of an image. It returns ErrImage with the reason for bytes that are
// truncated, altered, or not a tree. It checks every link.
func load(image []byte) (*tree, error) {
	t, err := decode(image)
	if err == nil {
		err = t.verify(true)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImage, err)
	}
	return t, nil
}

// become takes over the memory of another tree.
func (t *tree) become(next *tree) {
	next.keep, next.manual, next.most = t.keep, t.manual, t.most
	next.path = t.path
	*t = *next
}

// decode copies an image and finds a tree's parts in the copy. It checks only that the parts are
// present; verify checks their contents.
func decode(image []byte) (*tree, error) {
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
	t := &tree{links: int(head[6]), freeList: uint32(head[7]), classes: make(classes, len(sizes))}
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
	bases, arenas := cut(pages), cut(2*head[5])
	for _, base := range bases {
		first := base << handle.VersionBits
		if base%pageSize != 0 || first>>handle.VersionBits != base || t.dir.At(first) != nil {
			return nil, fmt.Errorf("a page begins at %#x, or two do", uint64(base))
		}
		if p := cut(pageSize); !short {
			t.dir.Put(first, (*page)(p))
		}
	}
	t.split = splitFor(int(lists))
	t.records, t.owners = cut(lists*listWords), cut(lists)
	if head[8] >= sectorsMax {
		return nil, fmt.Errorf("its current arena begins at sector %d", head[8])
	}
	t.arenas = noArenas(sectorWords)
	if n := len(arenas); n > 0 { // at once, for the last one is the highest
		t.growTo(int(min(arenas[n-2], sectorsMax)))
	}
	for next := word(1); len(arenas) > 0; arenas = arenas[2:] {
		first, words := arenas[0], cut(arenas[1])
		n := sectorsOf(len(words))
		if first < next || first >= sectorsMax || n > int(sectorsMax-first) {
			return nil, fmt.Errorf("an arena begins at sector %d, or two do", first)
		}
		next = first + word(n)
		t.growTo(max(int(next), int(first)+1))
		t.setArena(int(first), words)
	}
	t.current = int(head[8])
	t.growTo(t.current + 1)
	if short || len(rest) > 0 {
		return nil, fmt.Errorf("its head tells of more than it has, or of less")
	}
	return t, nil
}

// appendState appends the lists in the order of their owners' handles: owner, flags of
// the list, its length, and the children with the holes. It leaves out lists that exist
// only to keep their capacity.
func (t *tree) appendState(dst []byte) []byte {
	t.Settle()
	for first, p := range t.dir.All {
		for i, w := range p {
			n := node(w)
			if !n.hasList() {
				continue
			}
			l := t.list(t.number(n))
			if kept := l[listState] & (added | fixed); kept != 0 || l.places() > 0 {
				dst = appendWords(dst, []word{handleAt(first, i, n), kept, word(l.places())})
				dst = appendWords(dst, t.items(t.number(n)))
			}
		}
	}
	return dst
}
