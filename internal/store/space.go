package store

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Space is the part of a world that all its shards share: the chunks by number,
// and the directory of slots.
//
// Ownership: mu guards growth. Any goroutine may look up at any time without a lock.
type Space struct {
	slots.Directory
	Memory    mem.Memory                   // of rows and slots
	Columns   []*Column                    // by component; grows while the world is idle
	noRuns    []Run                        // for columns without rows; replaced under the lock
	chunks    atomic.Pointer[[]chunkEntry] // by number
	now       uint32                       // the tick in progress; written by the coordinator between ticks
	Growth    Growth                       // set before anything is stored
	Registry  *queue.Registry              // of requests
	handlers  []Handler                    // by kind; grows while the world is idle, read by the refresh
	runners   []Runner                     // likewise; nil for kinds that are always applied one by one
	spare     atomic.Bool                  // some column has rows for later use
	watch     Watch                        // set while the world is idle
	moves     uint32                       // how often atoms were moved to other shards, by the idle world and by refreshes
	gathered  uint32                       // the value of moves when notes were last gathered
	writes    []writes                     // by owner of views; see View.note
	reveals   atomic.Uint64                // how often Reveal was called, and 1; written by the coordinator
	viewEpoch int                          // of views of rows, for the check build; see Outdate

	mu struct {
		sync.Mutex
		chunks  int   // highest chunk number given
		vacant  []int // numbers that were taken back
		bases   []mem.Address
		dropped []*kept // copies for frames of chunks that were removed or got other columns
	}
}

// NewSpace makes a space; see Directory.Init.
func NewSpace(homes int, indexMax, versionMax, versionsEach uint32) *Space {
	s := &Space{Growth: DefaultGrowth}
	s.reveals.Store(1) // no chunk has hidden rows
	s.Directory.Init(homes, indexMax, versionMax, versionsEach, &s.Memory)
	s.writes = make([]writes, homes)
	s.Registry = queue.NewRegistry(s.Lookup)
	s.handlers = make([]Handler, s.Registry.Len())
	s.runners = make([]Runner, s.Registry.Len())
	s.runners[queue.DestroyKind] = destroyer{}
	s.chunks.Store(new(make([]chunkEntry, firstChunks)))
	s.noRuns = newRuns(firstChunks)
	return s
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
func (s *Space) SetTick(tick uint64) {
	s.now = uint32(tick)
	all := s.writes
	for i := range all {
		if w := &all[i]; len(w.all) > 0 {
			w.forget(i + 1)
		}
	}
}

// chunk returns the chunk that l is in.
func (s *Space) chunk(l slots.Loc) *Chunk { return (*s.chunks.Load())[l>>slots.RowBits].chunk }

// chunkEntry is a chunk in the list of all, and the number of the shard that owns it. So finding an
// owner touches neither the chunk nor its table nor the shard.
//
// Invariants: a chunk never changes its shard.
type chunkEntry struct {
	chunk *Chunk
	owner int
}

// firstChunks is the length of the first list of chunks. Each list has a power of two as length;
// see At.
const firstChunks = 16

// lengthen makes the lists of chunks long enough for number n.
func (s *Space) lengthen(n int) {
	next := make([]chunkEntry, 1<<bits.Len(uint(n)))
	copy(next, *s.chunks.Load())
	s.chunks.Store(&next) // readers may still use the old one
	s.noRuns = newRuns(len(next))
	for _, col := range s.Columns {
		col.stretch(s.noRuns)
	}
}

// HasChunks reports whether there are certainly n numbers left for chunks: those that even the list
// of all chunks has no place for. It is small enough to be inlined. In a world that is far from full
// it spares the caller counting how many it needs: no more than it has rows to store.
func (s *Space) HasChunks(n int) bool { return n <= slots.ChunksMax-len(*s.chunks.Load()) }

// CheckChunks returns ErrChunks if there are fewer than n numbers left for chunks.
func (s *Space) CheckChunks(n int) error {
	if s.HasChunks(n) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > len(s.mu.vacant)+slots.ChunksMax-s.mu.chunks {
		return s.errChunks()
	}
	return nil
}

func (s *Space) errChunks() error {
	return fmt.Errorf("%w: the world has %d; with a higher ChunkRowsMax each holds more", ErrChunks, s.mu.chunks)
}

// add numbers a chunk and gives it its rows, here and in the columns of its table; see
// Column.add.
func (s *Space) add(c *Chunk, rows, before int, plan stripPlan) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.mu.chunks + 1
	if last := len(s.mu.vacant) - 1; last >= 0 {
		n, s.mu.vacant = s.mu.vacant[last], s.mu.vacant[:last]
	} else if n > slots.ChunksMax {
		return s.errChunks()
	}
	s.mu.chunks = max(s.mu.chunks, n)
	if n >= len(*s.chunks.Load()) {
		s.lengthen(n)
	}
	c.base = slots.Loc(n) << slots.RowBits
	c.handles = mem.Slice[handle.Handle](s.Memory.Reserve(handleType, rows), rows)[:0]
	for _, col := range c.table.columns {
		c.bases = append(c.bases, col.add(n, c.table.shard.id, rows, before, plan))
	}
	c.stampAll(s.now)
	(*s.chunks.Load())[n] = chunkEntry{c, c.table.shard.id}
	return nil
}
