package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/internal/figures"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/stats"
)

// sample is what a report is made of.
type sample struct {
	moment
	pairs  [][]scheduler.ShardStats // by system; none if nobody asks for them
	sets   []figures.Set
	others []figures.Family
	stages map[string]string // of systems, as of the last plan
	paused bool
}

// report is the answer of /api/stats.
//
// Ownership: the goroutine that takes a sample.
type report struct {
	Tick    uint64    `json:"tick"`
	At      int64     `json:"at_ms"`
	Paused  bool      `json:"paused"`
	Rung    int       `json:"rung"`
	Running bool      `json:"running"`
	Ticks   tickTimes `json:"ticks"`
	Panics  uint64    `json:"panics"`

	Entities  int    `json:"entities"`
	Created   uint64 `json:"created"`
	Destroyed uint64 `json:"destroyed"`
	Moved     uint64 `json:"moved"`
	Applied   uint64 `json:"applied"`
	Gone      uint64 `json:"gone"`
	Missing   uint64 `json:"missing"`
	Refused   uint64 `json:"refused"`
	Failed    uint64 `json:"failed"`
	Rejected  uint64 `json:"rejected"`
	Waiting   int    `json:"waiting"`
	Ports     int    `json:"ports"`

	Latency  quantiles `json:"latency"`
	Indexes  int       `json:"indexes"`
	OfPorts  int       `json:"port_indexes"`
	EachHome int       `json:"home_indexes"`
	Retired  int       `json:"retired"`
	Tables   int       `json:"tables"`
	Chunks   int       `json:"chunks"`
	Used     uint64    `json:"bytes_used"`
	Reserved uint64    `json:"bytes_reserved"`
	Frames   int       `json:"frames"`
	Copies   uint64    `json:"frames_bytes"`

	Shards  []shardReport  `json:"shards"`
	Waits   []waitReport   `json:"waits"`
	Systems []systemReport `json:"systems"`
	Steps   []stepReport   `json:"steps"`
	Sets    []setReport    `json:"sets"`
	Others  []otherReport  `json:"others"`
}

