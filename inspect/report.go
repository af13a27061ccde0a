package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/internal/figures"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/stats"
)

// report is the answer of /api/stats.
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

type quantiles struct {
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
	Count uint64        `json:"count"`
}

func quantilesOf(now, before *stats.Histogram) quantiles {
	h := now.Since(before)
	return quantiles{h.Quantile(0.5), h.Quantile(0.99), h.Max(), h.Count()}
}

type tickTimes struct {
	Count    uint64        `json:"count"` // of the last 10 seconds, as the quantiles
	Overruns uint64        `json:"overruns"`
	Skipped  uint64        `json:"skipped"`
	Slipped  time.Duration `json:"slipped_ns"`
	Interval time.Duration `json:"interval_ns"` // with the rungs that are in force, as the budget
	Budget   time.Duration `json:"budget_ns"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	Max      time.Duration `json:"max_ns"`
	Between  quantiles     `json:"between"` // how much of that came before the ticks: OnTick and the like
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

// waitsMax is how many pairs a report has: all those of 16 shards and the global systems.
const waitsMax = 16 * 17

type systemReport struct {
	Name    string              `json:"name"`
	Stage   string              `json:"stage"`
	Global  bool                `json:"global"`
	Enabled bool                `json:"enabled"`
	Runs    uint64              `json:"runs"`
	Panics  uint64              `json:"panics"`
	Share   float64             `json:"share"`
	P50     time.Duration       `json:"p50_ns"`
	P99     time.Duration       `json:"p99_ns"`
	Max     time.Duration       `json:"max_ns"`
	Total   time.Duration       `json:"total_ns"`  // since the start
	Waited  time.Duration       `json:"waited_ns"` // of all shards, a tick, over the last 10 seconds
	Shards  []systemShardReport `json:"shards,omitempty"`
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
	Name  string        `json:"name"`
	Runs  uint64        `json:"runs"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
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

// report makes the report of the sample, with quantiles of the time since before.
func (m *samples) report(s *schema, now, before *moment, paused bool) *report {
	w, c := &m.world, &m.scheduler
	t := quantilesOf(&now.time, &before.time)
	r := &report{
		Tick: w.Tick, At: now.at.UnixMilli(), Paused: paused, Rung: c.Rung, Running: m.x.s.Running(),
		Ticks:  tickTimes{t.Count, c.Overruns, c.Skipped, c.Slipped, c.Interval, c.Budget, t.P50, t.P99, t.Max, quantilesOf(&now.between, &before.between)},
		Panics: c.Panics, Entities: w.Entities, Created: w.Created, Destroyed: w.Destroyed, Moved: w.Moved, Applied: w.Applied,
		Gone: w.Gone, Missing: w.Missing, Refused: w.Refused, Failed: w.Failed, Rejected: w.Rejected, Waiting: w.Waiting, Ports: w.Ports,
		Latency: quantilesOf(&now.latency, &before.latency), Indexes: w.Indexes, OfPorts: w.PortIndexes, EachHome: int(m.x.w.Options().IndexMax) + 1, Retired: w.Retired, Tables: w.Tables, Chunks: w.Chunks,
		Used: w.BytesUsed, Reserved: w.BytesReserved, Frames: w.Frames, Copies: w.FramesBytes,
		Systems: []systemReport{}, Steps: []stepReport{}, Sets: []setReport{}, Others: []otherReport{},
	}
	r.addShards(m, now)
	r.addSystems(m, now, before)
	for i := range w.Steps {
		q := quantiles{}
		if i < len(before.steps) {
			q = quantilesOf(&now.steps[i], &before.steps[i])
		}
		h := &w.Steps[i].Time
		r.Steps = append(r.Steps, stepReport{w.Steps[i].Name, h.Count(), q.P50, q.P99, q.Max, h.Sum()})
	}
	for _, family := range m.others {
		for _, x := range family.Figures {
			if x.Histogram != nil || math.IsNaN(x.Value) || math.IsInf(x.Value, 0) {
				continue
			}
			of := otherReport{family.Name, family.Help, x.Value, map[string]string{}}
			for i, name := range family.Labels {
				of.Labels[name] = x.Values[i]
			}
			r.Others = append(r.Others, of)
		}
	}
	for _, x := range m.sets {
		of := setReport{[]string{}, x.n, x.shards}
		for id := range x.set.All {
			of.Components = append(of.Components, s.Components[id].Name)
		}
		r.Sets = append(r.Sets, of)
	}
	return r
}

func (r *report) addShards(m *samples, now *moment) {
	second := m.second(now)
	ticks := time.Duration(max(1, now.ticks-second.ticks))
	for i, x := range m.world.Shards {
		of := shardReport{
			Shard: i, Entities: x.Entities, Indexes: x.Indexes, Created: x.Created, Destroyed: x.Destroyed, MovedIn: x.Arrived, MovedOut: x.Departed, Tables: x.Tables,
			Busy: (now.shards[i].busy - second.shards[i].busy) / ticks, Waited: (now.shards[i].waited - second.shards[i].waited) / ticks,
			HeldUp: (now.shards[i].heldUp - second.shards[i].heldUp) / ticks,
		}
		r.Shards = append(r.Shards, of)
	}
	r.Waits = waitsSince(now.waits, second.waits, ticks)
}

// waitsSince returns which shards waited for which since a moment, longest first.
func waitsSince(now, before []scheduler.Wait, ticks time.Duration) []waitReport {
	all := []waitReport{}
	for _, x := range now {
		if len(before) > 0 && before[0].Shard == x.Shard && before[0].For == x.For { // both have the same order
			x.Time -= before[0].Time
			before = before[1:]
		}
		if x.Time >= ticks {
			all = append(all, waitReport{x.Shard, x.For, x.Time / ticks})
		}
	}
	slices.SortStableFunc(all, func(a, b waitReport) int { return cmp.Compare(b.Waited, a.Waited) })
	return all[:min(len(all), waitsMax)]
}

func (r *report) addSystems(m *samples, now, before *moment) {
	same := len(before.systems) == len(now.systems) // or systems were added since
	ticks := time.Duration(max(1, now.ticks-before.ticks))
	all := time.Duration(0)
	for i := range now.total {
		if all += now.total[i]; same {
			all -= before.total[i]
		}
	}
	for i := range m.scheduler.Systems {
		x := &m.scheduler.Systems[i]
		was, took, waited := &stats.Histogram{}, x.Total, x.Waited
		if same {
			was, took, waited = &before.systems[i], took-before.total[i], waited-before.waited[i]
		}
		q := quantilesOf(&now.systems[i], was)
		of := systemReport{
			Name: x.Name, Stage: m.x.stageOf(x.Name), Global: x.Global, Enabled: x.Enabled, Runs: x.Runs, Panics: x.Panics,
			Share: float64(took) / float64(max(1, all)), P50: q.P50, P99: q.P99, Max: q.Max, Total: x.Total, Waited: waited / ticks,
		}
		if len(m.pairs) > 0 {
			of.addShards(m.pairs[i])
		}
		r.Systems = append(r.Systems, of)
	}
}

func (r *systemReport) addShards(shards []scheduler.ShardStats) {
	for k, y := range shards {
		if r.Global {
			k = world.AllShards
		}
		r.Shards = append(r.Shards, systemShardReport{k, y.Runs, y.Total, y.Last, y.Max, y.Waited, y.HeldUp, y.Off})
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

// serveWorld answers with the facts that do not change.
func (x *Inspector) serveWorld(w http.ResponseWriter, r *http.Request) error {
	s, err := x.schemaNow(r.Context())
	if err != nil {
		return err
	}
	type fieldJSON struct {
		Path    string `json:"path"`
		Type    string `json:"type"`
		Numeric bool   `json:"numeric"`
	}
	type componentJSON struct {
		Name   string      `json:"name"`
		Type   string      `json:"type"`
		Size   uintptr     `json:"size"`
		Framed bool        `json:"framed"`
		WhyNot string      `json:"why_not"`
		Fields []fieldJSON `json:"fields"`
	}
	components := []componentJSON{}
	for i := range s.Components {
		c := &s.Components[i]
		of := componentJSON{c.Name, c.Type.String(), c.Type.Size(), c.Framed, c.WhyNot, []fieldJSON{}}
		for k := range c.Fields {
			f := &c.Fields[k]
			of.Fields = append(of.Fields, fieldJSON{f.Path, f.Type.String(), f.Numeric()})
		}
		components = append(components, of)
	}
	writeJSON(w, http.StatusOK, struct {
		Name       string          `json:"name"`
		Version    string          `json:"version"`
		Started    int64           `json:"started_ms"`
		Shards     int             `json:"shards"`
		Workers    int             `json:"workers"`
		Controls   bool            `json:"controls"`
		Components []componentJSON `json:"components"`
		Messages   []string        `json:"messages"`
		Resources  []string        `json:"resources"`
		Flags      int             `json:"flags"`
	}{
		x.o.Name, version(), x.samples.began.UnixMilli(), x.w.Shards(), x.s.Workers(),
		x.o.Token != "", components, s.messages, s.resources, 8,
	})
	return nil
}

// version returns the version of this module in the program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/atoll-sim/atoll" && m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
}

// serveMetrics answers with the figures for Prometheus.
func (x *Inspector) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	body, err := x.answers.of(r.Context(), "metrics", frameAge, func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, waitMax)
		defer cancel()
		return figures.AppendText(nil, x.figures.Read(ctx)), nil
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", figures.TextType)
	_, _ = w.Write(body) // if it fails, the reader is gone
	return nil
}
