// Package handle defines the value that names an entity.
//
// A [Handle] is 64 bits: the entity's home, its slot's index in that
// home, and the version of the slot it was given for. In a new world the home is the shard in
// which the entity was created, and the entities that ports create have a home of their own, after the
// shards. A world that was loaded into another number of shards has the homes that it had.
//
//	63        52 51                    28 27                          0
//	┌───────────┬────────────────────────┬─────────────────────────────┐
//	│ home  12 │ index               24 │ version                  28 │
//	└───────────┴────────────────────────┴─────────────────────────────┘
//
// With the build tag atollwide it is 8, 30 and 26 bits: fewer shards and versions, more
// entities in each shard. All programs that exchange handles, and all that read what
// another has saved, must be built with the same layout.
//
// The fields are ordered from high to low, so comparing two handles as numbers
// compares their homes, then their indexes, then their versions.
//
// A handle is a plain value. It can be copied, compared with ==, used as a map
// key, stored in a component, written to disk and sent to a client; it holds no
// pointer and owns nothing. It outlives every move of its entity, because it
// names the slot, which never moves, and not the place of the atom.
//
// What a handle does not do:
//
//   - It does not say that its entity is alive. Only the world that gave it out
//     can tell, by comparing versions; versions start at 1 and are never
//     reused, so a stale handle is never valid again.
//   - It does not say which world it belongs to. Handing it to another world
//     cannot be detected from its bits.
//   - It is not proof of anything when it comes from outside. Reading one checks
//     its form ([Parse], [Handle.UnmarshalBinary]); every lookup in a world
//     checks its range, state and version again.
//
// Text and JSON use the form home:index@version, as in 3:1047@5, and "none" for
// [None]. The binary form is 8 bytes, big endian, so that byte order is handle
// order. Each handle has exactly one text and one binary form, and reading
// accepts no other.
package handle

import "cmp"

// The largest value of each field. The smallest home and index are 0, the
// smallest version is 1. A world's options may lower these limits, never raise
// them.
const (
	HomeMax    = 1<<HomeBits - 1
	IndexMax   = 1<<IndexBits - 1
	VersionMax = 1<<VersionBits - 1
)

const (
	versionShift = 0
	indexShift   = versionShift + VersionBits
	homeShift    = indexShift + IndexBits
)

// The build fails here, with an index out of range, unless the widths add up to
// 64 bits.
var _ = [1]struct{}{}[HomeBits+IndexBits+VersionBits-64]

// None names no entity. It is the zero Handle; because versions start at 1, no
// entity ever has it.
const None Handle = 0

// Handle names one entity: home, index and version, as described in the
// package comment. The zero value is [None].
//
// A Handle is immutable, so every method with a value receiver may be called
// from any goroutine at any time. The Unmarshal methods write their receiver,
// which no other goroutine may be using.
type Handle uint64

// New packs home, index and version into a handle. It is meant for code
// that gives handles out; to read them from outside use [Parse] and the
// Unmarshal methods.
//
// It panics when home is above [HomeMax], index is above [IndexMax], or
// version is 0 or above [VersionMax]: such a handle would name another entity,
// or none. The panic value is an error that names the field and its limit and
// wraps [ErrRange]. For no entity write [None].
//
// Cost: it inlines; three predictable comparisons and two shifts. Safe from any
// goroutine.
func New(home, index, version uint32) Handle {
	// version-1 wraps for 0, so one comparison checks both of its ends.
	if home > HomeMax || index > IndexMax || version-1 >= VersionMax {
		panic(fieldError{home, index, version})
	}
	return Handle(home)<<homeShift | Handle(index)<<indexShift | Handle(version)
}

// Home returns the number of the entity's home, 0 to [HomeMax]: where its slot is for good, in a new
// world the shard that created it, or the number of shards for what ports create. It is no shard: the
// entity may have moved to another, and a world may be loaded into another number of them. World.Owner
// and Context.Owner return the shard that an entity is in now. Cost: it inlines to one shift. Safe
// from any goroutine.
func (h Handle) Home() uint32 { return uint32(h >> homeShift & HomeMax) }

// Index returns the index of the entity's slot in its home, 0 to
// [IndexMax]. Cost: it inlines to a shift and a mask. Safe from any goroutine.
func (h Handle) Index() uint32 { return uint32(h >> indexShift & IndexMax) }

// Version returns the version of the slot the handle was given for, 1 to
// [VersionMax]; for [None] it is 0. Cost: it inlines to one mask. Safe from any
// goroutine.
func (h Handle) Version() uint32 { return uint32(h >> versionShift & VersionMax) }

// IsNone reports whether h is [None]. That a handle is not None does not mean
// that its entity is alive. Cost: it inlines to one comparison. Safe from any
// goroutine.
func (h Handle) IsNone() bool { return h == None }

// Compare returns -1, 0 or +1 as h sorts before, with or after other: by home,
// then index, then version, with [None] first. It is the order of the numbers
// and of the binary form, and fits [slices.SortFunc] as Handle.Compare. Cost: it
// inlines to two comparisons. Safe from any goroutine.
func (h Handle) Compare(other Handle) int { return cmp.Compare(h, other) }

// isMalformed reports whether h is neither None nor a handle that New can return: its version is 0
// but its other bits are not. Only a conversion from uint64 makes such a value.
func (h Handle) isMalformed() bool { return h.Version() == 0 && h != None }
