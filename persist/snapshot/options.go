package snapshot

import (
	"fmt"
	"runtime"

	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Options say what belongs to a snapshot besides the world. Pass the same to Save and Load. The
// zero value is for a world without codecs and scheduler.
type Options struct {
	// Codecs are those of the types that have one. Their functions are called by one goroutine
	// at a time.
	Codecs *state.Codecs
	// Scheduler, if not nil, is that of the world. It is saved, too: which systems are enabled, and
	// on which shards.
	Scheduler *scheduler.Scheduler
	// Also is state outside the world.
	Also []Also
	// Compression is how Save compresses. Load detects it.
	Compression Compression
	// Workers is the number of goroutines that encode and decode. Default: GOMAXPROCS. It does not
	// change the bytes.
	Workers int
	// OtherOptions makes Load accept a world with other world.Options, except those that shape
	// handles: Shards, IndexMax and VersionMax must be equal. Without it all options that decide
	// what happens next must be equal.
	OtherOptions bool
	// Changes say what becomes of something in a snapshot that the world no longer has, or has in
	// another form. Load applies them; PlanLoad returns which are needed.
	Changes []Change
	// BytesMax is the most memory that Load takes for rows, including room for more of them, and in
	// addition for any other section while it is read. Default: 1 GB, and 64 bytes for each
	// uncompressed byte that describes rows. text.Export and text.Import say how they use it.
	BytesMax int64
}

// Also is state outside the world, under a name: what a game keeps outside of components and
// resources.
type Also struct {
	Name string
	// Save appends the state to dst. The same state must give the same bytes.
	Save func(dst []byte) []byte
	// Load restores the state that Save wrote. It must not keep src.
	Load func(src []byte) error
	// Optional is for Save. It lets a Load whose Options have no Also of this name leave the state
	// out. Without it such a Load refuses the snapshot.
	Optional bool
}

// Compression is how a snapshot is compressed.
type Compression uint8

// The compressions.
const (
	Zstd = Compression(format.Zstd) // small
	S2   = Compression(format.S2)   // fast
	None = Compression(format.None) // as it is in memory
)

// String returns the compression as a lower-case word.
func (c Compression) String() string { return format.Compression(c).String() }

// validate fills in the defaults. It panics about invalid options.
func (o Options) validate(call string) Options {
	if o.Workers < 0 || o.BytesMax < 0 || o.Compression > None {
		panic(fmt.Sprintf("snapshot: %s with options that have a negative number, or no compression: %d workers, %d bytes, %v", call, o.Workers, o.BytesMax, o.Compression))
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	known := map[string]bool{}
	for _, x := range o.Also {
		if x.Name == "" || known[x.Name] || x.Save == nil || x.Load == nil {
			panic(fmt.Sprintf("snapshot: %s with an Also named %q; each needs a name that no other has, and both functions", call, x.Name))
		}
		known[x.Name] = true
	}
	return o
}

// of panics about a Scheduler of another world.
func (o Options) of(w *world.World, call string) Options {
	if o.Scheduler != nil && o.Scheduler.World() != w {
		panic("snapshot: " + call + " with Options.Scheduler of another world; pass the one of this world")
	}
	return o
}
