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
//	magic · version · counts · sizes of buckets · per arena: lengths, free buckets
//	homes of the pages of records, bases of those of nodes  what the directories hold
//	pages of nodes · pages of records · owners · arenas     the memory, as it is
//	checksum
//
// What is in memory says where by number, never by address, so it is copied as it
// is; only the directories are made anew.
const (
	imageMagic   = 0x454552544c4f5441 // "ATOLTREE"
	imageVersion = 2
	imageCounts  = 7 // words: magic, version, classes, arenas, pages, record pages, links
	arenaHead    = 3 // words: length, idle, first free record
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// headWords is the number of words before the memory.
func (t *Tree) headWords() int {
	return imageCounts + len(t.classes) + len(t.arenas)*(arenaHead+t.classes.count()) + len(t.lists) + t.dir.pages
}

// SaveSize returns how many bytes Save appends.
func (t *Tree) SaveSize() int {
	t.Settle()
	n := t.headWords() + t.dir.pages*pageSize + len(t.lists)*(listPageWords+listPageSize) + 1
	for i := range t.arenas {
		n += len(t.arenas[i].words)
	}
	return n * wordBytes
}

// Save appends an image of the tree to dst: its memory copied as it is, and a
// checksum. The same changes in the same order give the same image.
func (t *Tree) Save(dst []byte) []byte {
	from := len(dst)
	dst = slices.Grow(dst, t.SaveSize())
	put := func(words ...word) { dst = appendWords(dst, words) }
	put(imageMagic, imageVersion, word(len(t.classes)), word(len(t.arenas)), word(t.dir.pages), word(len(t.lists)), word(t.links))
	for _, size := range t.classes {
		put(word(size))
	}
	for i := range t.arenas {
		a := t.arenas[i]
		put(word(len(a.words)), word(a.idle), word(a.freeList))
		for _, at := range a.free {
			put(word(at))
		}
	}
	for _, ref := range t.lists {
		put(word(ref.arena.home))
	}
	for first := range t.dir.each {
		put(first >> handle.VersionBits)
	}
	for _, p := range t.dir.each {
		dst = appendWords(dst, p[:])
	}
	for _, ref := range t.lists {
		dst = appendWords(dst, ref.page[:])
	}
	dst = appendWords(dst, t.owners[:len(t.lists)*listPageSize])
	for i := range t.arenas {
		dst = appendWords(dst, t.arenas[i].words)
	}
	put(word(crc32.Checksum(dst[from:], castagnoli)))
	return dst
}

// Load makes a tree of an image. It returns ErrImage, and says why, for one that is
// truncated or altered, or that is not a tree: every link is looked at.
func Load(image []byte, o TreeOptions) (*Tree, error) {
	t := NewTree(TreeOptions{KeepCapacity: o.KeepCapacity})
	t.manual = o.ManualGrowth
	if err := t.Load(image); err != nil {
		return nil, err
	}
	return t, nil
}

// Load replaces what is in the tree, and the sizes of its buckets, by an image. On
// an error, as of the function Load, the tree is as it was.
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

// words reads an image word by word.
type words struct {
	rest  []byte
	short bool
}

func (w *words) next() word {
	if len(w.rest) < wordBytes {
		w.short = true
		return 0
	}
	v := binary.LittleEndian.Uint64(w.rest)
	w.rest = w.rest[wordBytes:]
	return word(v)
}

// count reads a number of things that take words of their own in the image, so
// that no more can be claimed than there can be.
func (w *words) count() int {
	n := w.next()
	if n > word(len(w.rest)/wordBytes) {
		w.short = true
		return 0
	}
	return int(n)
}

// decode reads an image's head and copies its memory. What it says is not
// checked.
func decode(image []byte) (*Tree, error) {
	n := len(image) - wordBytes
	if n < imageCounts*wordBytes || n%wordBytes != 0 {
		return nil, fmt.Errorf("it has %d bytes", len(image))
	}
	if sum := binary.LittleEndian.Uint64(image[n:]); sum != uint64(crc32.Checksum(image[:n], castagnoli)) {
		return nil, fmt.Errorf("the checksum does not match")
	}
	w := &words{rest: image[:n]}
	if w.next() != imageMagic || w.next() != imageVersion {
		return nil, fmt.Errorf("it is not one of version %d", imageVersion)
	}
	t := &Tree{classes: make(classes, w.count())}
	arenas, pages, lists, links := w.count(), w.count(), w.count(), w.count()
	for i := range t.classes {
		t.classes[i] = int(w.next())
	}
	if !t.classes.ascending() || arenas > handle.ShardMax+1 {
		return nil, fmt.Errorf("its sizes of buckets are not ascending, or it has %d arenas", arenas)
	}
	t.links = links
	sizes := t.decodeArenas(w, arenas)
	t.lists, t.split = make([]listRef, lists), splitFor(lists)
	for i := range t.lists {
		home := w.next()
		if home >= word(len(t.arenas)) {
			return nil, fmt.Errorf("page %d of lists is of home %d", i, home)
		}
		t.lists[i].arena = t.arenas[home]
	}
	bases := make([]word, pages)
	for i := range bases {
		bases[i] = w.next()
	}
	if w.short {
		return nil, fmt.Errorf("it ends within its head")
	}
	return t, t.decodeMemory(w.rest, bases, sizes)
}

// decodeArenas reads the heads of the arenas and returns how many words each has.
func (t *Tree) decodeArenas(w *words, n int) (sizes []int) {
	t.addArenas(n)
	for i := range t.arenas {
		a := t.arenas[i]
		sizes = append(sizes, w.count())
		a.idle, a.freeList = int(w.next()), uint32(w.next())
		for class := range a.free {
			a.free[class] = uint32(w.next())
		}
		if w.short {
			return nil
		}
	}
	return sizes
}

// decodeMemory copies the memory and makes the directories.
func (t *Tree) decodeMemory(image []byte, bases []word, sizes []int) error {
	total := uint64(len(bases))*pageSize + uint64(len(t.lists))*(listPageWords+listPageSize)
	for _, n := range sizes {
		total += uint64(n)
	}
	if total != uint64(len(image)/wordBytes) {
		return fmt.Errorf("its head tells of %d words, but %d follow", total, len(image)/wordBytes)
	}
	block := make([]word, total)
	readWords(block, image)
	cut := func(n int) []word {
		part := block[:n:n]
		block = block[n:]
		return part
	}
	for _, base := range bases {
		first := base << handle.VersionBits
		if base%pageSize != 0 || first>>handle.VersionBits != base || t.dir.place(first) != nil {
			return fmt.Errorf("a page begins at %#x, or two do", uint64(base))
		}
		t.dir.add(first, (*page)(cut(pageSize)))
	}
	for i := range t.lists {
		t.lists[i].page = (*listPage)(cut(listPageWords))
	}
	t.owners = make([]handle.Handle, 1)
	if n := len(t.lists); n > 0 {
		t.owners = cut(n * listPageSize)
	}
	for i := range t.arenas {
		t.arenas[i].words = cut(sizes[i])
	}
	t.show()
	return nil
}
