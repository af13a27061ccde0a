package store

import (
	"errors"
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
	Refuse    func()                       // called before the idle world, or a global system, hands out rows for writing; or nil. Set while the world is idle
	reveals   atomic.Uint64                // how often Reveal was called, and 1; written by the coordinator
	viewEpoch int                          // of views of rows, for the check build; see Outdate

	mu struct {
		sync.Mutex
		chunks  int   // highest chunk number given
		vacant  []int // numbers that were taken back
		bases   []mem.Address
		dropped []int // the numbers of the chunks of frames that were removed or got other columns
	}
}

// NewSpace makes the space of a new world, which nobody uses yet. See Directory.Init for the
// numbers.
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

// TableOf returns the table of the atom at l. The caller knows that nobody moves it.
func (s *Space) TableOf(l slots.Loc) *Table { return s.chunk(l).table }

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

// lengthen makes the lists of chunks long enough for number n. The lock is held.
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

// CheckChunks returns ErrChunks if there are fewer than n numbers left for chunks. It changes
// nothing. The owner of any shard may call it; other shards may take numbers right after.
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

// errChunks returns the error of a world without chunk numbers. The lock is held.
func (s *Space) errChunks() error {
	return fmt.Errorf("%w: the world has %d; with a higher ChunkRowsMax each holds more", ErrChunks, s.mu.chunks)
}

// add numbers a chunk and gives it its rows, here and in the columns of its table; see
// Column.add. The owner of the chunk's shard calls it, and takes the lock, since others add chunks
// of their shards. If no number is left it returns ErrChunks and has changed nothing.
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

// Owner returns the number of the shard that owns the atom at l.
func (s *Space) Owner(l slots.Loc) int { return (*s.chunks.Load())[l>>slots.RowBits].owner }

// Set returns the components of the atom at l.
func (s *Space) Set(l slots.Loc) *Set { return &s.chunk(l).table.set }

// At returns the chunk and row at l. The caller must own its shard.
func (s *Space) At(l slots.Loc) (c *Chunk, row int) { return s.chunk(l), l.Row() }

// ChunksLeft returns how many more chunks the world may have.
func (s *Space) ChunksLeft() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slots.ChunksMax - s.mu.chunks + len(s.mu.vacant)
}

// TypeOf returns the type of a component's values.
func (s *Space) TypeOf(component int) *mem.Type { return s.Columns[component].of }

// Values makes room for n values of a component.
func (s *Space) Values(component, n int) mem.Cells { return s.Columns[component].of.NewCells(n) }

// CopyValue copies a value of a component, with the function of CloneBy if there is one. Cloned
// reports that.
func (s *Space) CopyValue(component int, to, from mem.Address) {
	s.Columns[component].copyRows(to, from, 1)
}

// Cloned reports whether a component has a CloneBy.
func (s *Space) Cloned(component int) bool { return s.Columns[component].clone != nil }

// remove takes a chunk's rows from its columns, which keep them for later use, and takes back its
// number. The owner of the chunk's shard calls it, in the step end tick or on an idle world.
func (s *Space) remove(c *Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, col := range c.table.columns {
		col.drop(c.number(), max(c.n, c.used))
	}
	s.dropFramed(c)
	s.spare.Store(true)
	(*s.chunks.Load())[c.number()] = chunkEntry{}
	s.mu.vacant = append(s.mu.vacant, c.number())
}

// HeldBytes is the memory of rows that belong to no chunk, not yet or no longer.
func (s *Space) HeldBytes() (n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.Columns {
		n += c.heldBytes()
	}
	return n
}

// Drop gives the memory of all columns back. The shards have dropped their tables. The slots stay,
// so that every handle is still known to be stale.
func (s *Space) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks.Store(new(make([]chunkEntry, firstChunks)))
	s.noRuns = newRuns(firstChunks)
	for _, c := range s.Columns {
		c.dropAll(s.noRuns)
	}
}

// Reveal makes everything that is stored visible to all shards. From now on, what a shard stores is
// hidden from the others. The caller must own all shards. For the coordinator, and the idle world.
func (s *Space) Reveal(shards []*Shard) {
	s.reveals.Add(1)
	s.Undrawn()
	for _, x := range shards {
		x.Loop++ // so that the next row of each table comes by nextRow
	}
}

// Hidden reports whether the atom at l was stored after the last Reveal. It may be asked of an atom
// of any shard, while systems or hooks run.
func (s *Space) Hidden(l slots.Loc) bool {
	x := s.chunk(l).hidden.Load()
	return x>>hiddenShift == s.reveals.Load() && l.Row() >= int(x&(1<<hiddenShift-1))
}

// Growth says in what steps a world takes memory. It affects no result except the order of
// rows after a Retag, which takes over whole chunks. Nothing else that a request does not say does
// so: neither hooks, flags and marks, nor which rows of a chunk are ready.
type Growth struct {
	// RowsFirst is the number of rows of a table's first chunk, RowsMax that of the
	// largest, unless its rows are so large that they exceed chunkBytesMax; each chunk has
	// RowsFactor times the rows of the one before it. All are powers of two.
	RowsFirst, RowsFactor, RowsMax int
}

