package soak

import (
	"fmt"
	"io"
	"time"
)

// Summary is the result of a run. Counts are of the whole run, including the warm-up;
// start is after the warm-up.
type Summary struct {
	Seconds  float64 `json:"seconds"` // after the warm-up
	Seed     uint64  `json:"seed"`
	Entities int     `json:"entities"` // at the end
	Clients  int     `json:"clients"`
	Shards   int     `json:"shards"`
	Workers  int     `json:"workers"`

	Ops        uint64  `json:"ops"` // requests and checks by clients
	Ticks      uint64  `json:"ticks"`
	Created    uint64  `json:"created"`
	Destroyed  uint64  `json:"destroyed"`
	Applied    uint64  `json:"applied"` // requests, as of the next three
	Gone       uint64  `json:"gone"`
	Missing    uint64  `json:"missing"`
	Rejected   uint64  `json:"rejected"`
	Panics     uint64  `json:"panics"`        // of systems, on purpose
	ChurnPart  float64 `json:"churn_percent"` // of the entities, destroyed each second after the warm-up
	Audits     uint32  `json:"audits"`        // of the whole world
	Violations uint64  `json:"violations"`

	HeapStart       float64 `json:"heap_start_mb"`
	HeapEnd         float64 `json:"heap_end_mb"`
	RSSStart        float64 `json:"rss_start_mb"`
	RSSEnd          float64 `json:"rss_end_mb"`
	GoroutinesStart int     `json:"goroutines_start"`
	GoroutinesEnd   int     `json:"goroutines_end"`

	// Texts are those of the first violations.
	Texts []string `json:"violation_texts,omitempty"`
}

// OK reports whether nothing was wrong.
func (s *Summary) OK() bool { return s.Violations == 0 }

func (k *soak) summarize(start, end reading, measured time.Duration) *Summary {
	s := &Summary{
		Seconds: measured.Seconds(), Seed: k.config.Seed, Entities: k.stats.Entities, Clients: len(k.clients),
		Shards: k.w.Shards(), Workers: k.scheduler.Workers(),
		Ops: k.operations(), Ticks: k.w.Tick(), Created: k.stats.Created, Destroyed: k.stats.Destroyed,
		Applied: k.stats.Applied, Gone: k.stats.Gone, Missing: k.stats.Missing, Rejected: k.stats.Rejected,
		Panics: k.told, Audits: k.audits,
		HeapStart: mb(start.heap), HeapEnd: mb(end.heap), RSSStart: mb(start.rss), RSSEnd: mb(end.rss),
		GoroutinesStart: start.goroutines, GoroutinesEnd: end.goroutines,
	}
	if s.Entities > 0 && measured > 0 {
		s.ChurnPart = 100 * float64(k.stats.Destroyed-k.base.Destroyed) / float64(s.Entities) / measured.Seconds()
	}
	s.Violations, s.Texts = k.all()
	return s
}

// Write writes the result for people.
func (s *Summary) Write(w io.Writer) {
	_, _ = fmt.Fprintf(w, "\n%d operations in %d ticks, %.0f s after the warm-up; %d audits of the whole world\n", s.Ops, s.Ticks, s.Seconds, s.Audits)
	_, _ = fmt.Fprintf(w, "%d entities; %d created, %d destroyed: %.0f %% replaced each second; %d panics of its own systems, on purpose\n", s.Entities, s.Created, s.Destroyed, s.ChurnPart, s.Panics)
	_, _ = fmt.Fprintf(w, "requests: %d applied, %d gone, %d missing, %d rejected\n", s.Applied, s.Gone, s.Missing, s.Rejected)
	_, _ = fmt.Fprintf(w, "heap %.1f → %.1f MB, resident %.1f → %.1f MB, goroutines %d → %d\n",
		s.HeapStart, s.HeapEnd, s.RSSStart, s.RSSEnd, s.GoroutinesStart, s.GoroutinesEnd)
	_, _ = fmt.Fprintf(w, "%d violations\n", s.Violations)
}
