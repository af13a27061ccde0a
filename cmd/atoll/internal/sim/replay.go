package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
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

// errOther is returned on loading a realm with another number of creatures.
var errOther = errors.New("sim: a realm of another number of creatures")

// Save runs a sim without players and writes a snapshot of its world. It calls ticked after each
// tick.
func Save(ctx context.Context, c Config, how snapshot.Compression, to io.Writer, ticked func()) error {
	c.Players, c.kept = 0, true
	if err := c.validate(); err != nil {
		return err
	}
	s, err := newSim(c, true)
	if err == nil {
		err = s.realm.Fill()
	}
	if err == nil {
		err = s.ticks(ctx, c.Ticks, ticked)
	}
	if err != nil {
		return err
	}
	o := s.saved(&c.Creatures)
	o.Compression = how
	return snapshot.Write(to, s.realm.World, o)
}

func (s *sim) ticks(ctx context.Context, n int, ticked func()) error {
	for range n {
		if err := s.step(ctx); err != nil {
			return fmt.Errorf("sim: tick %d: %w", s.realm.World.Tick(), err)
		}
		ticked()
	}
	return nil
}

// saved returns what belongs to a snapshot. If a snapshot with another number of creatures is
// loaded, which shapes a realm, it sets creatures to that and the error is errOther.
func (s *sim) saved(creatures *int) snapshot.Options {
	return snapshot.Options{Scheduler: s.scheduler, Workers: s.config.Workers, Extras: []snapshot.Extra{
		{
			Name: "sim",
			Append: func(dst []byte) []byte {
				text, _ := json.Marshal(note{Sim: noteVersion, Creatures: *creatures}) // of numbers
				return append(dst, text...)
			},
			Read: func(src []byte) error {
				n := note{Creatures: -1}
				if err := json.Unmarshal(src, &n); err != nil || n.Sim != noteVersion {
					return fmt.Errorf("sim: the snapshot is not of a sim of version %d", noteVersion)
				}
				if n.Creatures != *creatures {
					*creatures = n.Creatures
					return errOther
				}
				return nil
			},
		},
		s.realm.Saved(),
	}}
}

// Load restores a world from the snapshot that open opens, audits it, runs ticks and audits it
// again. It reports the hash before and after the ticks. It uses Ticks and Workers of c, and
// Creatures for a snapshot of the demo, which does not say how many there should be.
func Load(ctx context.Context, c Config, open func() (io.ReadCloser, error), live io.Writer, tell func(l Look, entities int), ticked func()) error {
	info, err := inspect(open)
	if err != nil {
		return err
	}
	c.Players, c.Shards, c.Seed, c.interval, c.kept = 0, info.Options.Shards, info.Options.Seed, info.Options.TickInterval, true
	s, err := load(c, open)
	if err != nil {
		return err
	}
	books := demo.BooksOf(s.realm)
	for _, n := range []int{0, c.Ticks} {
		if err = s.ticks(ctx, n, ticked); err == nil {
			var hash state.Hash // as the head of a snapshot has it
			hash, err = state.StateHash(s.realm.World, nil)
			tell(Look{s.realm.World.Tick(), hash}, s.realm.World.Count())
		}
		if err == nil {
			err = books.Audit(live)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func inspect(open func() (io.ReadCloser, error)) (snapshot.Info, error) {
	src, err := open()
	if err != nil {
		return snapshot.Info{}, err
	}
	defer func() { _ = src.Close() }()
	return snapshot.Inspect(src)
}

// load loads a snapshot: twice, if the first time shows that its realm has another number of
// creatures.
func load(c Config, open func() (io.ReadCloser, error)) (s *sim, err error) {
	for range 2 {
		if err = c.validate(); err != nil {
			return nil, err
		}
		if s, err = newSim(c, true); err != nil {
			return nil, err
		}
		if err = loadInto(s, open, &c.Creatures); !errors.Is(err, errOther) {
			break
		}
	}
	return s, err
}

func loadInto(s *sim, open func() (io.ReadCloser, error), creatures *int) error {
	src, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	return snapshot.Load(src, s.realm.World, s.saved(creatures))
}
