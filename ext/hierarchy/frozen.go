package hierarchy

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
)

// changes notes which parts of a tree have changed, and when, so that a copy is updated
// by copying only these. Times are numbers of copies: what has changed since a copy was begun has
// a higher one.
//
// Ownership: as that of the tree.
type changes struct {
	now   uint64     // the number of the next copy
	last  uint64     // when anything changed
	nodes uint64     // when all nodes changed
	lists uint64     // when all records of lists changed
	words uint64     // when all words of buckets changed
	pages [][]uint64 // when a page of nodes changed, by home and number
	runs  []uint64   // when a run of lists changed
	spans []uint64   // when a span of words in buckets changed
}

const (
	runBits  = 6 // lists in a run
	spanBits = 9 // words in a span
)

// since returns when something changed, if that is noted.
func since(times []uint64, i int) uint64 {
	if i < len(times) {
		return times[i]
	}
	return 0
}

// note notes that something changes now.
func (c *changes) note(times *[]uint64, i int) {
	for i >= len(*times) {
		*times = append(*times, 0)
	}
	(*times)[i], c.last = c.now, c.now
}

// touchNode notes that the node of h changes.
func (t *Tree) touchNode(h handle.Handle) {
	if t.changes != nil {
		t.changes.touchNode(h)
	}
}

func (c *changes) touchNode(h handle.Handle) {
	home := int(h >> homeShift)
	for home >= len(c.pages) {
		c.pages = append(c.pages, nil)
	}
	c.note(&c.pages[home], int(h>>pageShift%homePages))
}

// touchList notes that the record or the owner of a list changes.
func (t *Tree) touchList(number uint32) {
	if c := t.changes; c != nil {
		c.note(&c.runs, int(number>>runBits))
	}
}

// touchPlaces notes that a list, and its places from one to before another, change.
func (t *Tree) touchPlaces(number uint32, from, to int) {
	if t.changes != nil {
		t.touchList(number)
		start := t.list(number).start()
		for i := (start + from) >> spanBits; i<<spanBits < start+to; i++ {
			t.changes.note(&t.changes.spans, i)
		}
	}
}

// touchLinks notes that all nodes and records change.
func (t *Tree) touchLinks() {
	if c := t.changes; c != nil {
		c.nodes, c.lists, c.last = c.now, c.now, c.now
	}
}

// touchBuckets notes that all records and buckets change.
func (t *Tree) touchBuckets() {
	if c := t.changes; c != nil {
		c.lists, c.words, c.last = c.now, c.now, c.now
	}
}

// frozen is a copy of a relation. Its tree has only what a Reader reads.
//
// Ownership: as that of drive.Copy.
type frozen struct {
	tree    Tree
	refused []Refusal
	paths   []handle.Handle // of the refusals
	of      *changes        // from which it is updated
	at      uint64          // which copy of the tree it is
	times   changes         // when pages and runs had changed, for Reader.Diff
	runs    drive.Runs[word]
}

// Changed reports whether the relation differs from the newest copy.
func (k adapter) Changed() bool {
	c := k.tree.changes
	return c == nil || c.last == c.now || k.retold
}

// CopySize returns how many bytes a copy takes.
func (k adapter) CopySize() uint64 {
	t := k.tree
	return uint64(t.dir.pages*pageSize+len(t.records)+len(t.owners)+t.held) * wordBytes
}

// Copy begins a copy of the settled relation.
func (k adapter) Copy(old drive.Copy) (drive.Copy, int, int) {
	t := k.tree
	t.Settle()
	if t.changes == nil {
		t.changes = &changes{now: 1}
	}
	c := t.changes
	x, _ := old.(*frozen)
	if x == nil || x.of != c {
		x = &frozen{of: c}
		x.tree.arenas = noArenas(0)
	}
	x.runs.Reset()
	to := &x.tree
	x.copyNodes(&to.dir, &t.dir)
	x.copyWords(&to.records, t.records, c.lists, c.runs, listWords<<runBits)
	x.copyWords(&to.owners, t.owners, c.lists, c.runs, 1<<runBits)
	x.copyArenas(to, t)
	to.split = t.split
	x.times.follow(c)
	x.at = c.now
	c.now++
	clear(x.refused)
	x.refused, x.paths = append(x.refused[:0], k.refused...), x.paths[:0]
	for i := range x.refused {
		if f := &x.refused[i]; f.Path != nil {
			from := len(x.paths)
			x.paths = append(x.paths, f.Path...)
			f.Path = x.paths[from:len(x.paths):len(x.paths)]
		}
	}
	k.retold = false
	parts, words := x.runs.Parts()
	return x, parts, words * wordBytes
}

