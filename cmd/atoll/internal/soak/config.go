package soak

import (
	"errors"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Range is the range of a setting, both ends included.
type Range struct{ Min, Max int }

// The ranges of the settings in a Config.
var (
	EntitiesRange = Range{1000, 16_000_000}
	ClientsRange  = Range{1, 4096}
	ChurnRange    = Range{0, 1000}
	ShardsRange   = Range{0, 1024}
	WorkersRange  = Range{0, 1024}
	HzRange       = Range{1, 1000}
	QueueRange    = Range{16, 1 << 20}
	VersionsRange = Range{0, handle.VersionMax}
)

// Config says what to run. See Default.
type Config struct {
	Duration time.Duration // after the warm-up; 0: until the context ends
	WarmUp   time.Duration // before measuring begins
	Seed     uint64
	Entities int // alive at a time
	Clients  int // goroutines outside of the tick
	Churn    int // percent of the entities that systems replace each second
	Shards   int // 0: the world's default
	Workers  int // 0: GOMAXPROCS
	Hz       int // ticks per second
	Queue    int // requests that a port may have under way
	Versions int // times a slot is used; 0: the world's default

	heapGrowthMax float64 // more growth is a violation, as parts of the size after the warm-up
	rssGrowthMax  float64 // 0: not checked
	hooks         hooks
}

// hooks are for tests that inject a fault, to see that it is noticed.
type hooks struct {
	between     func(*stage)     // after each tick, when the world is idle
	lose        func() bool      // whether to drop a word instead of sending it
	deaf        func() bool      // whether not to ask for an outcome that is waited for
	system      scheduler.System // one more, after the others
	patienceMax time.Duration    // of the clients' rest
}

// Default returns the Config of a run without settings.
func Default() Config {
	return Config{
		Duration: 30 * time.Second, WarmUp: 5 * time.Second, Seed: 1, Entities: 1_000_000, Clients: 64, Churn: 10, Hz: 20, Queue: 1024,
		heapGrowthMax: 0.02, rssGrowthMax: 0.10, hooks: hooks{patienceMax: time.Minute},
	}
}

// validate names each setting that is out of its range.
func (c *Config) validate() error {
	var errs []error
	for _, s := range []struct {
		name  string
		value int
		Range
	}{
		{"Entities", c.Entities, EntitiesRange},
		{"Clients", c.Clients, ClientsRange},
		{"Churn", c.Churn, ChurnRange},
		{"Shards", c.Shards, ShardsRange},
		{"Workers", c.Workers, WorkersRange},
		{"Hz", c.Hz, HzRange},
		{"Queue", c.Queue, QueueRange},
		{"Versions", c.Versions, VersionsRange},
	} {
		if s.value < s.Min || s.value > s.Max {
			errs = append(errs, fmt.Errorf("soak: %s is %d, want %d to %d", s.name, s.value, s.Min, s.Max))
		}
	}
	if c.Duration < 0 || c.WarmUp < 0 {
		errs = append(errs, fmt.Errorf("soak: Duration is %v and WarmUp %v, want 0 or more", c.Duration, c.WarmUp))
	}
	return errors.Join(errs...)
}

// options are those of the world.
func (c *Config) options() world.Options {
	return world.Options{
		Shards: c.Shards, TickInterval: time.Second / time.Duration(c.Hz), VersionMax: uint32(c.Versions),
		QueueRequests: c.Queue, OutboxRequests: outboxRequests,
	}
}
