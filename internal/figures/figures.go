package figures

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/stats"
)

// Limits of the labels.
const (
	// ShardsMax is the largest number of shards that have figures of their own. With more, figures
	// are summed, without the label.
	ShardsMax = 256
	// PairsMax is the largest number of pairs of a system and a shard that have figures.
	PairsMax = 1024
	// SetsMax is the largest number of component sets that have figures. The rest is "others".
	SetsMax = 50
)

// Kind is how a figure behaves.
type Kind int

// The kinds, by what Prometheus calls them.
const (
	Gauge Kind = iota
	Counter
	Histogram
)

// String returns the name of the kind.
func (k Kind) String() string { return [...]string{"gauge", "counter", "histogram"}[k] }

// Family is the figures with one name. They have the same labels.
//
// Ownership: whoever asked for it.
type Family struct {
	Name, Help string
	Kind       Kind
	Labels     []string
	Figures    []Figure
}

// Figure is one figure of a Family. A histogram is in seconds.
type Figure struct {
	Values    []string // of the labels
	Value     float64
	Histogram *stats.Histogram
}

// Sample is what figures are made from.
//
// Ownership: the mutex of the Reader guards it. Take runs between ticks; until it has ended nobody
// else uses the sample.
type Sample struct {
	Scheduler scheduler.Stats
	World     world.Stats
	workers   int
	indexes   int // that a home has
	paused    bool
	at        time.Time
	pairs     [][]scheduler.ShardStats // by system; none of more than PairsMax
	sets      []Set
	names     []extend.Named // of the components
	more      []Family
}

// Take reads a world and its scheduler. It runs between two ticks, on the scheduler's goroutine,
// and so reads no more than it must: Families does the rest later. It leaves the world as it is.
func (s *Sample) Take(by *scheduler.Scheduler, w *world.World) {
	s.at = time.Now()
	by.Stats(&s.Scheduler)
	w.Stats(&s.World)
	s.takePairs(by)
	s.workers, s.indexes, s.paused = by.Workers(), int(w.Options().IndexMax)+1, by.Paused()
	s.sets, s.names, s.more = SetsOf(w), engine.Of(w).Survey().Components(), Others(w)
}

// Set is the entities with one set of components.
type Set struct {
	Components store.Set
	N          int
	Shards     []int // how many of them are in each
}

// SetsOf returns the sets of components that entities of an idle world have, those with most
// entities first.
func SetsOf(w *world.World) (all []Set) {
	survey := engine.Of(w).Survey()
	places := map[store.Set]int{}
	for i := range w.Shards() {
		for _, t := range survey.Shard(i).Tables() {
			if t.Rows() == 0 {
				continue
			}
			at, ok := places[t.Set()]
			if !ok {
				at = len(all)
				places[t.Set()] = at
				all = append(all, Set{Components: t.Set(), Shards: make([]int, w.Shards())})
			}
			all[at].N += t.Rows()
			all[at].Shards[i] += t.Rows()
		}
	}
	slices.SortStableFunc(all, func(a, b Set) int { return cmp.Compare(b.N, a.N) })
	return all
}

// takePairs reads what each system did on each shard. It runs within Take.
func (s *Sample) takePairs(by *scheduler.Scheduler) {
	all := s.Scheduler.Systems
	s.pairs = s.pairs[:0]
	if len(all)*len(s.World.Shards) > PairsMax {
		return
	}
	for i := range all {
		of, _ := by.AppendShards(nil, all[i].Name) // it is one of the scheduler's
		s.pairs = append(s.pairs, of)
	}
}

// Others returns the figures of things that an idle world keeps besides entities, if it uses them:
// timers, names and the like. The caller must have the idle world.
func Others(w *world.World) (all []Family) {
	at := map[string]int{}
	engine.Of(w).Measure(func(x extend.Measured) {
		i, ok := at[x.Name]
		if !ok {
			i = len(all)
			at[x.Name] = i
			f := Family{Name: x.Name, Help: x.Help}
			if x.Counts {
				f.Kind = Counter
			}
			if x.Of != "" {
				f.Labels = []string{"of"}
			}
			all = append(all, f)
		}
		y := Figure{Value: x.Value}
		if x.Of != "" {
			y.Values = []string{x.Of}
		}
		all[i].Figures = append(all[i].Figures, y)
	})
	return all
}

