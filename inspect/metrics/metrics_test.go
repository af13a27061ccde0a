package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/inspect/metrics"
	"github.com/atoll-sim/atoll/internal/figures"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	Health struct{ HP int }
	Unit   struct{ Health }
	Wake   struct{}
)

// newWorld makes a world with one of each thing that has figures, which TestMeasured holds, and
// more systems that do nothing.
func newWorld(t testing.TB, shards int, systems ...string) (*world.World, *scheduler.Scheduler) {
	t.Helper()
	w := world.MustNew(world.Options{Shards: shards, TickInterval: time.Millisecond, VersionsEach: 10_000})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	wake := world.RegisterMessage[Wake](w, "wake")
	timers := timer.New(w, "waking", wake, timer.Options{})
	transit.New(w, "roads", transit.Options{World: 1})
	hierarchy.New(w, "crew", hierarchy.Options{})
	called := names.New[string](w, "players", names.Options{})
	scores := world.RegisterMessage[async.Result[int]](w, "scores")
	async.New(w, "scoring", scores, func(context.Context, int) (int, error) { return 0, nil }, async.Options{})
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("we say \"hurt\"\\", func(b *world.Build) func(*world.Context) {
		health := world.Write[Health](b)
		q := b.Query(health)
		return func(*world.Context) {
			for ch := range q.Chunks() {
				for i := range health.Slice(ch) {
					health.Slice(ch)[i].HP--
				}
			}
		}
	})
	for _, name := range systems {
		s.MustAdd(name, func(*world.Build) func(*world.Context) { return func(*world.Context) {} })
	}
	fill := func(w *world.World) error {
		if err := units.CreateN(w, 6000, nil); err != nil {
			return err
		}
		h, err := units.Create(w, Unit{})
		if err == nil {
			err = called.Bind(w, h, "Ann")
		}
		if err == nil {
			_, err = timers.After(w, h, 1000, Wake{})
		}
		return err
	}
	store, err := durable.Open(t.Context(), t.TempDir(), w, s, durable.Options{New: fill})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return w, s
}

// scrape returns what a registry with the collector serves.
func scrape(t testing.TB, s *scheduler.Scheduler) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.New(s))
	return served(t, registry)
}

func served(t testing.TB, registry *prometheus.Registry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	return answer.Body.String()
}

// run lets ticks go on until the test ends.
func run(t testing.TB, s *scheduler.Scheduler) {
	t.Helper()
	require.NoError(t, s.Step(t.Context())) // figures have systems from the first tick on
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
}

// TestCollect scrapes a world that ticks, and holds the names against Prometheus' rules.
func TestCollect(t *testing.T) {
	_, s := newWorld(t, 3)
	run(t, s)
	text := scrape(t, s)
	for _, line := range []string{
		`atoll_up 1`, `atoll_shards 3`, `atoll_indexes_used{home="2"} 2000`, `atoll_indexes_used{home="ports"} 0`, `atoll_component_set_entities{components="health"} 6001`,
		`atoll_timers{of="waking"} 1`, `atoll_transit_items{of="roads"} 0`, `atoll_names{of="players"} 1`, `atoll_relation_children{of="crew"} 0`, `atoll_async_pending{of="scoring"} 0`, `atoll_store_failed 0`, `atoll_system_enabled{system="we say \"hurt\"\\"} 1`,
		`atoll_system_duration_seconds_count{system="we say \"hurt\"\\"} `, `atoll_refresh_step_duration_seconds_bucket{step="gather",le="+Inf"} `,
	} {
		require.Contains(t, text, line)
	}
	for name := range families(t, text) {
		require.True(t, strings.HasPrefix(name, "atoll_"), name)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

// families parses the text format.
func families(t testing.TB, text string) map[string]int {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	n := map[string]int{}
	for name, f := range all {
		n[name] = len(f.Metric)
	}
	return n
}

// TestText has the core's own writer tell the same as Prometheus'.
func TestText(t *testing.T) {
	w, s := newWorld(t, 2)
	for range 5 {
		require.NoError(t, s.Step(t.Context()))
	}
	sample := new(figures.Sample)
	sample.Take(s, w)
	own := figures.AppendText(nil, sample.Families())
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(fixed{sample})
	theirs := served(t, registry)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	a, err := parser.TextToMetricFamilies(bytes.NewReader(own))
	require.NoError(t, err)
	parser = expfmt.NewTextParser(model.UTF8Validation)
	b, err := parser.TextToMetricFamilies(strings.NewReader(theirs))
	require.NoError(t, err)
	require.Equal(t, len(b), len(a))
	for name, f := range a {
		require.Equal(t, b[name].GetType(), f.GetType(), name)
		require.Equal(t, b[name].GetHelp(), f.GetHelp(), name)
		require.True(t, slices.Equal(sorted(b[name]), sorted(f)), name)
	}
}

// sorted returns the metrics of a family as texts, in order.
func sorted(f *dto.MetricFamily) (all []string) {
	for _, m := range f.Metric {
		all = append(all, m.String())
	}
	slices.Sort(all)
	return all
}

// TestDocuments holds docs/metrics.md and the dashboard against what there is. With -update it
// writes the first.
func TestDocuments(t *testing.T) {
	_, s := newWorld(t, 2)
	run(t, s)
	all := figures.NewReader(s).Read(t.Context())
	slices.SortStableFunc(all, func(a, b figures.Family) int { return strings.Compare(a.Name, b.Name) })
	table := "| name | kind | labels | what it is |\n|---|---|---|---|\n"
	known := map[string]bool{}
	for _, f := range all {
		known[f.Name] = true
		table += fmt.Sprintf("| `%s` | %v | %s | %s |\n", f.Name, f.Kind, strings.Join(f.Labels, ", "), f.Help)
	}
	const path = "../../docs/metrics.md"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const mark = "<!-- the table -->\n"
	before, _, ok := strings.Cut(string(text), mark)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+mark+table), 0o644))
		return
	}
	require.Equal(t, before+mark+table, string(text), "run go test ./inspect/metrics -run TestDocuments -update")

	text, err = os.ReadFile("../../docs/grafana.json")
	require.NoError(t, err)
	var dashboard any
	require.NoError(t, json.Unmarshal(text, &dashboard))
	named := regexp.MustCompile(`atoll_[a-z_]+`).FindAllString(string(text), -1)
	require.NotEmpty(t, named)
	for _, name := range named {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum")
		require.True(t, known[base] || known[name], "%s of the dashboard is no metric", name)
	}
}

