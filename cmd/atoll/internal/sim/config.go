package sim

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
)

// The ranges of the settings in a Config that the demo does not have.
var (
	TicksRange   = demo.Range{Min: 1, Max: 10_000_000}
	PlayersRange = demo.Range{Min: 0, Max: 2000}
)

// Config says what to run. See Default.
type Config struct {
	Ticks     int
	Players   int
	Creatures int
	Shards    int // 0: the world's default
	Workers   int // 0: GOMAXPROCS
	Seed      uint64
	Chaos     bool      // shards in a random order, and random delays
	Every     int       // ticks from one hash to the next; 0: HashTicks
	Record    io.Writer // what the players send is written there; nil: nowhere

	kept     bool          // the world is filled by a snapshot, or by Save
	interval time.Duration // of ticks; 0: the world's default
}

// HashTicks is how many ticks lie between two hashes.
const HashTicks = 50

// Default returns the Config of a run without settings.
func Default() Config {
	return Config{Ticks: 300, Players: 32, Creatures: 20_000, Seed: 1}
}

// validate names each setting that is out of its range.
func (c *Config) validate() error {
	if c.Every == 0 {
		c.Every = HashTicks
	}
	var errs []error
	for _, s := range []struct {
		name  string
		value int
		demo.Range
	}{
		{"Ticks", c.Ticks, TicksRange},
		{"Every", c.Every, TicksRange},
		{"Players", c.Players, PlayersRange},
		{"Creatures", c.Creatures, demo.CreaturesRange},
		{"Shards", c.Shards, demo.ShardsRange},
		{"Workers", c.Workers, demo.WorkersRange},
	} {
		if s.value < s.Min || s.value > s.Max {
			errs = append(errs, fmt.Errorf("sim: %s is %d, want %d to %d", s.name, s.value, s.Min, s.Max))
		}
	}
	return errors.Join(errs...)
}