// follow takes over the times of nodes and lists.
func (c *changes) follow(from *changes) {
	c.nodes, c.lists = from.nodes, from.lists
	c.runs = append(c.runs[:0], from.runs...)
	for home, times := range from.pages {
		if home == len(c.pages) {
			c.pages = append(c.pages, nil)
		}
		c.pages[home] = append(c.pages[home][:0], times...)
	}
}

// copyNodes finds the pages of nodes that must be copied.
func (x *frozen) copyNodes(to, from *directory) {
	to.addHomes(len(from.homes))
	for home, table := range from.homes {
		for i, p := range table {
			if i == len(to.homes[home]) {
				to.homes[home] = append(to.homes[home], &noPage)
			}
			own := &to.homes[home][i]
			switch {
			case p == &noPage:
				continue
			case *own == &noPage:
				*own = new(page)
				to.pages++
			case x.at >= x.of.nodes && x.at >= since(x.of.timesOf(home), i):
				continue
			}
			x.runs.Add((*own)[:], p[:])
		}
	}
}

// timesOf returns when the pages of a home changed.
func (c *changes) timesOf(home int) []uint64 {
	if home < len(c.pages) {
		return c.pages[home]
	}
	return nil
}

// copyArenas finds what must be copied of buckets.
func (x *frozen) copyArenas(to, from *Tree) {
	if len(to.sectors) > len(from.sectors) {
		to.arenas = noArenas(0)
	}
	to.growTo(len(from.sectors))
	for i := 1; i < len(to.sectors); i++ {
		s := &from.sectors[i]
		if own := &to.sectors[i]; int(own.head) == i && (int(s.head) != i || cap(own.words) != cap(s.words)) {
			to.dropArena(i)
		}
	}
	c := x.of
	for first, s := range from.eachArena {
		own, all := &to.sectors[first], c.words
		if own.head == 0 {
			to.setArena(first, make([]word, 0, cap(s.words)))
			all = c.now
		}
		own.words = own.words[:len(s.words)]
		x.copyPieces(own.words, s.words, all, c.spans, 1<<spanBits, first<<sectorBits)
	}
}

// copyWords finds what must be copied of some memory. all is when all of it changed, and times is
// when each piece of a size did.
func (x *frozen) copyWords(to *[]word, from []word, all uint64, times []uint64, size int) {
	if len(from) > cap(*to) {
		*to, all = make([]word, 0, len(from)+len(from)/4), x.of.now
	}
	*to = (*to)[:len(from)]
	x.copyPieces(*to, from, all, times, size, 0)
}

// copyPieces is copyWords for memory of the same length, that begins at so many words.
func (x *frozen) copyPieces(to, from []word, all uint64, times []uint64, size, begin int) {
	if x.at == 0 || x.at < all {
		x.runs.Add(to, from)
		return
	}
	for at := 0; at < len(from); {
		i := (begin + at) / size
		end := min((i+1)*size-begin, len(from))
		if x.at < since(times, i) {
			x.runs.Add(to[at:end], from[at:end])
		}
		at = end
	}
}

// Part does a part of the copying.
func (x *frozen) Part(i int) { x.runs.Part(i) }

// Bytes returns the memory of the copy, without some 8 bytes for each page and run.
func (x *frozen) Bytes() uint64 { return uint64(x.tree.Bytes()) }

// Forget stops noting what changes.
func (k adapter) Forget() { k.tree.changes = nil }
