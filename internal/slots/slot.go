package slots

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/publish"
)

// Slot holds the generation and the location of one entity. It never moves.
//
//	generation  | state ^ index (4 bits) | version (28 bits) |   atomic
//	Loc  | chunk (20 bits) | row (12 bits)     |   plain
//
// In the wide layout of handles the version has 26 bits and the state 6. The index bits
// that lie above the version in a handle's low word are mixed into the state. So the
// generation of an alive slot equals the low word of its handle, and checking a handle is one
// comparison.
//
// Invariants: the version only grows. A slot with no version left is
// retired and never handed out again. While generation says alive, Loc names the row
// that holds the atom.
//
// Ownership: generation has one writer at a time: the owner of the slot's home (for the port
// allocator that is the refresh or the idle world) or, in the steps create and commit of a refresh,
// the shard that stores the atom. Anyone may read it at any time. The shard that holds or takes in
// the atom writes Loc, before it publishes generation or in its step of the refresh. Loc is read in
// a tick, and in the route step of a refresh, only after generation was seen alive.
type Slot struct {
	Generation uint32
	Loc        Loc
}

// Load reads Generation, atomically. Any goroutine may call it.
func (s *Slot) Load() uint32 { return atomic.LoadUint32(&s.Generation) }

// Store writes Generation and publishes what was written before, including Loc and the row. The
// caller is its only writer.
func (s *Slot) Store(gen uint32) { atomic.StoreUint32(&s.Generation, gen) }

// StoreBatched is Store for one of many slots that are written in a loop; see package
// publish.
func (s *Slot) StoreBatched(gen uint32) { publish.Store32(&s.Generation, gen) }

// free raises the generation of a slot whose handle h was the last one given: the slot is free with
// the next version of the window, so every copy of h becomes stale. It returns the handle with that
// version, or false if there is none: then the slot is retired. The owner of the slot's home calls
// it.
func (s *Slot) free(h handle.Handle, of versions) (next handle.Handle, ok bool) {
	switch {
	case of.hasNext(h):
		next = h + 1 // the version is the low field
	case h.Version() < of.first:
		next = of.firstOf(h)
	default:
		s.Store(word(h, StateRetired))
		return h, false
	}
	s.Store(word(next, StateUnused))
	return next, true
}

// LocStaged returns the location of the atom of h, if it is alive or staged, or 0. For a refresh.
func (s *Slot) LocStaged(h handle.Handle) Loc {
	if (s.Load()^uint32(h))&^StagedBit == 0 {
		return s.Loc
	}
	return 0
}

// ToCome reports whether h may still be given, or was given and its atom is not stored yet. It
// reads the slot in one load.
func (s *Slot) ToCome(h handle.Handle) bool {
	version, state := unpack(s.Load(), h)
	return state == StateUnused && max(version, 1) == h.Version()
}

// State says what a slot holds.
type State uint8

// The states of a slot. A marked atom's is still StateAlive: only the owner sees the mark, a bit in
// the chunk.
const (
	StateAlive   State = iota // the atom is stored
	StatePending              // of ports: the handle may have been given out, the atom is not stored; no slot holds this, see Liveness.State
	StateUnused               // free; the version is the next one to be given
	StateRetired              // its versions are used up; never given again
	StateStaged               // the atom is stored, but the refresh has not yet decided whether it stays
)

const (
	versionMask = 1<<handle.VersionBits - 1
	stateShift  = handle.VersionBits
	indexMask   = 1<<(32-handle.VersionBits) - 1
)

// StagedBit is the difference between the generation of a staged slot and that of an alive one.
const StagedBit = uint32(StateStaged) << stateShift

// word is the generation of h's slot in the given state.
func word(h handle.Handle, s State) uint32 { return uint32(h) ^ uint32(s)<<stateShift }

// unpack splits a generation read from the slot of h. A slot that was never used
// reads as version 0 and is unused.
func unpack(gen uint32, h handle.Handle) (version uint32, s State) { return unpackAt(gen, h.Index()) }

// unpackAt is unpack for the slot of an index.
func unpackAt(gen, index uint32) (version uint32, s State) {
	version = gen & versionMask
	if version == 0 {
		return 0, StateUnused
	}
	return version, State(gen>>stateShift ^ index&indexMask)
}

// Loc says where an atom is: the number of a chunk in the upper 20 bits, the row within it in the
// lower 12. Chunk numbers are unique in the world, so a Loc is right whichever shard owns the atom;
// they start at 1, so the zero Loc is nowhere.
type Loc uint32

const (
	// RowBits is the width of the row in a Loc.
	RowBits = 12
	// RowsMax is the number of rows in the largest chunk.
	RowsMax = 1 << RowBits
	// ChunksMax is the highest number of a chunk in a world.
	ChunksMax = 1<<ChunkBits - 1
	ChunkBits = 32 - RowBits
	RowMask   = RowsMax - 1
)

// Row returns the row within the chunk.
func (l Loc) Row() int { return int(l & RowMask) }

// Compose makes a handle of fields that are known to be in range; unlike
// handle.New it allows version 0, for a place in the directory.
func Compose(home, index, version uint32) handle.Handle {
	return handle.Handle(home)<<(handle.IndexBits+handle.VersionBits) |
		handle.Handle(index)<<handle.VersionBits | handle.Handle(version)
}

const (
	slotBits    = 3 // the size of a Slot, as a shift
	slotBytes   = 1 << slotBits
	handleBytes = 8
	indexBytes  = 4
	takerBytes  = 4
)