// list collects families.
//
// Ownership: the caller of Families.
type list []Family

// add appends a family.
func (l *list) add(f Family) { *l = append(*l, f) }

// one appends a family with a single figure and no labels.
func (l *list) one(kind Kind, name, help string, value float64) {
	l.add(Family{name, help, kind, nil, []Figure{{Value: value}}})
}

// gauge appends a family with one number that goes up and down.
func (l *list) gauge(name, help string, value int) { l.one(Gauge, name, help, float64(value)) }

// counter appends a family with one number that only goes up.
func (l *list) counter(name, help string, value uint64) { l.one(Counter, name, help, float64(value)) }

// time appends a family with one histogram.
func (l *list) time(name, help string, h *stats.Histogram) {
	l.add(Family{name, help, Histogram, nil, []Figure{{Histogram: clone(h)}}})
}

// clone returns a copy of a histogram, because the next Take overwrites the sample.
func clone(h *stats.Histogram) *stats.Histogram {
	own := *h
	return &own
}

// Families returns the figures of the sample. They share no memory with it that Take writes.
// Whoever has the sample calls it, after the tick goes on.
func (s *Sample) Families() []Family {
	var l list
	s.ticks(&l)
	s.entities(&l)
	s.shards(&l)
	s.requests(&l)
	s.memory(&l)
	s.systems(&l)
	l = append(l, s.more...)
	for i := range l {
		l[i].distinguish()
	}
	return l
}

// ticks adds what the scheduler counts about ticks and the refresh.
func (s *Sample) ticks(l *list) {
	c := &s.Scheduler
	l.counter("atoll_ticks_total", "Ticks that the scheduler has made.", c.Ticks)
	l.gauge("atoll_tick", "Number of the next tick.", int(s.World.Tick))
	l.time("atoll_tick_duration_seconds", "How long ticks took: systems, Balancer and refresh, and what the scheduler's goroutine did since the tick before. The budget is for this.", &c.Time)
	l.time("atoll_tick_between_seconds", "How much of that came before the tick itself: OnTick, functions of Between, captures of the idle world.", &c.Between)
	l.time("atoll_tick_commit_seconds", "How long ticks waited for the log after their systems, if they are sealed. The duration is without it.", &c.Commit)
	l.one(Gauge, "atoll_tick_interval_seconds", "Time from one tick to the next, longer while a rung with Slow is in force.", c.Interval.Seconds())
	l.one(Gauge, "atoll_tick_budget_seconds", "Time that a tick may take, longer while a rung with Slow is in force.", c.Budget.Seconds())
	l.counter("atoll_tick_overruns_total", "Ticks that took longer than the budget.", c.Overruns)
	l.counter("atoll_ticks_skipped_total", "Ticks given up because Run was too far behind.", c.Skipped)
	l.one(Counter, "atoll_clock_slipped_seconds_total", "How long the policy SlowClock put ticks off because others took too long. Ticks given up, and what a rung with Slow adds, are not in it.", c.Slipped.Seconds())
	l.gauge("atoll_ladder_rung", "How many rungs of the ladder are in force.", c.Rung)
	l.gauge("atoll_paused", "1 while Run is paused, or would be.", map[bool]int{true: 1}[s.paused])
	l.gauge("atoll_workers", "Goroutines that run systems.", s.workers)
	l.counter("atoll_panics_total", "Panics of systems, functions, hooks and the like.", c.Panics)
	l.counter("atoll_balancer_moved_entities_total", "Entities that the Balancer decided to move.", c.Shifted)
	steps := Family{"atoll_refresh_step_duration_seconds", "How long the steps of refreshes took that had something to do.", Histogram, []string{"step"}, nil}
	for i := range s.World.Steps {
		x := &s.World.Steps[i]
		steps.Figures = append(steps.Figures, Figure{Values: []string{x.Name}, Histogram: clone(&x.Time)})
	}
	l.add(steps)
}

