// Package metrics gives the statistics of a world and its scheduler to Prometheus. It is a module
// of its own, so that other programs do not compile Prometheus' client.
//
//	registry := prometheus.NewRegistry()
//	registry.MustRegister(metrics.New(s))
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// A scrape reads between two ticks, about a tenth of a microsecond for each pair of a system and a
// shard. Without scrapes it costs nothing. The names begin with atoll_, times are in seconds, and
// labels are bounded: docs/metrics.md lists all, and docs/grafana.json is a dashboard of them.
// OpenTelemetry takes them by its bridge for Prometheus,
// go.opentelemetry.io/contrib/bridges/prometheus. Package inspect serves the same without this
// module.
package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atoll-sim/atoll/internal/figures"
	"github.com/atoll-sim/atoll/scheduler"
)

// waitMax is how long a scrape waits for the end of a tick.
const waitMax = time.Second

// collector is a prometheus.Collector.
type collector struct{ reader *figures.Reader }

// New returns a collector of the figures of a scheduler and its world, for one registry. To
// register two worlds in one registry, wrap each by prometheus.WrapRegistererWith with a label of
// yours.
//
// A scrape waits for the end of the tick that is under way, at most a second. After that it gets
// the figures of the last scrape, with their age as atoll_sample_age_seconds: when ticks stop,
// atoll_ticks_total stops, too.
func New(s *scheduler.Scheduler) prometheus.Collector {
	if s == nil {
		panic("metrics: New of a nil Scheduler; pass that of scheduler.New")
	}
	return &collector{figures.NewReader(s)}
}

// Describe describes nothing: which figures there are depends on what the world has, so the
// collector is an unchecked one.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the figures between two ticks, and gives them to Prometheus. A scrape calls it, on
// any goroutine. If the world stands it gives the last ones.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	collect(c.reader.Read(ctx), to)
}

// collect gives families to Prometheus, on the goroutine of the scrape.
func collect(families []figures.Family, to chan<- prometheus.Metric) {
	for _, f := range families {
		desc := prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
		for _, x := range f.Figures {
			to <- metric(desc, f.Kind, x)
		}
	}
}

// metric returns a figure as Prometheus has it. It panics for labels that Prometheus refuses, of
// which Families makes none.
func metric(desc *prometheus.Desc, kind figures.Kind, x figures.Figure) prometheus.Metric {
	switch kind {
	case figures.Histogram:
		buckets := map[float64]uint64{}
		for bound, n := range x.Histogram.Buckets() {
			buckets[bound.Seconds()] = n
		}
		return prometheus.MustNewConstHistogram(desc, x.Histogram.Count(), x.Histogram.Sum().Seconds(), buckets, x.Values...)
	case figures.Counter:
		return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, x.Value, x.Values...)
	default:
		return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, x.Value, x.Values...)
	}
}
