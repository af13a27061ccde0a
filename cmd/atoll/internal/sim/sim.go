package sim

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/state"
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
}

// Run runs a sim and tells every so many ticks, and at the end, how the world
// looks. It returns the context's error if that ends first.
func Run(ctx context.Context, c Config, tell func(Look)) error {
	if err := c.validate(); err != nil {
		return err
	}
	s, err := newSim(c)
	if err != nil {
		return err
	}
	for n := 1; n <= c.Ticks; n++ {
		if err := s.step(ctx); err != nil {
			return fmt.Errorf("sim: tick %d: %w", n-1, err)
		}
		if n%c.Every != 0 && n != c.Ticks {
			continue
		}
		hash, err := s.hasher.StateHash()
		if err != nil {
			return fmt.Errorf("sim: %w", err)
		}
		tell(Look{s.realm.World.Tick(), hash})
	}
	return nil
}

func newSim(c Config) (*sim, error) {
	r, err := realm.New(realm.Options{Creatures: c.Creatures, Shards: c.Shards, Seed: c.Seed, ClientsMax: c.Players})
	if err != nil {
		return nil, err
	}
	o := scheduler.Options{Workers: c.Workers}
	if c.Chaos {
		o.Chaos = c.Seed | 1
	}
	s := &sim{config: c, realm: r, scheduler: scheduler.New(r.World, o), hasher: state.NewHasher(r.World, nil)}
	s.hasher.Also("islands", r.AppendState)
	s.hasher.Also("systems", s.scheduler.AppendState)
	if err := r.AddSystems(s.scheduler); err != nil {
		return nil, err
	}
	for i := range c.Players {
		p, err := newPlayer(r, c.Seed, i)
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