// times are quantiles of what happened since a moment.
type times struct {
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`
	Max time.Duration `json:"max_ns"`
}

type quantiles struct {
	times
	Count uint64 `json:"count"`
}

// quantilesOf returns the quantiles of what came between two states of a histogram.
func quantilesOf(now, before *stats.Histogram) quantiles {
	h := now.Since(before)
	return quantiles{times{h.Quantile(0.5), h.Quantile(0.99), h.Max()}, h.Count()}
}

type tickTimes struct {
	quantiles               // of the last 10 seconds
	Overruns  uint64        `json:"overruns"`
	Skipped   uint64        `json:"skipped"`
	Slipped   time.Duration `json:"slipped_ns"`
	Interval  time.Duration `json:"interval_ns"` // with the rungs that are in force, as the budget
	Budget    time.Duration `json:"budget_ns"`
	Between   quantiles     `json:"between"` // how much of that came before the ticks: OnTick and the like
}

type shardReport struct {
	Shard     int           `json:"shard"`
	Entities  int           `json:"entities"`
	Indexes   int           `json:"indexes"`
	Created   uint64        `json:"created"`
	Destroyed uint64        `json:"destroyed"`
	MovedIn   uint64        `json:"moved_in"`
	MovedOut  uint64        `json:"moved_out"`
	Tables    int           `json:"tables"`
	Busy      time.Duration `json:"busy_ns"` // these three a tick, over the last second
	Waited    time.Duration `json:"waited_ns"`
	HeldUp    time.Duration `json:"held_up_ns"`
}

// waitReport is how long a shard waited at fences for another, or for global systems (-1), in a
// tick of the last second.
type waitReport struct {
	Shard  int           `json:"shard"`
	For    int           `json:"for"`
	Waited time.Duration `json:"waited_ns"`
}

// setsMax is how many component sets a report has: those with most entities.
const setsMax = 100

// waitsMax is how many pairs a report has: all those of 16 shards and the global systems.
const waitsMax = 16 * 17

type systemReport struct {
	Name    string  `json:"name"`
	Stage   string  `json:"stage"`
	Global  bool    `json:"global"`
	Enabled bool    `json:"enabled"`
	Runs    uint64  `json:"runs"`
	Panics  uint64  `json:"panics"`
	Share   float64 `json:"share"`
	times
	Total  time.Duration       `json:"total_ns"`  // since the start
	Waited time.Duration       `json:"waited_ns"` // of all shards, a tick, over the last 10 seconds
	Shards []systemShardReport `json:"shards,omitempty"`
}

// systemShardReport counts since the start.
type systemShardReport struct {
	Shard  int           `json:"shard"`
	Runs   uint64        `json:"runs"`
	Total  time.Duration `json:"total_ns"`
	Last   time.Duration `json:"last_ns"`
	Max    time.Duration `json:"max_ns"`
	Waited time.Duration `json:"waited_ns"`
	HeldUp time.Duration `json:"held_up_ns"`
	Off    bool          `json:"off"`
}

type stepReport struct {
	Name string `json:"name"`
	Runs uint64 `json:"runs"`
	times
	Total time.Duration `json:"total_ns"`
}

type setReport struct {
	Components []string `json:"components"`
	Entities   int      `json:"entities"`
	Shards     []int    `json:"shards"`
}

// otherReport is a figure of something besides the entities.
type otherReport struct {
	Name   string            `json:"name"`
	Help   string            `json:"help"`
	Value  float64           `json:"value"`
	Labels map[string]string `json:"labels"`
}

// reportOf makes the report of a sample: with quantiles of the time since before, and with what
// shards did in each tick since second. The goroutine that takes the sample calls it, while the
// world ticks on. It changes none of them.
func reportOf(v *visitor, schema *schema, now *sample, before, second *moment) *report {
	w, c, was := &now.world, &now.scheduler, &before.scheduler
	r := &report{
		Tick: w.Tick, At: now.at.UnixMilli(), Paused: now.paused, Rung: c.Rung, Running: v.s.Running(),
		Ticks:  tickTimes{quantilesOf(&c.Time, &was.Time), c.Overruns, c.Skipped, c.Slipped, c.Interval, c.Budget, quantilesOf(&c.Between, &was.Between)},
		Panics: c.Panics, Entities: w.Entities, Created: w.Created, Destroyed: w.Destroyed, Moved: w.Moved, Applied: w.Applied,
		Gone: w.Gone, Missing: w.Missing, Refused: w.Refused, Failed: w.Failed, Rejected: w.Rejected, Waiting: w.Waiting, Ports: w.Ports,
		Latency: quantilesOf(&w.Latency, &before.world.Latency), Indexes: w.Indexes, OfPorts: w.PortIndexes, EachHome: int(v.w.Options().IndexMax) + 1, Retired: w.Retired, Tables: w.Tables, Chunks: w.Chunks,
		Used: w.BytesUsed, Reserved: w.BytesReserved, Frames: w.Frames, Copies: w.FramesBytes,
		Systems: []systemReport{}, Steps: []stepReport{}, Sets: []setReport{}, Others: []otherReport{},
	}
	r.addShards(now, second)
	r.addSystems(now, was)
	for i := range w.Steps {
		var q quantiles
		h := &w.Steps[i].Time
		if i < len(before.world.Steps) {
			q = quantilesOf(h, &before.world.Steps[i].Time)
		}
		r.Steps = append(r.Steps, stepReport{w.Steps[i].Name, h.Count(), q.times, h.Sum()})
	}
	for _, family := range now.others {
		for _, f := range family.Figures {
			if f.Histogram != nil || math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
				continue
			}
			of := otherReport{family.Name, family.Help, f.Value, map[string]string{}}
			for i, name := range family.Labels {
				of.Labels[name] = f.Values[i]
			}
			r.Others = append(r.Others, of)
		}
	}
	for _, set := range now.sets[:min(len(now.sets), setsMax)] {
		r.Sets = append(r.Sets, setReport{schema.componentsOf(set.Components), set.N, set.Shards})
	}
	return r
}

// addShards adds what each shard did, and which waited for which, to a report that is being made.
func (r *report) addShards(now *sample, second *moment) {
	ticks := time.Duration(max(1, now.scheduler.Ticks-second.scheduler.Ticks))
	for i, s := range now.world.Shards {
		is, was := now.shard(i), second.shard(i)
		r.Shards = append(r.Shards, shardReport{
			Shard: i, Entities: s.Entities, Indexes: s.Indexes, Created: s.Created, Destroyed: s.Destroyed, MovedIn: s.Arrived, MovedOut: s.Departed, Tables: s.Tables,
			Busy: (is.Busy - was.Busy) / ticks, Waited: (is.Waited - was.Waited) / ticks, HeldUp: (is.HeldUp - was.HeldUp) / ticks,
		})
	}
	r.Waits = waitsSince(now.scheduler.Waits, second.scheduler.Waits, ticks)
}

// waitsSince returns which shards waited for which since a moment, longest first, for a report.
func waitsSince(now, before []scheduler.Wait, ticks time.Duration) []waitReport {
	all := []waitReport{}
	for _, w := range now {
		if len(before) > 0 && before[0].Shard == w.Shard && before[0].For == w.For { // both have the same order
			w.Time -= before[0].Time
			before = before[1:]
		}
		if w.Time >= ticks {
			all = append(all, waitReport{w.Shard, w.For, w.Time / ticks})
		}
	}
	slices.SortStableFunc(all, func(a, b waitReport) int { return cmp.Compare(b.Waited, a.Waited) })
	return all[:min(len(all), waitsMax)]
}

// addSystems adds what each system took since before, and its share of the time of all, to a report
// that is being made.
func (r *report) addSystems(now *sample, before *scheduler.Stats) {
	ticks := time.Duration(max(1, now.scheduler.Ticks-before.Ticks))
	all := time.Duration(0)
	for i := range now.scheduler.Systems {
		s := &now.scheduler.Systems[i]
		was := &scheduler.SystemStats{}
		if len(before.Systems) == len(now.scheduler.Systems) { // or systems were added since
			was = &before.Systems[i]
		}
		took := s.Total - was.Total
		all += took
		of := systemReport{
			Name: s.Name, Stage: now.stages[s.Name], Global: s.Global, Enabled: s.Enabled, Runs: s.Runs, Panics: s.Panics,
			Share: float64(took), times: quantilesOf(&s.Time, &was.Time).times, Total: s.Total, Waited: (s.Waited - was.Waited) / ticks,
		}
		if len(now.pairs) > 0 {
			of.addShards(now.pairs[i])
		}
		r.Systems = append(r.Systems, of)
	}
	for i := range r.Systems {
		r.Systems[i].Share /= float64(max(1, all))
	}
}

// addShards adds what the system did on each shard. Only full reports have that.
func (s *systemReport) addShards(shards []scheduler.ShardStats) {
	for k, on := range shards {
		if s.Global {
			k = world.AllShards
		}
		s.Shards = append(s.Shards, systemShardReport{k, on.Runs, on.Total, on.Last, on.Max, on.Waited, on.HeldUp, on.Off})
	}
}

// encode writes the report as JSON; full adds what each system did on each shard.
func (r *report) encode(full bool) []byte {
	own := *r
	if !full {
		own.Systems = append([]systemReport{}, r.Systems...)
		for i := range own.Systems {
			own.Systems[i].Shards = nil
		}
	}
	body, _ := json.Marshal(&own) // of numbers and texts
	return body
}

// withAge adds the age of a report.
func withAge(body []byte, age time.Duration) []byte {
	return append(fmt.Appendf(nil, `{"age_ms":%d,`, age.Milliseconds()), body[1:]...)
}
