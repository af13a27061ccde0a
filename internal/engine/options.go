package engine

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Defaults of Options. They are constants, not derived from the machine: the number of shards
// shapes the world, and the same inputs must give the same world everywhere.
const (
	defaultShards          = 4
	defaultChunkRowsFirst  = 16
	defaultChunkRowsFactor = 4
	defaultChunkRowsMax    = slots.RowsMax
	defaultTickInterval    = 50 * time.Millisecond
	defaultPortsMax        = 1 << 14
	defaultQueueRequests   = 1 << 12
	defaultQueueBytes      = 1 << 20
	defaultOutboxRequests  = 1 << 16
	defaultOutboxBytes     = 1 << 24
	defaultFramesMax       = 3
	defaultFramesBytes     = min(4<<30, math.MaxInt/8)
)

// Limits of QueueRequests, QueueBytes and OutboxBytes.
const (
	queueRequestsMax = 1 << 24

	bytesMax = min(1<<32, math.MaxInt/8)
	bytesMin = queue.RequestBytes // the smallest request, one to destroy
)

// framesMax is the highest FramesMax.
const framesMax = 16

// Options shape a world. It has the fields of world.Options, in the same order.
type Options struct {
	Shards          int
	IndexMax        uint32
	VersionMax      uint32
	VersionsEach    uint32
	ChunkRowsFirst  int
	ChunkRowsFactor int
	ChunkRowsMax    int
	HugePages       bool
	KeepOrder       bool
	TickInterval    time.Duration
	Seed            uint64
	PortsMax        int
	QueueRequests   int
	QueueBytes      int
	OutboxRequests  int
	OutboxBytes     int
	FramesMax       int
	FramesBytes     int
}

// growth returns the steps in which the world takes memory.
func (o Options) growth() store.Growth {
	return store.Growth{RowsFirst: o.ChunkRowsFirst, RowsFactor: o.ChunkRowsFactor, RowsMax: o.ChunkRowsMax}
}

// validate fills in the defaults. It returns an error that names every limit that is exceeded.
func (o Options) validate() (Options, error) {
	var errs []error
	limit := func(name string, v *int, def, least, most int) { errs = inRange(errs, name, v, def, least, most) }
	limit32 := func(name string, v *uint32, most uint32) {
		if *v == 0 {
			*v = most
		}
		if *v > most {
			errs = append(errs, fmt.Errorf("world: %s is %d, want 1 to %d", name, *v, most))
		}
	}
	limit("Shards", &o.Shards, defaultShards, 1, handle.HomeMax)
	limit("PortsMax", &o.PortsMax, defaultPortsMax, 1, 1<<20)
	limit("QueueRequests", &o.QueueRequests, defaultQueueRequests, 1, queueRequestsMax)
	limit("QueueBytes", &o.QueueBytes, defaultQueueBytes, bytesMin, bytesMax)
	limit("OutboxRequests", &o.OutboxRequests, defaultOutboxRequests, 1, 1<<24)
	limit("OutboxBytes", &o.OutboxBytes, defaultOutboxBytes, bytesMin, bytesMax)
	limit("FramesMax", &o.FramesMax, defaultFramesMax, 1, framesMax)
	limit("FramesBytes", &o.FramesBytes, defaultFramesBytes, 1, math.MaxInt)
	limit32("IndexMax", &o.IndexMax, handle.IndexMax)
	limit32("VersionMax", &o.VersionMax, handle.VersionMax)
	limit32("VersionsEach", &o.VersionsEach, o.VersionMax)
	power := func(name string, v *int, def, most int) {
		if *v == 0 {
			*v = def
		}
		if *v < 1 || *v > most || *v&(*v-1) != 0 {
			errs = append(errs, fmt.Errorf("world: %s is %d, want a power of two from 1 to %d", name, *v, most))
		}
	}
	power("ChunkRowsMax", &o.ChunkRowsMax, defaultChunkRowsMax, slots.RowsMax)
	power("ChunkRowsFirst", &o.ChunkRowsFirst, min(defaultChunkRowsFirst, max(o.ChunkRowsMax, 1)), slots.RowsMax)
	power("ChunkRowsFactor", &o.ChunkRowsFactor, defaultChunkRowsFactor, slots.RowsMax)
	if o.ChunkRowsFirst > o.ChunkRowsMax && o.ChunkRowsMax > 0 {
		errs = append(errs, fmt.Errorf("world: ChunkRowsFirst is %d, want at most ChunkRowsMax, %d", o.ChunkRowsFirst, o.ChunkRowsMax))
	}
	if o.TickInterval == 0 {
		o.TickInterval = defaultTickInterval
	}
	if o.TickInterval < 0 {
		errs = append(errs, fmt.Errorf("world: TickInterval is %v, want more than 0", o.TickInterval))
	}
	return o, errors.Join(errs...)
}

// PortOptions are the options of a port. A zero stands for the option of the same name of Options.
type PortOptions struct {
	QueueRequests int
	QueueBytes    int
}

// validate fills in what the world's options say. It returns an error that names every limit that
// is exceeded.
func (o PortOptions) validate(w Options) (PortOptions, error) {
	errs := inRange(nil, "PortOptions.QueueRequests", &o.QueueRequests, w.QueueRequests, 1, queueRequestsMax)
	errs = inRange(errs, "PortOptions.QueueBytes", &o.QueueBytes, w.QueueBytes, bytesMin, bytesMax)
	return o, errors.Join(errs...)
}

// inRange gives an option that is zero its default. It appends an error if it is out of range.
func inRange(errs []error, name string, v *int, def, least, most int) []error {
	if *v == 0 {
		*v = def
	}
	if *v < least || *v > most {
		errs = append(errs, fmt.Errorf("world: %s is %d, want %d to %d", name, *v, least, most))
	}
	return errs
}

// Layout is what two worlds must have in common so that handles of one can be used in the other.
type Layout struct {
	HomeBits, IndexBits, VersionBits, Shards int
}

// Layout returns the layout of the world's handles. It never changes, so any goroutine may ask.
func (w *World) Layout() Layout {
	return Layout{handle.HomeBits, handle.IndexBits, handle.VersionBits, len(w.shards)}
}
