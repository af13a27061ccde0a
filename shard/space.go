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
	// pageNumberBits is the width of the page number in an index.
	pageNumberBits = handle.IndexBits - pageBits
)

// Space is the part of a world that all its shards share: the chunks by number,
// and the directory that takes a handle to its slot in one step, whichever home
// it has.
//
//	handle ──low bits of the page number──▶ pageRef ──▶ page of 1024 slots
//
// The homes of a world use the page numbers in an interleaved order (see index),
// so that the low bits alone tell all of its pages apart. Each entry carries the
// first slot it covers, so one comparison refuses every handle that was not made
// here, whatever its bits.
//
// Invariants: pages never move and are never freed. A published directory is
// immutable; growth replaces it.
//
// Ownership: mu guards growth. Anyone may look up at any time without a lock.
type Space struct {
	dir        atomic.Pointer[directory]
	chunks     atomic.Pointer[[]*Chunk]      // by number
	anchor     *Anchor                       // has dir, too
	flags      atomic.Pointer[flagDirectory] // nil until some entity has one
	now        uint32                        // the tick in progress; written by the coordinator between ticks
	indexMax   uint32
	versionMax uint32
	homes      int
	homeBits   int
	Growth     Growth            // set before anything is stored
	lookups    [][]*Lookup       // mirrors of dir, by shard, the last the idle world's
	kinds      []kindInfo        // of requests; grows while the world is idle, read by the refresh
	first      []*[pageSize]Slot // the first page of each shard
	behind     atomic.Bool       // some mirror is
	watch      Watch             // set while the world is idle
	moves      uint32            // how often atoms were moved to other shards, by the idle world and by refreshes
	gathered   uint32            // that number when notes were gathered
	era        int               // of views of rows, for the check build; see Outdate

	mu struct {
		sync.Mutex
		pages   []int // pages per home
		chunks  int   // highest chunk number given
		vacant  []int // numbers that were taken back
		changed bool  // some lookup is behind dir
		bases   []base
		idle    bool   // the world's own goroutine is the only one to add
		memory  memory // of rows and slots
	}
}

type pageRef struct {
	base handle.Handle // shard and index of the first slot, as in a handle without version
	page *[pageSize]Slot
}

type directory struct {
	refs []pageRef
	mask handle.Handle // length of refs, a power of two, less one
}

// noBase is the base of an entry without a page: further than a page away from
// every handle.
const noBase = 1 << 63

// NewSpace makes the directory for the given number of homes, the last of which
// is the outside one; each of the others has its first page. Indexes run from 0 to
// indexMax, versions from 1 to versionMax.
func NewSpace(homes int, indexMax, versionMax uint32) *Space {
	s := &Space{indexMax: indexMax, versionMax: versionMax, Growth: DefaultGrowth, homes: homes, homeBits: bits.Len(uint(homes - 1))}
	s.kinds = []kindInfo{
		destroyKind: {units: 1, weight: BareWeight, plain: true},
		moveKind:    {units: 1, weight: BareWeight, plain: true},
	}
	s.mu.memory.growth = &s.Growth
	s.mu.pages = make([]int, homes)
	s.mu.idle = true
	d, block := s.newDirectory(1), make([][pageSize]Slot, homes-1)
	s.first = make([]*[pageSize]Slot, homes-1)
	for i := range s.first {
		s.mu.pages[i], s.first[i] = 1, &block[i]
		s.put(d, i, 0, s.first[i])
	}
	s.anchor = &Anchor{outside: uint32(homes - 1)}
	s.publish(d)
	s.chunks.Store(new([]*Chunk))
	s.lookups = make([][]*Lookup, homes)
	return s
}

// publish makes a directory, and what is new in it, the one that is looked up in.
// An old one stays valid for its readers.
func (s *Space) publish(d *directory) {
	s.dir.Store(d)
	s.anchor.follow(d)
}