// entities adds how many entities there are by component set, the largest sets first.
func (s *Sample) entities(l *list) {
	sets := Family{"atoll_component_set_entities", "Entities by their components, separated by commas. The rarest are summed up as \"others\".", Gauge, []string{"components"}, nil}
	others := 0
	for i, x := range s.sets {
		if i >= SetsMax {
			others += x.N
			continue
		}
		var names []string
		for id := range x.Components.All {
			names = append(names, s.names[id].Name)
		}
		sets.Figures = append(sets.Figures, Figure{Values: []string{strings.Join(names, ",")}, Value: float64(x.N)})
	}
	if others > 0 {
		sets.Figures = append(sets.Figures, Figure{Values: []string{"others"}, Value: float64(others)})
	}
	l.add(sets)
}

// perShard makes a family with a figure for each shard, or for more than ShardsMax one for all,
// without a label.
func (s *Sample) perShard(kind Kind, name, help string, of func(shard int) float64) Family {
	f := Family{Name: name, Help: help, Kind: kind}
	sum := 0.0
	for i := range s.World.Shards {
		v := of(i)
		sum += v
		if len(s.World.Shards) <= ShardsMax {
			f.Figures = append(f.Figures, Figure{Values: []string{strconv.Itoa(i)}, Value: v})
		}
	}
	if f.Figures == nil {
		f.Figures = []Figure{{Value: sum}}
	} else {
		f.Labels = []string{"shard"}
	}
	return f
}

// shards adds what there is for each shard: entities, tables, indexes, and how long systems ran.
func (s *Sample) shards(l *list) {
	of := s.World.Shards
	l.gauge("atoll_shards", "Shards of the world.", len(of))
	l.add(s.perShard(Gauge, "atoll_entities", "Entities alive.", func(i int) float64 { return float64(of[i].Entities) }))
	l.add(s.perShard(Counter, "atoll_entities_created_total", "Entities created.", func(i int) float64 { return float64(of[i].Created) }))
	l.add(s.perShard(Counter, "atoll_entities_destroyed_total", "Entities destroyed.", func(i int) float64 { return float64(of[i].Destroyed) }))
	l.add(s.perShard(Counter, "atoll_entities_moved_in_total", "Entities that came from other shards.", func(i int) float64 { return float64(of[i].Arrived) }))
	l.add(s.perShard(Counter, "atoll_entities_moved_out_total", "Entities that went to other shards.", func(i int) float64 { return float64(of[i].Departed) }))
	s.homes(l)
	l.add(s.perShard(Gauge, "atoll_tables", "Tables, one for each component set and shard.", func(i int) float64 { return float64(of[i].Tables) }))
	for _, x := range []struct {
		name, help string
		of         func(scheduler.ShardTimes) time.Duration
	}{
		{"busy", "How long systems ran.", func(x scheduler.ShardTimes) time.Duration { return x.Busy }},
		{"waited", "How long the shard stood before systems for others to pass fences.", func(x scheduler.ShardTimes) time.Duration { return x.Waited }},
		{"held_up", "How long others stood because the shard was the last to pass.", func(x scheduler.ShardTimes) time.Duration { return x.HeldUp }},
	} {
		l.add(s.perShard(Counter, "atoll_shard_"+x.name+"_seconds_total", x.help, func(i int) float64 {
			return x.of(s.Scheduler.Shards[i]).Seconds()
		}))
	}
}

// homes adds how much of each home is used: those of shards have the numbers of the shards, or are
// summed up as "shards", and there is that of ports.
func (s *Sample) homes(l *list) {
	f := s.perShard(Gauge, "atoll_indexes_used", "Indexes of handles in use or retired, by home: a shard, or \"ports\" for what all ports create.", func(i int) float64 {
		return float64(s.World.Shards[i].Indexes)
	})
	if f.Labels == nil {
		f.Figures[0].Values = []string{"shards"}
	}
	f.Labels = []string{"home"}
	f.Figures = append(f.Figures, Figure{Values: []string{"ports"}, Value: float64(s.World.PortIndexes)})
	l.add(f)
	l.one(Gauge, "atoll_indexes_max", "Indexes that each home has: one more than Options.IndexMax.", float64(s.indexes))
}

