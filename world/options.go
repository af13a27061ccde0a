package world

import (
	"time"

	"github.com/atoll-sim/atoll/internal/engine"
)

// Options shape a world. The zero value means the defaults; each zero field
// means its default.
type Options struct {
	// Shards is the number of shards, 1 to handle.HomeMax, by default 4. Each is run by
	// one goroutine at a time, so it bounds the parallelism of a tick: the default leaves
	// all cores idle but four. With more, take two to four times their number. Each shard
	// costs a query about 20 ns: on one core a tick of 20,000 entities takes a tenth longer
	// in 16 shards than in 4, and twice as long in 256. The default does not depend on the
	// machine, so that the same program makes the same world everywhere. A saved world can
	// be loaded into another number of shards.
	Shards int
	// IndexMax is the highest index a home gives. A shard, and all ports together, give handles of
	// IndexMax+1 entities at a time; see Stats. Default and limit: handle.IndexMax.
	IndexMax uint32
	// VersionMax is the number of times a slot is used before it is retired.
	// Default and limit: handle.VersionMax.
	VersionMax uint32
	// VersionsEach is how many versions each incarnation of the world uses, by default VersionMax,
	// which leaves only one incarnation. A server that starts a new incarnation after a crash gives
	// no handle twice; see World.Reincarnate. With 10,000 there are 26,843 incarnations, or 6,710
	// in the wide layout, and a slot is used 10,000 times before it is retired until the next
	// incarnation. If 1,000 entities are created a second, that uses up 8,640 slots a day, of the
	// 16 million of each shard.
	VersionsEach uint32
	// ChunkRowsFirst is the number of rows of the first chunk of a table, which holds the entities
	// of a shard that have the same components; each chunk has ChunkRowsFactor times the rows of
	// the one before it, up to ChunkRowsMax. All are powers of two up to 4096, by default 16, 4 and
	// 4096. With a factor of 1 all chunks have the same number of rows. Longer chunks make loops
	// faster, short first ones keep rare kinds of entities small. A chunk that would take more than
	// 4 MB has fewer rows, down to one. They affect cost, and the order in which a query's AddTo
	// and Remove leave the rows, because these calls take over whole chunks.
	ChunkRowsFirst  int
	ChunkRowsFactor int
	ChunkRowsMax    int
	// HugePages makes the world ask the system for huge pages for its large chunks and its slots.
	// With them, loops over a million entities and more take some 0.94 of the time, and random
	// look-ups 0.98. This helps where the system does not give huge pages to every program
	// anyway: on Linux with transparent huge pages set to "madvise", as in some distributions;
	// elsewhere the option has no effect. While the world grows, a create may wait for the kernel
	// to find and clear 2 MB: some 0.1 ms, or several ms when memory is fragmented. By default
	// false.
	HugePages bool
	// KeepOrder makes the refresh keep the order among the living entities of a shard that have
	// the same components. The cost of a refresh then depends on the number of entities after the
	// first dead one, not on the number of dead. By default false.
	KeepOrder bool
	// TickInterval is the simulated time of one tick, by default 50 ms.
	TickInterval time.Duration
	// Seed determines the random streams of the systems; see Context.Rand. By default 0, a seed
	// like any other.
	Seed uint64
	// PortsMax is the number of ports that can be open at a time, by default 16384.
	PortsMax int
	// QueueRequests and QueueBytes limit the requests that one port has sent and that are not yet
	// applied: their number and their size. QueueBytes is from 16 bytes, the size of a request to
	// destroy, to 4 GB, or a little less than 256 MB where an int has 32 bits. A request with a
	// value is larger by the size of the value; one larger than QueueBytes is refused with
	// ErrTooLarge.
	QueueRequests int
	QueueBytes    int // by default 4096 requests and 1 MB
	// OutboxRequests and OutboxBytes limit what the systems of one shard can request in one
	// tick; bytes as for QueueBytes.
	OutboxRequests int
	OutboxBytes    int // by default 65536 requests and 16 MB
	// FramesMax is how many frames can be held at a time, by default 3, at most 16. Frames of one
	// refresh count once. FramesBytes limits the memory of their copies, by default 4 GB, or an
	// eighth of the largest int.
	FramesMax   int
	FramesBytes int
}

// Layout is what two worlds must have in common so that handles of one can be used in the other:
// the widths of the handle's fields, and the number of shards. The home of entities that ports
// create has the number after those of the shards.
type Layout struct {
	HomeBits, IndexBits, VersionBits, Shards int
}

// Options returns the options with the defaults filled in.
func (w *World) Options() Options { return Options((*engine.World)(w).Options()) }

// Layout returns the layout of the world's handles.
func (w *World) Layout() Layout { return Layout((*engine.World)(w).Layout()) }

// PortOptions are the options of one port; see World.OpenPort. QueueRequests and QueueBytes limit it
// as Options limit other ports: a client's port needs less room than an operator's. Zero
// stands for what Options say.
type PortOptions struct {
	QueueRequests int
	QueueBytes    int
}
