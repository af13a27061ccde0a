package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// ErrIndexes is returned when a home has no index left to give.
var ErrIndexes = errors.New("world: out of indexes")

// Space is the part of a world that all its shards share: the chunks by number,
// and the directory that takes a handle of any home to its slot; see Lookup.
//
// Ownership: mu guards growth. Any goroutine may look up at any time without a lock.
type Space struct {
	Lookup
	chunks     atomic.Pointer[[]chunkEntry] // by number
	liveness   *Liveness
	now        uint32 // the tick in progress; written by the coordinator between ticks
	indexMax   uint32
	versionMax uint32
	homes      int
	flags      []atomic.Pointer[flagTable] // by home
	Growth     Growth                      // set before anything is stored
	kinds      []kindInfo                  // of requests; grows while the world is idle, read by the refresh
	behind     atomic.Bool                 // some view of a column is not up to date
	spare      atomic.Bool                 // some column has rows to use again
	watch      Watch                       // set while the world is idle
	moves      uint32                      // how often atoms were moved to other shards, by the idle world and by refreshes
	gathered   uint32                      // the value of moves when notes were last gathered
	viewEpoch  int                         // of views of rows, for the check build; see Outdate

	mu struct {
		sync.Mutex
		tables [][]*page // of the directory, by home
		chunks int       // highest chunk number given
		vacant []int     // numbers that were taken back
		bases  []base
		idle   bool   // only the world's own goroutine adds
		memory memory // of rows and slots
	}
}

// NewSpace makes the directory for the given number of homes. The last of them is the port
// allocator; each of the others has its first page. Indexes run from 0 to
// indexMax, versions from 1 to versionMax. It panics if a handle cannot name so many homes,
// or if none is left for the shards.
func NewSpace(homes int, indexMax, versionMax uint32) *Space {
	if homes < 2 || homes > handle.ShardMax+1 {
		panic(fmt.Sprintf("world: %d homes; there are 2 to %d, with the outside one", homes, handle.ShardMax+1))
	}
	if homes > handle.ShardMax && indexMax == handle.IndexMax {
		versionMax = min(versionMax, handle.VersionMax-1) // no end can be behind the highest handle
	}
	s := &Space{Lookup: newLookup(homes), indexMax: indexMax, versionMax: versionMax, Growth: DefaultGrowth, homes: homes, flags: make([]atomic.Pointer[flagTable], homes)}
	s.kinds = []kindInfo{
		destroyKind: {units: 1, size: BareSize, plain: true},
		moveKind:    {units: 1, size: BareSize, plain: true},
	}
	s.mu.memory.growth = &s.Growth
	s.mu.idle = true
	block, entries := make([]page, homes-1), make([]*page, homes-1)
	s.mu.tables = make([][]*page, homes)
	for i := range block {
		entries[i] = &block[i]
		s.mu.tables[i] = entries[i : i+1 : i+1]
		s.enter(uint32(i), s.mu.tables[i], 1)
	}
	dir := s.Lookup // a copy, so that a liveness handle does not keep the space
	s.liveness = &Liveness{ports: uint32(homes - 1)}
	s.liveness.dir.Store(&dir)
	s.chunks.Store(new([]chunkEntry))
	return s
}

// Present is Alive for a refresh: it also returns true for staged atoms.
func (s *Space) Present(h handle.Handle) bool {
	slot := s.slot(h)
	return slot != nil && (slot.load()^uint32(h))&^stagedBit == 0 && h.Version() != 0
}

// LocateStaged is Locate for a refresh: it also finds staged atoms.
func (s *Space) LocateStaged(h handle.Handle) Loc {
	if slot := s.slot(h); slot != nil {
		return slot.locStaged(h)
	}
	return 0
}

// Look returns the state of the slot that h names and its present version. A free slot of the
// port allocator is pending, because a port may have its handle in hand. It returns false if
// h names no slot of this space. Safe from any goroutine.
func (s *Space) Look(h handle.Handle) (version uint32, state State, ok bool) {
	slot := s.slot(h)
	if slot == nil {
		return 0, 0, false
	}
	version, state = tell(slot.load(), h, uint32(s.homes-1))
	return version, state, true
}

// errIndexes returns the error for a home without indexes. retired is how many slots are
// known to be lost because their versions are used up.
func (s *Space) errIndexes(home, retired int) error {
	if retired > 0 {
		return fmt.Errorf("%w: home %d has given all of IndexMax = %d, and %d are retired after VersionMax = %d uses",
			ErrIndexes, home, s.indexMax, retired, s.versionMax)
	}
	return fmt.Errorf("%w: home %d has given all of IndexMax = %d", ErrIndexes, home, s.indexMax)
}

// stampAll makes the chunk's columns stamp the chunk's own words, and stamps them now.
func (c *Chunk) stampAll(now uint32) {
	for i, col := range c.table.columns {
		c.written[i] = now
		col.stampBy(c.number(), &c.written[i])
	}
}

// SetTick sets the number of the tick in progress, for stamps. Called
// by the coordinator between ticks.
func (s *Space) SetTick(tick uint64) { s.now = uint32(tick) }

// SetIdle sets whether the world is idle. If it is, its views see new chunks at once. Called
// by the coordinator while no other goroutine adds chunks.
func (s *Space) SetIdle(idle bool) {
	s.mu.Lock()
	s.mu.idle = idle
	s.mu.Unlock()
}

// Sync brings the views of the columns up to date. No shard may be running.
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
}

// chunk returns the chunk that l is in.
func (s *Space) chunk(l Loc) *Chunk { return (*s.chunks.Load())[l>>RowBits].chunk }

// chunkEntry is a chunk in the list of all, and the number of the shard that owns it. So
// finding an owner does not touch the chunk, its table and the shard.
//
// Invariants: a chunk stays with its shard.
type chunkEntry struct {
	chunk *Chunk
	owner int
}

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
		next := make([]chunkEntry, max(16, 2*len(have)))
		copy(next, have)
		s.chunks.Store(&next) // the old one stays valid for its readers
	}
	(*s.chunks.Load())[n] = chunkEntry{c, c.table.shard.id}
	return nil
}
