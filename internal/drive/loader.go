package drive

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Loader gives a new world the state that a Survey of another world shows, in this order: World,
// each Shard, the rows of each chunk, the rest in any order, Finish. Numbers of shards,
// components, messages, resources, hooks and kinds are those of the new world.
//
// The world is touched by World first. From then on an error leaves it as it cannot be used: call
// Fail. It trusts nothing that it is given.
//
// Ownership: as of the idle *World. Shard is for any goroutines, each shard for one. Chunk, Fill and
// what is stored in the chunks' Cells are for any goroutines, each chunk for one.
type Loader interface {
	World(s State) error
	// Shard makes the tables and chunks of a shard, without handles and components. It calls made,
	// if that is not nil, with each chunk that has rows, and its place: components may be stored
	// from then on. Nothing else may be done with a chunk until all shards are made.
	Shard(i int, x store.Image, made func(c *store.Chunk, table, chunk int)) error
	// Chunk returns a chunk by its place in the Image, and Fill puts its atoms there; the caller
	// stores their components where Chunk.Cells says.
	Chunk(shard, table, chunk int) *store.Chunk
	Fill(c *store.Chunk, hs []handle.Handle) error
	// Mail returns where to store the messages of one kind for a shard, to these receivers. put
	// delivers them.
	Mail(message, shard int, to []handle.Handle) (bodies mem.Cells, put func())
	// Resource returns where to store the value of a resource and its parts. put sets them.
	Resource(i int) (value, parts mem.Cells, put func())
	// Request sends a request as a Survey shows it, and returns where to store what comes with it.
	Request(from, kind int, flags queue.Flags, h handle.Handle) (mem.Cells, error)
	// Trust says that what Fill is given is of a Frozen, in which no two rows have one handle.
	Trust()
	// Finish checks that each living entity has a row, and makes the world what it is to be.
	Finish() error
	// Fail breaks the world.
	Fail(err error)
}

// Saved is an Extension that can be saved and loaded. The names of extensions are those of
// NameOf.
type Saved interface {
	// AppendSaved appends all that LoadSaved needs to dst: the same state as the same bytes.
	AppendSaved(dst []byte) []byte
	// LoadSaved makes the extension what it was. The entities are there. After an error the
	// extension may have any state that AppendSaved can show.
	LoadSaved(src []byte) error
}

// Optioned is a Saved extension with options that a snapshot tells of.
type Optioned interface {
	// SavedOptions returns a text of the options, and of it the part that must be the same in a world
	// that loads: the others are limits, which may change.
	SavedOptions() (all, same string)
}

// ErrImage is what errors about a state that no world can have wrap.
var ErrImage = slots.ErrImage
