package soak

import (
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The seams through which tests inject faults.

// Stage is the world and the books, when no tick runs.
type Stage = stage

// Between sets what is done after each tick.
func (c *Config) Between(f func(*Stage)) { c.hooks.between = f }

// Lose sets which messages are noted and not sent.
func (c *Config) Lose(f func() bool) { c.hooks.lose = f }

// Deaf sets for which requests no outcome is asked for.
func (c *Config) Deaf(f func() bool) { c.hooks.deaf = f }

// System sets a system that runs after the others.
func (c *Config) System(s scheduler.System) { c.hooks.system = s }

// AnyRSS lets the resident memory grow: of a small process it says nothing.
func (c *Config) AnyRSS() { c.rssGrowthMax = 0 }

// PatienceMax sets how long clients may take to come to rest.
func (c *Config) PatienceMax(d time.Duration) { c.hooks.patienceMax = d }

// World returns the world.
func (s *stage) World() *world.World { return s.w }

// Guest returns some guest, or none if nobody is there.
func (s *stage) Guest() handle.Handle {
	for ch := range s.w.Query(world.Read[value](s.w)).Chunks() {
		return ch.Handle(0)
	}
	return handle.None
}

// Animal returns some animal.
func (s *stage) Animal() handle.Handle { return s.herds[0].places[0].h }

// Double creates an entity that has the same tag as another.
func (s *stage) Double(h handle.Handle) {
	t := *world.Read[tag](s.w).Get(h)
	var err error
	if t.Maker < guestMaker {
		_, err = s.animals.Create(s.w, animal{tag: t, twin: twin{t.Serial}})
	} else {
		_, err = s.guests.Create(s.w, guest{tag: t, twin: twin{t.Serial}})
	}
	if err != nil {
		panic(err)
	}
}

// ChangeValues changes a component of every guest.
func (s *stage) ChangeValues() {
	values := world.Write[value](s.w)
	for ch := range s.w.Query(values).Chunks() {
		for i := range values.Slice(ch) {
			values.Slice(ch)[i].N += 1000
		}
	}
}

// MixUp changes a component that must be like another.
func (s *stage) MixUp(h handle.Handle) { world.Write[twin](s.w).Get(h).Serial++ }

// Say sends a message that no client knows of.
func (s *stage) Say(h handle.Handle) {
	if err := s.words.Send(s.w, h, word{1 << 20}); err != nil {
		panic(err)
	}
}

// Bury puts a handle among the dead of a herd.
func (s *stage) Bury(h handle.Handle) { s.herds[0].graves.add(h, 0) }

// Throw counts a panic that nobody sees.
func (s *stage) Throw() { s.thrown.Add(1) }

// Contest begins a contest that never ends.
func (s *stage) Contest() { s.rest.contests.Inc() }
