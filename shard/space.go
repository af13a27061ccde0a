package shard

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// ErrIndexes is returned when a home has no index left to give.
var ErrIndexes = errors.New("shard: out of indexes")

const (
	pageBits = 10
	pageSize = 1 << pageBits
	// pageShift takes a handle to its page: shard and upper index bits.
	pageShift = handle.VersionBits + pageBits
	// keyPageBits is the width of the page number within that.
	keyPageBits = handle.IndexBits - pageBits
	// blockPagesMax caps the pages that are allocated at one time.
	blockPagesMax = 64
)

// Space is the part of a world that all its shards share: the chunks by number,
// and the directory that takes a handle to its slot in one step, whichever home
// it has.
//
//	handle ──hash of (shard, page)──▶ pageRef ──▶ page of 1024 slots
//
// The hash is perfect by construction: the page number above the shard number,
// each in as many bits as the world has needed so far. Each entry carries the
// first slot it covers, so one comparison refuses every handle that was not
// made here, whatever its bits.
//
// Invariants: pages never move and are never freed. A published directory is
// immutable; growth replaces it.
//
// Ownership: mu guards growth. Anyone may look up at any time without a lock.
type Space struct {
	dir        atomic.Pointer[directory]
	chunks     atomic.Pointer[[]*Chunk] // by number
	indexMax   uint32
	versionMax uint32
	homes      int

	mu struct {
		sync.Mutex
		pages  []int  // pages per home
		chunks uint32 // highest chunk number given
	}
}

type pageRef struct {
	base handle.Handle // shard and index of the first slot, as in a handle without version
	page *[pageSize]Slot
}

type directory struct {
	refs []pageRef
	mul  handle.Handle
	mask handle.Handle
}

// noBase is the base of an entry without a page: further than a page away from
// every handle.
const noBase = 1 << 63

// NewSpace makes the directory for the given number of homes. Indexes run from
// 0 to indexMax, versions from 1 to versionMax.
func NewSpace(homes int, indexMax, versionMax uint32) *Space {
	s := &Space{indexMax: indexMax, versionMax: versionMax, homes: homes}
	s.mu.pages = make([]int, homes)
	s.dir.Store(newDirectory(homes, 1))
	s.chunks.Store(new([]*Chunk))
	return s
}

func newDirectory(homes, pages int) *directory {
	homeBits := bits.Len(uint(homes - 1))
	d := &directory{
		refs: make([]pageRef, 1<<(homeBits+bits.Len(uint(pages-1)))),
		mul:  1<<(homeBits+keyPageBits) + 1,
	}
	d.mask = handle.Handle(len(d.refs) - 1)
	for i := range d.refs {
		d.refs[i].base = noBase
	}
	return d
}

func (d *directory) ref(h handle.Handle) *pageRef {
	return &d.refs[h>>pageShift*d.mul>>keyPageBits&d.mask]
}

// Locate returns where the atom of h is, or 0 if h is not alive. It may be
// called by whoever may read the atom: from within a tick or on an idle world.
// It is small enough to be inlined.
func (s *Space) Locate(h handle.Handle) Loc {
	d := s.dir.Load()
	e := &d.refs[h>>pageShift*d.mul>>keyPageBits&d.mask]
	if i := h>>handle.VersionBits - e.base; i < pageSize {
		if s := &e.page[i]; s.gen.Load() == uint32(h) {
			return s.loc
		}
	}
	return 0
}

// slot returns the slot that h names, or nil if there is none. The version is
// not looked at.
func (s *Space) slot(h handle.Handle) *Slot {
	e := s.dir.Load().ref(h)
	if i := h>>handle.VersionBits - e.base; i < pageSize {
		return &e.page[i]
	}
	return nil
}

// Alive reports whether h is alive. Safe from any goroutine at any time; it
// never blocks and never writes. It is small enough to be inlined.
func (s *Space) Alive(h handle.Handle) bool {
	d := s.dir.Load()
	e := &d.refs[h>>pageShift*d.mul>>keyPageBits&d.mask]
	if i := h>>handle.VersionBits - e.base; i < pageSize {
		g := e.page[i].gen.Load()
		return g == uint32(h) && g != 0 // 0: never used, and h has version 0
	}
	return false
}

// Look returns the state of the slot that h names and its present version. It
// returns false if h names no slot of this space. Safe from any goroutine.
func (s *Space) Look(h handle.Handle) (version uint32, state State, ok bool) {
	slot := s.slot(h)
	if slot == nil {
		return 0, 0, false
	}
	version, state = unpack(slot.gen.Load(), h)
	return version, state, true
}

// grow adds the next block of pages to a home and returns them.
func (s *Space) grow(home int) ([]*[pageSize]Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.mu.pages[home]
	limit := int(s.indexMax)>>pageBits + 1
	if have >= limit {
		return nil, s.errIndexes(home)
	}
	n := min(max(1, have/2), blockPagesMax, limit-have)
	block := make([][pageSize]Slot, n)
	s.mu.pages[home] = have + n

	most := 1
	for _, p := range s.mu.pages {
		most = max(most, p)
	}
	old, next := s.dir.Load(), newDirectory(s.homes, most)
	for _, r := range old.refs {
		if r.page != nil {
			*next.ref(r.base << handle.VersionBits) = r
		}
	}
	fresh := make([]*[pageSize]Slot, n)
	for i := range block {
		fresh[i] = &block[i]
		base := compose(uint32(home), uint32(have+i)<<pageBits, 0)
		*next.ref(base) = pageRef{base: base >> handle.VersionBits, page: fresh[i]}
	}
	s.dir.Store(next) // publishes the new pages; the old directory stays valid for its readers
	return fresh, nil
}

func (s *Space) errIndexes(home int) error {
	return fmt.Errorf("%w: home %d has given all of IndexMax = %d", ErrIndexes, home, s.indexMax)
}

// chunk returns the chunk that l is in.
func (s *Space) chunk(l Loc) *Chunk { return (*s.chunks.Load())[l>>RowBits] }

// add numbers a chunk and gives it its rows in the columns.
func (s *Space) add(c *Chunk, columns []AnyColumn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.chunks == ChunksMax {
		return fmt.Errorf("%w: the world has %d", ErrChunks, s.mu.chunks)
	}
	s.mu.chunks++
	n := s.mu.chunks
	c.base = Loc(n) << RowBits
	for _, col := range columns {
		col.add(n, uint32(c.table.shard.id), len(c.handles))
	}
	d := *s.chunks.Load()
	if int(n) >= len(d) {
		next := make([]*Chunk, max(16, 2*len(d)))
		copy(next, d)
		d = next
	}
	d[n] = c
	s.chunks.Store(&d)
	return nil
}
