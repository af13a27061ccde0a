package world

import (
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world/stats"
)

// Stats counts events in a world since it was made. Equal runs have equal counts; Steps and Latency
// are times, which differ.
type Stats struct {
	Tick      uint64
	Entities  int    // alive, dying ones included
	Created   uint64 // entities stored
	Destroyed uint64 // entities removed
	Moved     uint64 // entities moved between shards
	Applied   uint64 // requests done
	Gone      uint64 // requests that came too late
	Missing   uint64 // requests on a component the entity lacks
	Refused   uint64 // requests that met a limit at the refresh
	Failed    uint64 // calls of functions that panicked
	Rejected  uint64 // requests not accepted, because a queue was full or a rung of the ladder refuses them
	// Outputs counts the values that were put into outputs, up to the last refresh. For
	// OutputsHandled a handler was called, and for OutputsDropped there was none; in a replay of a log
	// neither goes up.
	Outputs, OutputsHandled, OutputsDropped uint64

	Retired int // slots whose versions are used up
	Tables  int // component sets that entities have or had lately, counted in each shard
	Chunks  int
	// BytesUsed is the bytes of occupied rows and given slots. BytesReserved is the bytes of all
	// chunks and slots, and of the memory that is held for further chunks. Memory that components
	// point to is not counted.
	BytesUsed     uint64
	BytesReserved uint64
	Frames        int    // held
	FramesBytes   uint64 // of the copies for frames: those that are held, and those that later ones share or use again
	HugePages     int    // asked for from the system; see Options.HugePages
	Ports         int    // open, or closed with something in their queues
	Waiting       int    // requests in the queues of ports
	Indexes       int    // in use or retired, in all homes
	PortIndexes   int    // of them, those of the home of ports, with the handles that ports have in hand; Options.IndexMax limits them
	Shards        []ShardStats
	Steps         []StepStats // of the refresh, in their order
	// Latency has a value for each refresh and port with requests in it: how long the request that
	// was accepted first had waited at the end of the refresh.
	Latency stats.Histogram
}

// StepStats is the time that a step of the refresh took, in each tick of a scheduler in which it
// had something to do. The steps of a refresh add up to its time. World.Refresh is not measured.
// See the refresh in docs/architecture.md for what the steps do.
type StepStats struct {
	Name string
	Time stats.Histogram
}

// ShardStats is the part of Stats of one shard.
type ShardStats struct {
	Entities  int
	Tables    int
	Indexes   int // in use or retired, of its home; Options.IndexMax limits them
	Created   uint64
	Destroyed uint64
	Arrived   uint64 // entities that came from other shards
	Departed  uint64 // entities that went to other shards
}

// Stats stores the world's counts in dst. The world must be idle. The Shards of dst are reused,
// so that asking in each tick allocates nothing.
func (w *World) Stats(dst *Stats) {
	x := (*engine.World)(w)
	x.MustIdle("World.Stats")
	if dst == nil {
		panic("world: World.Stats to a nil Stats; pass one to fill")
	}
	e := x.Refreshes()
	*dst = Stats{Tick: w.Tick(), Rejected: x.Rejected(), Retired: e.PortSlots.Retired(), BytesReserved: x.Space().HeldBytes(), HugePages: x.Space().Memory.Asked(), Shards: dst.Shards[:0], Steps: dst.Steps[:0]}
	dst.Frames, dst.FramesBytes = x.FramesSize()
	e.Outcomes(dst.count)
	out := x.OutputCounts()
	dst.Outputs, dst.OutputsHandled, dst.OutputsDropped = out.Put, out.Handled, out.Dropped
	dst.Ports, dst.Waiting = e.Ports.Count()
	dst.Latency = e.Times.Latency
	for step := range extend.RefreshSteps {
		s := StepStats{Name: step.String()}
		if times := e.Times.Steps; times != nil {
			s.Time = times[step]
		}
		dst.Steps = append(dst.Steps, s)
	}
	ports := e.PortSlots.Size()
	dst.PortIndexes = ports.Taken
	dst.measure(store.Size{Size: ports})
	for _, s := range x.Survey().Shards() {
		dst.count(&s.Outcomes)
		size := s.Size()
		dst.measure(size)
		dst.Entities += s.Alive()
		dst.Created += s.Created()
		dst.Destroyed += s.Destroyed()
		dst.Moved += s.Arrived()
		dst.Retired += s.Retired()
		dst.Shards = append(dst.Shards, ShardStats{
			Entities: s.Alive(), Tables: len(s.Tables()), Indexes: size.Taken, Created: s.Created(), Destroyed: s.Destroyed(),
			Arrived: s.Arrived(), Departed: s.Departed(),
		})
	}
}

// count adds outcomes of requests.
func (s *Stats) count(b *queue.Outcomes) {
	s.Applied += b.Count(queue.Applied)
	s.Gone += b.Count(queue.Gone)
	s.Missing += b.Count(queue.Missing)
	s.Refused += b.Count(queue.Refused)
	s.Failed += b.Count(queue.Failed)
}

// measure adds the size of a shard, or of the slots of ports.
func (s *Stats) measure(size store.Size) {
	s.Tables += size.Tables
	s.Indexes += size.Taken
	s.Chunks += size.Chunks
	s.BytesUsed += size.Used
	s.BytesReserved += size.Reserved
}