// newDirectory makes an empty directory for homes of up to so many pages. While
// a page number shifted by the home bits fits in its field, those low bits are
// unique. Beyond, what is rotated out at the top of the field changes its low bits,
// by less than 2 to the number of bits rotated out; as many of the shard's low bits,
// which lie above the field and are taken in as well, tell the homes apart that
// this could confuse.
func (s *Space) newDirectory(pages int) *directory {
	width := s.homeBits + bits.Len(uint(pages-1))
	d := &directory{refs: make([]pageRef, 1<<width), mask: 1<<width - 1}
	for i := range d.refs {
		d.refs[i].base = noBase
	}
	return d
}

// index spreads the n-th slot of a home over the index space: the page number
// is rotated left by the home bits, and the home is put in the low bits. Homes
// thus use disjoint low bits for as long as those last, and every home still
// has every index.
func (s *Space) index(home, n uint32) uint32 {
	page := n >> pageBits
	page = page<<s.homeBits&(1<<pageNumberBits-1) | page>>(pageNumberBits-s.homeBits)
	return (page^home)<<pageBits | n%pageSize
}

func (d *directory) ref(h handle.Handle) *pageRef { return &d.refs[h>>pageShift&d.mask] }

// Locate returns where the atom of h is, or 0 if h is not alive. Unlike a Lookup
// it is up to date for whoever may know h.
func (s *Space) Locate(h handle.Handle) Loc {
	if slot := s.slot(h); slot != nil && slot.load() == uint32(h) {
		return slot.loc
	}
	return 0
}

// Present is Alive for a refresh: it reports true of the veiled, too.
func (s *Space) Present(h handle.Handle) bool {
	slot := s.slot(h)
	return slot != nil && (slot.load()^uint32(h))&^veil == 0 && h.Version() != 0
}

