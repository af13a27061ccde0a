package demo

import (
	"errors"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
)

// Range is the range of a setting, both ends included.
type Range struct{ Min, Max int }

// The ranges of the settings in a Config.
var (
	BotsRange      = Range{0, 2000}
	CreaturesRange = Range{0, 4_000_000}
	ShardsRange    = Range{0, handle.HomeMax}
	WorkersRange   = Range{0, 1024}
	HzRange        = Range{1, 1000}
)

// clientsSpare is how many clients may come in addition to the bots.
const clientsSpare = 256

// Config says what to run. See Default.
type Config struct {
	Duration  time.Duration // 0: until the context ends
	Bots      int
	Creatures int
	Shards    int // 0: the world's default
	Workers   int // 0: GOMAXPROCS
	Hz        int // ticks per second
	Seed      uint64
	Listen    string // host:port; port 0: any
	State     string // the directory that keeps the world, and from which it continues; empty: none
	Inspect   string // host:port to serve the inspector on; empty: none
	Token     string // for changes by the inspector; empty: a new one, which is printed
	Describe  bool   // add a description of the world at the end to the Summary

	hooks hooks
}

// hooks are for tests that inject a fault, to see that the audit finds it.
type hooks struct {
	deliver        func(realm.Command) int                                          // how often to send a command
	outcomeWaitMax time.Duration                                                    // of the server
	pauseMax       time.Duration                                                    // of bots, between commands
	system         scheduler.System                                                 // one more, after the others
	beforeAudit    func(*realm.Realm)                                               // when nothing runs any more
	view           func(who handle.Handle, carries []handle.Handle) []handle.Handle // what the audit sees in an inventory
	dead           func([]handle.Handle) []handle.Handle                            // the handles to check at the end
	watched        func([]handle.Handle) []handle.Handle                            // the handles to check each second
}

// Default returns the Config of a run without settings.
func Default() Config {
	return Config{Duration: 20 * time.Second, Bots: 200, Creatures: 20_000, Hz: 20, Seed: 1, Listen: "127.0.0.1:0"}
}

// validate names each setting that is out of its range.
func (c *Config) validate() error {
	var errs []error
	for _, s := range []struct {
		name  string
		value int
		Range
	}{
		{"Bots", c.Bots, BotsRange},
		{"Creatures", c.Creatures, CreaturesRange},
		{"Shards", c.Shards, ShardsRange},
		{"Workers", c.Workers, WorkersRange},
		{"Hz", c.Hz, HzRange},
	} {
		if s.value < s.Min || s.value > s.Max {
			errs = append(errs, fmt.Errorf("demo: %s is %d, want %d to %d", s.name, s.value, s.Min, s.Max))
		}
	}
	if c.Duration < 0 {
		errs = append(errs, fmt.Errorf("demo: Duration is %v, want 0 or more", c.Duration))
	}
	return errors.Join(errs...)
}

// budget is the time that a tick may take.
func (c *Config) budget() time.Duration { return time.Second / time.Duration(c.Hz) }
