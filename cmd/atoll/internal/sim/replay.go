package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/atoll-sim/atoll/persist/inputlog"
)

// note describes a sim in the log that it was recorded to.
type note struct {
	Sim                                      int // version of the script and the realm
	Ticks, Every, Players, Creatures, Shards int
	Seed                                     uint64
}

// noteVersion is raised when the realm behaves differently.
const noteVersion = 1

// record begins to write the log of a sim.
func (s *sim) record(to io.Writer) (err error) {
	c := s.config
	text, err := json.Marshal(note{noteVersion, c.Ticks, c.Every, c.Players, c.Creatures, c.Shards, c.Seed})
	if err != nil {
		return err
	}
	s.recorder, err = inputlog.NewRecorder(s.realm.World, to, inputlog.Options{Note: text})
	return err
}

// Replay restores the world of a recorded sim from its log, with Workers and Chaos of c; the rest
// of c does not matter. It reports the same hashes as the sim. At the first difference it returns
// an error wrapping inputlog.ErrDiffers that names the tick and what differs. If the log cannot be
// played to its end, it returns the reason.
func Replay(ctx context.Context, c Config, from io.Reader, tell func(Look)) error {
	log, err := inputlog.Open(from)
	if err != nil {
		return err
	}
	n := note{}
	if err := json.Unmarshal(log.Note(), &n); err != nil || n.Sim != noteVersion {
		return fmt.Errorf("sim: the log is not of a sim of version %d: its note is %q", noteVersion, log.Note())
	}
	c.Ticks, c.Every, c.Players, c.Creatures, c.Shards, c.Seed = n.Ticks, n.Every, n.Players, n.Creatures, n.Shards, n.Seed
	if err := c.validate(); err != nil {
		return err
	}
	s, err := newSim(c, false)
	if err != nil {
		return err
	}
	player, err := log.Play(s.realm.World, nil)
	if err != nil {
		return err
	}
	defer player.Close()
	for player.Next() {
		for _, p := range s.players {
			p.listen() // so that mailboxes have the same room as in the sim
		}
		if err := s.scheduler.Step(ctx); err != nil {
			return fmt.Errorf("sim: tick %d: %w", player.Ticks()-1, err)
		}
		verified, err := player.Verify(s.hasher)
		if err != nil {
			return err
		}
		if !verified {
			continue
		}
		if err := s.look(tell); err != nil {
			return err
		}
	}
	return player.Err()
}

// finish ends the log of a sim.
func (s *sim) finish(err error) error {
	if s.recorder == nil {
		return err
	}
	return errors.Join(err, s.recorder.Close())
}