// LocateVeiled is Locate for a refresh: it finds the veiled, too.
func (s *Space) LocateVeiled(h handle.Handle) Loc {
	if s.Present(h) {
		return s.slot(h).loc
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
	e := &d.refs[h>>pageShift&d.mask]
	if i := h>>handle.VersionBits - e.base; i < pageSize {
		g := e.page[i].load()
		return g == uint32(h) && g != 0 // 0: never used, and h has version 0
	}
	return false
}

// Look returns the state of the slot that h names and its present version. What is
// free outside is pending, for a port may have it in hand. It returns false if h names no
// slot of this space. Safe from any goroutine.
func (s *Space) Look(h handle.Handle) (version uint32, state State, ok bool) {
	slot := s.slot(h)
	if slot == nil {
		return 0, 0, false
	}
	version, state = tell(slot.load(), h, uint32(s.homes-1))
	return version, state, true
}

// grow adds the next block of pages to a home and returns them, unless the home
// has the given page by now: several goroutines may find at once that it lacks.
func (s *Space) grow(home, page int) ([]*[pageSize]Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.mu.pages[home]
	if have > page {
		return nil, nil
	}
	limit := int(s.indexMax)>>pageBits + 1
	if have >= limit {
		return nil, s.errIndexes(home, 0)
	}
	n := min(max(1, have/2), s.Growth.SlotsAtOnce/pageSize, limit-have)
	block := take[[pageSize]Slot](&s.mu.memory, n)
	s.mu.pages[home] = have + n

	most := 1
	for _, p := range s.mu.pages {
		most = max(most, p)
	}
	old, next := s.dir.Load(), s.newDirectory(most)
	for _, r := range old.refs {
		if r.page != nil {
			*next.ref(r.base << handle.VersionBits) = r
		}
	}
	fresh := make([]*[pageSize]Slot, n)
	for i := range block {
		fresh[i] = &block[i]
		s.put(next, home, have+i, fresh[i])
	}
	s.publish(next)
	s.mu.changed = true
	s.behind.Store(true)
	if home < s.homes-1 { // the caller owns the shard
		s.show(home)
		if s.mu.idle {
			s.show(s.homes - 1)
		}
	}
	return fresh, nil
}

// put enters a home's page in a directory.
func (s *Space) put(d *directory, home, page int, p *[pageSize]Slot) {
	base := compose(uint32(home), s.index(uint32(home), uint32(page)<<pageBits), 0)
	*d.ref(base) = pageRef{base: base >> handle.VersionBits, page: p}
}

// errIndexes says which limit was met. retired is how many slots are known to be
// lost to the other one.
func (s *Space) errIndexes(home, retired int) error {
	if retired > 0 {
		return fmt.Errorf("%w: home %d has given all of IndexMax = %d, and %d are retired after VersionMax = %d uses",
			ErrIndexes, home, s.indexMax, retired, s.versionMax)
	}
	return fmt.Errorf("%w: home %d has given all of IndexMax = %d", ErrIndexes, home, s.indexMax)
}

// stampAll makes the chunk's own words those that its columns stamp, and stamps
// them.
func (c *Chunk) stampAll(now uint32) {
	for i, col := range c.table.columns {
		c.written[i] = now
		col.stampBy(c.number(), &c.written[i])
	}
}

// SetTick says which tick is in progress, as far as stamps are concerned. Called
// by the coordinator between ticks.
func (s *Space) SetTick(tick uint64) { s.now = uint32(tick) }

// SetIdle says whether the world is idle, so that what is added is seen by the
// idle world at once. Called by the coordinator when no one else adds.
func (s *Space) SetIdle(idle bool) {
	s.mu.Lock()
	s.mu.idle = idle
	s.mu.Unlock()
}

// Attach makes l a look-up of a shard, or with the number of shards of the idle
// world. It must stay where it is.
func (s *Space) Attach(l *Lookup, owner int) {
	s.lookups[owner] = append(s.lookups[owner], l)
	s.show(owner)
}

// show brings an owner's look-ups up to date.
func (s *Space) show(owner int) {
	for _, l := range s.lookups[owner] {
		*l = s.dir.Load().lookup()
	}
}

// Sync brings all look-ups, and the views of the columns, up to date. No shard
// may be running.
func (s *Space) Sync(columns []AnyColumn) {
	if s.behind.Load() {
		s.catchUp(columns)
	}
}

func (s *Space) catchUp(columns []AnyColumn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind.Store(false)
	for _, c := range columns {
		c.sync()
	}
	if s.mu.changed {
		s.mu.changed = false
		for owner := range s.lookups {
			s.show(owner)
		}
	}
}

// chunk returns the chunk that l is in.
func (s *Space) chunk(l Loc) *Chunk { return (*s.chunks.Load())[l>>RowBits] }

// add numbers a chunk and gives it its rows, here and in the columns of its table.
func (s *Space) add(c *Chunk, rows int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.mu.chunks + 1
	if last := len(s.mu.vacant) - 1; last >= 0 {
		n, s.mu.vacant = s.mu.vacant[last], s.mu.vacant[:last]
	} else if n > ChunksMax {
		return fmt.Errorf("%w: the world has %d; with a higher ChunkRowsMax each holds more", ErrChunks, s.mu.chunks)
	}
	s.mu.chunks = max(s.mu.chunks, n)
	c.base = Loc(n) << RowBits
	c.handles = take[handle.Handle](&s.mu.memory, rows)
	for _, col := range c.table.columns {
		c.bases = append(c.bases, col.add(n, c.table.shard.id, rows, s.mu.idle))
	}
	s.behind.Store(true)
	c.stampAll(s.now)
	if have := *s.chunks.Load(); n >= len(have) {
		next := make([]*Chunk, max(16, 2*len(have)))
		copy(next, have)
		s.chunks.Store(&next) // the old one stays valid for its readers
	}
	(*s.chunks.Load())[n] = c
	return nil
}
