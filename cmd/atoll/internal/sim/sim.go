// Package sim is the sim command: the demo's realm without network and clock, fed
// by players that follow a script, to see that the same inputs give the same world.
//
// Between ticks one goroutine plays all players. What each does depends on the
// seed, on its number and on the replies that it got. Every so many ticks the state of
// the world is hashed. The hashes do not depend on the number of workers or
// processors, nor on the order in which chaos runs them.
package sim

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/setting"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
)

// Look is the hash of the world's state after a number of ticks.
type Look struct {
	Tick uint64     `json:"tick"`
	Hash state.Hash `json:"hash"` // in hexadecimal, as a string
}

// sim is a run.
type sim struct {
	config    Config
	realm     *realm.Realm
	scheduler *scheduler.Scheduler
	players   []*player
	hasher    *state.Hasher
	recorder  *inputlog.Recorder // nil: nothing is recorded
}

// Run runs a sim. It reports the hash every so many ticks and at the
// end. It returns the context's error if that ends first.
func Run(ctx context.Context, c Config, tell func(Look)) error {
	if err := c.validate(); err != nil {
		return err
	}
	s, err := newSim(c, true)
	if err == nil && c.Record != nil {
		err = s.record(c.Record)
	}
	if err != nil {
		return err
	}
	return s.finish(s.run(ctx, tell))
}

// run makes the ticks, and reports hashes.
func (s *sim) run(ctx context.Context, tell func(Look)) error {
	c := s.config
	for n := 1; n <= c.Ticks; n++ {
		if err := s.step(ctx); err != nil {
			return fmt.Errorf("sim: tick %d: %w", n-1, err)
		}
		if n%c.Every != 0 && n != c.Ticks {
			continue
		}
		if s.recorder != nil {
			if err := s.recorder.Hash(s.hasher); err != nil {
				return err
			}
		}
		if err := s.look(tell); err != nil {
			return err
		}
	}
	return nil
}

// look reports the hash of the world.
func (s *sim) look(tell func(Look)) error {
	hash, err := s.hasher.StateHash()
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	tell(Look{s.realm.World.Tick(), hash})
	return nil
}

// newSim makes a sim. Its players act or, in a replay, have no ports.
func newSim(c Config, act bool) (*sim, error) {
	r, err := realm.New(realm.Options{Creatures: c.Creatures, Shards: c.Shards, Seed: c.Seed, ClientsMax: c.Players, TickInterval: c.interval, Kept: c.kept})
	if err != nil {
		return nil, err
	}
	o := scheduler.Options{Workers: c.Workers}
	if c.Chaos {
		o.Chaos = c.Seed | 1
	}
	s := &sim{config: c, realm: r, scheduler: scheduler.New(r.World, o), hasher: state.NewHasher(r.World, nil)}
	s.hasher.Add("islands", r.AppendState)
	s.hasher.Add("systems", s.scheduler.AppendState)
	if err := r.AddSystems(s.scheduler); err != nil {
		return nil, err
	}
	for i := range c.Players {
		p, err := newPlayer(r, c.Seed, i, act)
		if err != nil {
			return nil, err
		}
		s.players = append(s.players, p)
	}
	for _, p := range s.players {
		p.rivals = s.players
	}
	return s, nil
}

// step has the players play, and makes a tick.
func (s *sim) step(ctx context.Context) error {
	for _, p := range s.players {
		if err := p.play(); err != nil {
			return err
		}
	}
	return s.scheduler.Step(ctx)
}

// The ranges of the settings in a Config that the demo does not have.
var (
	TicksRange   = setting.Range{Min: 1, Max: 10_000_000}
	PlayersRange = setting.Range{Min: 0, Max: 2000}
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
	return setting.Check("sim",
		setting.Value{Name: "Ticks", Value: c.Ticks, Range: TicksRange},
		setting.Value{Name: "Every", Value: c.Every, Range: TicksRange},
		setting.Value{Name: "Players", Value: c.Players, Range: PlayersRange},
		setting.Value{Name: "Creatures", Value: c.Creatures, Range: demo.CreaturesRange},
		setting.Value{Name: "Shards", Value: c.Shards, Range: demo.ShardsRange},
		setting.Value{Name: "Workers", Value: c.Workers, Range: demo.WorkersRange},
	)
}