// TestMeasured finds each name that a package of the library gives to something it measures, so
// that the world of these tests, and with it docs/metrics.md, lacks none.
func TestMeasured(t *testing.T) {
	_, s := newWorld(t, 1)
	run(t, s)
	var served []string
	for _, f := range figures.NewReader(s).Read(t.Context()) {
		served = append(served, f.Name)
	}
	named := regexp.MustCompile(`Measured\{Name: "(\w+)"( \+ )?`)
	n := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range named.FindAllStringSubmatch(string(text), -1) {
			n++
			require.True(t, slices.ContainsFunc(served, func(name string) bool {
				return name == found[1] || found[2] != "" && strings.HasPrefix(name, found[1])
			}), "%s measures %s, which newWorld has nothing of", path, found[1])
		}
		return err
	}))
	require.GreaterOrEqual(t, n, 6, "they are written in another way now")
}

var update = flag.Bool("update", false, "write docs/metrics.md")

// TestLimits has so many shards and systems that not each has figures of its own.
func TestLimits(t *testing.T) {
	w, s := newWorld(t, figures.ShardsMax+1, "1", "2", "3", "4", "5", "6", "7", "8")
	require.NoError(t, s.Step(t.Context()))
	sample := new(figures.Sample)
	sample.Take(s, w)
	text := string(figures.AppendText(nil, sample.Families()))
	require.Contains(t, text, "\natoll_entities 6001\n")
	require.Contains(t, text, "\natoll_indexes_used{home=\"shards\"} 6001\n")
	require.Contains(t, text, "\natoll_indexes_used{home=\"ports\"} 0\n")
	n := families(t, text)
	require.Equal(t, 1, n["atoll_shard_busy_seconds_total"])
	require.Zero(t, n["atoll_system_shard_seconds_total"])
	require.Equal(t, 9, n["atoll_system_duration_seconds"])
}

// TestStands scrapes a world that makes no ticks: a scrape gets what there was, and its age.
func TestStands(t *testing.T) {
	_, s := newWorld(t, 1)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.New(s))
	require.Contains(t, served(t, registry), "atoll_up 0")
	require.NoError(t, s.Step(t.Context())) // the reading of before is made now
	text := served(t, registry)
	require.Contains(t, text, "atoll_up 1")
	require.Contains(t, text, "atoll_sample_age_seconds ")
	closed := world.MustNew(world.Options{})
	registry = prometheus.NewRegistry()
	registry.MustRegister(metrics.New(scheduler.New(closed, scheduler.Options{})))
	closed.Close()
	require.Contains(t, served(t, registry), "atoll_up 0")
	require.Panics(t, func() { metrics.New(nil) })
}

// TestMany scrapes from many goroutines while ticks run.
func TestMany(t *testing.T) {
	_, s := newWorld(t, 2)
	run(t, s)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.New(s))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	done := make(chan error)
	for range 8 {
		go func() {
			var err error
			for range 10 {
				var answer *http.Response
				if answer, err = http.Get(server.URL); err != nil {
					break
				}
				_, err = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
			done <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
}

func Example() {
	w := world.MustNew(world.Options{})
	s := scheduler.New(w, scheduler.Options{})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { _ = s.Run(ctx) }()

	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.New(s))
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	n, err := testutil.GatherAndCount(registry, "atoll_ticks_total")
	fmt.Println(n, err)
	// Output:
	// 1 <nil>
}

// fixed collects one sample.
type fixed struct{ sample *figures.Sample }

func (f fixed) Describe(chan<- *prometheus.Desc) {}

func (f fixed) Collect(to chan<- prometheus.Metric) { metrics.Collect(f.sample.Families(), to) }
