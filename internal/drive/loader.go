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
// World is the first method to change the world. If an error follows, call Undo, or Fail, without
// which the world cannot be used. Loader checks everything that it is given.
//
// Ownership: as for the idle *World. Shard is for any goroutines, each shard for one. Chunk, Fill
// and what is stored in the chunks' Cells are for any goroutines, each chunk for one.
type Loader interface {
	World(s State) error
	// Shard makes the tables and chunks of a shard, without handles and components. It calls made,
	// if that is not nil, with each chunk that has rows, and its place: components may be stored
	// from then on. Do nothing else with a chunk until all shards are made.
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
	// Request sends a request as a Survey shows it, and returns where to store its payload.
	Request(from, kind int, flags queue.Flags, h handle.Handle) (mem.Cells, error)
	// Trust says that the handles for Fill come from a Frozen, where no two rows have the same
	// handle.
	Trust()
	// Finish checks that each living entity has a row, and completes the world.
	Finish() error
	// Undo makes the world new again, as it was before World, but for its extensions. It returns an
	// error if it cannot.
	Undo() error
	// Fail breaks the world.
	Fail(err error)
}

// Saved is an Extension that can be saved and loaded. The names of extensions are those of
// NameOf.
type Saved interface {
	// AppendSaved appends all that LoadSaved needs to dst. The same state gives the same bytes.
	AppendSaved(dst []byte) []byte
	// LoadSaved restores the extension, whatever state it has. The entities exist already. After an
	// error the extension may have any state that AppendSaved can show.
	LoadSaved(src []byte) error
}

// Optioned is a Saved extension whose options are in snapshots.
type Optioned interface {
	// SavedOptions returns the options as text, and the part of them that must be the same in a
	// world that loads the snapshot. The others are limits, which may change.
	SavedOptions() (all, same string)
}

// ErrImage is wrapped by errors about a state that no world can have.
var ErrImage = slots.ErrImage