// requests adds what became of requests, and how long they waited.
func (s *Sample) requests(l *list) {
	w := &s.World
	f := Family{"atoll_requests_total", "Requests that were applied at a refresh, by outcome.", Counter, []string{"outcome"}, nil}
	for _, x := range []struct {
		outcome string
		n       uint64
	}{{"applied", w.Applied}, {"gone", w.Gone}, {"missing", w.Missing}, {"refused", w.Refused}, {"failed", w.Failed}} {
		f.Figures = append(f.Figures, Figure{Values: []string{x.outcome}, Value: float64(x.n)})
	}
	l.add(f)
	l.counter("atoll_requests_rejected_total", "Requests that were not accepted, because a queue was full or a rung of the ladder refuses them.", w.Rejected)
	l.counter("atoll_outputs_total", "Values that were put into outputs.", w.Outputs)
	l.counter("atoll_outputs_handled_total", "Values of outputs for which a handler was called.", w.OutputsHandled)
	l.counter("atoll_outputs_dropped_total", "Values of outputs that had no handler.", w.OutputsDropped)
	l.gauge("atoll_requests_waiting", "Requests in the queues of ports.", w.Waiting)
	l.time("atoll_request_wait_seconds", "How long the request that a port sent first waited until the refresh that applied it had ended, for each refresh and port.", &w.Latency)
	l.gauge("atoll_ports", "Open ports.", w.Ports)
}

// memory adds what the world's memory is used for.
func (s *Sample) memory(l *list) {
	w := &s.World
	l.one(Gauge, "atoll_memory_used_bytes", "Bytes of occupied rows and given slots.", float64(w.BytesUsed))
	l.one(Gauge, "atoll_memory_reserved_bytes", "Bytes of all chunks and slots, and of what is held for more.", float64(w.BytesReserved))
	l.gauge("atoll_chunks", "Chunks of rows.", w.Chunks)
	l.gauge("atoll_slots_retired", "Slots whose versions are used up.", w.Retired)
	l.gauge("atoll_frames", "Frames that are held.", w.Frames)
	l.one(Gauge, "atoll_frames_bytes", "Bytes of the copies for frames.", float64(w.FramesBytes))
}

// systems adds what there is for each system: how often and how long it ran, and where.
func (s *Sample) systems(l *list) {
	all := s.Scheduler.Systems
	name := []string{"system"}
	took := Family{"atoll_system_duration_seconds", "How long a run of a system on a shard took.", Histogram, name, nil}
	waited := Family{"atoll_system_waited_seconds_total", "How long shards stood before a system at fences.", Counter, name, nil}
	panics := Family{"atoll_system_panics_total", "Panics of a system.", Counter, name, nil}
	enabled := Family{"atoll_system_enabled", "1 if the system is enabled.", Gauge, name, nil}
	by := Family{"atoll_system_shard_seconds_total", "How long a system ran on a shard. Left out for more than 1,024 pairs.", Counter, []string{"shard", "system"}, nil}
	for i := range all {
		x := &all[i]
		of := []string{x.Name}
		took.Figures = append(took.Figures, Figure{Values: of, Histogram: clone(&x.Time)})
		waited.Figures = append(waited.Figures, Figure{Values: of, Value: x.Waited.Seconds()})
		panics.Figures = append(panics.Figures, Figure{Values: of, Value: float64(x.Panics)})
		enabled.Figures = append(enabled.Figures, Figure{Values: of, Value: map[bool]float64{true: 1}[x.Enabled]})
		if !x.Global && len(s.pairs) > 0 {
			for k, y := range s.pairs[i] {
				by.Figures = append(by.Figures, Figure{Values: []string{strconv.Itoa(k), x.Name}, Value: y.Total.Seconds()})
			}
		}
	}
	for _, f := range []Family{took, waited, panics, enabled, by} {
		l.add(f)
	}
}