// DefaultGrowth is what a new Space has.
var DefaultGrowth = Growth{RowsFirst: 16, RowsFactor: 4, RowsMax: slots.RowsMax}

// chunkBytesMax is the most memory that a chunk takes, unless one row takes more.
const chunkBytesMax = 4 << 20

// of returns the steps in which a table grows whose rows have so many bytes: the same, but with
// fewer rows in a chunk if they are large.
func (g Growth) of(rowBytes uintptr) Growth {
	for g.RowsMax > 1 && uint64(g.RowsMax)*uint64(rowBytes) > chunkBytesMax {
		g.RowsMax /= 2
	}
	g.RowsFirst = min(g.RowsFirst, g.RowsMax)
	return g
}

// stepBytes is the memory of the largest column of a table that is made ready at a time.
const stepBytes = 16 << 10

// stepOf returns how many rows of a chunk are made ready at a time, where columns have these sizes.
func stepOf(sizes []uintptr) int {
	size := uintptr(rowBytes)
	for _, s := range sizes {
		size = max(size, s)
	}
	return 1 << (bits.Len64(uint64(max(stepBytes/size, 1))) - 1)
}

// growthOf returns the steps in which a table of these components grows. The owner of any shard
// calls it: it looks only at types.
func (s *Space) growthOf(set Set) Growth {
	bytes := uintptr(0)
	for c := range set.All {
		bytes += s.Columns[c].of.Size
	}
	return s.Growth.of(bytes)
}

// next returns the number of rows of the chunk after one with the given number.
func (g *Growth) next(rows int) int { return min(rows*g.RowsFactor, g.RowsMax) }

// ChunkRows returns the rows of each chunk of a table that is made at once for so many atoms with these
// components. The error is slots.ErrImage.
func (s *Space) ChunkRows(components []int, rows int) (all []int, err error) {
	set, err := s.setOf(components)
	if err != nil {
		return nil, err
	}
	for g := s.growthOf(set); rows > 0; {
		all = append(all, g.holding(rows))
		rows -= all[len(all)-1]
	}
	return all, nil
}

// holding returns the number of rows of the smallest chunk that holds n, or of the largest. It only
// computes.
func (g *Growth) holding(n int) int {
	rows := g.RowsFirst
	for rows < n && g.next(rows) > rows {
		rows = g.next(rows)
	}
	return rows
}

// ErrChunks is returned when a world has no chunk number left to give.
var ErrChunks = errors.New("world: out of chunks")

// Handler applies the requests of a kind. It may also be Parted, Numbered or a Runner. That of
// creates is a Creator.
type Handler interface {
	// Apply applies a request to the living atom h, which is at l. For a request to a shard itself
	// l is 0; for one of a joint kind s is nil.
	Apply(s *Shard, h handle.Handle, l slots.Loc, p mem.Pointer) queue.Outcome
	// Describe describes the requests, for tools that hash, record and replay them.
	Describe() Description
}

// Creator is the Handler of creates, whose Apply is not called.
type Creator interface {
	// CreateAll stores the atoms of creates of its kind, and decides their
	// outcomes.
	CreateAll(s *Shard, creates []queue.PendingRequest)
	// CreateMany is CreateAll for many creates in one record.
	CreateMany(s *Shard, creates queue.PendingRequest)
}

// Runner is a Handler that can apply several requests at once: those for adjacent rows, as a system
// sends them that loops over its entities.
type Runner interface {
	// ApplyRun applies the first of some requests, decides their outcomes and returns how many they
	// are. What it does is what Apply does for one after the other, down to the order of rows. So it
	// makes no difference where requests are divided: by a sender, a chunk, or a record of a log. If
	// that is not as simple as it expects, it returns 0, and Apply gets the first request.
	ApplyRun(s *Shard, a Adjacent) (applied int)
}

// dropFramed notes that a chunk of frames is removed, or gets other columns. The space's lock is
// held.
func (s *Space) dropFramed(c *Chunk) {
	if c.framed {
		s.mu.dropped = append(s.mu.dropped, c.number())
		c.framed = false
	}
}

// TakeDropped returns the numbers of the chunks of frames that were removed, or got other columns,
// since the last time. The coordinator calls it before a frame is captured, to reuse their copies.
func (s *Space) TakeDropped() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.mu.dropped
	s.mu.dropped = nil
	return all
}

// Watch says which changes are recorded. The zero value records none.
type Watch struct {
	Created bool  // atoms that are created
	Told    []Set // of created atoms, hooks are told of those that have all components of one of these sets
	Changes []Set // atoms that begin or cease to have all components of one of these sets
	Stored  Set   // components whose values are replaced
}

// changes reports whether to record that an atom goes from one component set to another. An edge
// remembers it.
func (w *Watch) changes(from, to *Set) bool {
	for i := range w.Changes {
		if from.Contains(&w.Changes[i]) != to.Contains(&w.Changes[i]) {
			return true
		}
	}
	return false
}
