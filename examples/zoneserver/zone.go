package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	sight    = 50          // how far one sees
	patience = time.Second // with a client that does not read
	speedMax = 20          // each way, in units per second
	airTime  = 3           // seconds for which words can be read
	linesMax = 16          // ticks by which a client may lag before its avatar is destroyed
	lineMax  = 512         // bytes that a client may send as one line
)

type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }
	Label    struct{ Text string }
	Left     struct{ Seconds float64 } // what has it expires

	// Session is the way to a client. The channel is closed when the entity is destroyed.
	Session struct {
		lines chan string
		view  map[handle.Handle]Sighting // what the client knows of
	}
	Avatar struct {
		Position
		Velocity
		Label
		Session
	}
	Words struct {
		Position
		Label
		Left
	}
)

// Sighting is what can be seen of an entity.
type Sighting struct {
	ID   handle.Handle
	At   Position
	Text string
}

// Sightings is an accumulator: each shard adds what it holds, and all shards read the whole.
// A zone with thousands of clients would sort it into cells as wide as one sees.
type Sightings []Sighting

func merge(total, part *Sightings) { *total = append(*total, *part...) }

// Zone is a world with its systems, and what clients may do in it.
type Zone struct {
	world    *world.World
	systems  *scheduler.Scheduler
	avatars  *world.Bundle[Avatar]
	velocity *world.Component[Velocity]
	say      *world.Func[string]
}

// NewZone makes an empty zone that ticks 20 times a second.
func NewZone() (*Zone, error) {
	// A client that asks for more than 32 things in a tick waits for the next.
	w, err := world.New(world.Options{QueueRequests: 32, VersionsEach: 10_000})
	if err != nil {
		return nil, err
	}
	position := world.Register[Position](w, "position")
	velocity := world.Register[Velocity](w, "velocity")
	world.Register[Label](w, "label")
	world.Register[Left](w, "left")
	session := world.Register[Session](w, "session")
	world.RegisterAccumulator(w, "sightings", merge)
	avatars, words := world.NewBundle[Avatar](w), world.NewBundle[Words](w)

	// Only the entity's shard may look where it is, so speaking is a function.
	say := world.RegisterFunc(w, "say", func(self *world.EntityContext, text string) {
		_, _ = words.Create(self, Words{*position.Read(self), Label{fmt.Sprintf("%v says %s", self.Handle(), text)}, Left{airTime}})
	})
	w.Observe("leave", world.OnDestroy, Leave, session)
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("move", Move)
	s.MustAdd("expire", Expire)
	s.MustAdd("show", Show)
	s.MustAdd("tell", Tell)
	return &Zone{w, s, avatars, velocity, say}, nil
}

// Move moves avatars by their velocities.
func Move(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Read[Velocity](b)
	moving := b.Query(pos, vel)
	return func(c *world.Context) {
		for ch := range moving.Chunks() {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X += v[i].X * c.Delta()
				p[i].Y += v[i].Y * c.Delta()
			}
		}
	}
}

// Expire destroys what has had its time.
func Expire(b *world.Build) func(*world.Context) {
	left := world.Write[Left](b)
	passing := b.Query(left)
	return func(c *world.Context) {
		for ch := range passing.Chunks() {
			l := left.Slice(ch)
			for i := range l {
				if l[i].Seconds -= c.Delta(); l[i].Seconds <= 0 {
					_ = c.Destroy(ch.Handle(i)) // of the own shard: never refused
				}
			}
		}
	}
}

// Show adds the shard's entities to what can be seen.
func Show(b *world.Build) func(*world.Context) {
	pos, label, seen := world.Read[Position](b), world.Read[Label](b), world.Accumulate[Sightings](b)
	visible := b.Query(pos, label)
	return func(*world.Context) {
		for ch := range visible.Chunks() {
			p, l := pos.Slice(ch), label.Slice(ch)
			for i := range p {
				*seen = append(*seen, Sighting{ch.Handle(i), p[i], l[i].Text})
			}
		}
	}
}

// Tell writes to each client of the shard what has changed near its avatar.
func Tell(b *world.Build) func(*world.Context) {
	pos, session, seen := world.Read[Position](b), world.Write[Session](b), world.ReadResource[Sightings](b)
	clients := b.Query(pos, session)
	return func(c *world.Context) {
		for ch := range clients.Chunks() {
			p, to := pos.Slice(ch), session.Slice(ch)
			for i := range p {
				text := to[i].update(p[i], seen.Get())
				if text == "" {
					continue
				}
				select {
				case to[i].lines <- text:
				default: // it does not read, and a system waits for nobody
					_ = c.Destroy(ch.Handle(i))
				}
			}
		}
	}
}

// update looks around, and returns how that differs from what the client knows.
func (s *Session) update(from Position, seen Sightings) string {
	var text strings.Builder
	now := make(map[handle.Handle]Sighting, len(s.view))
	for _, e := range seen {
		if math.Hypot(e.At.X-from.X, e.At.Y-from.Y) <= sight {
			now[e.ID] = e
			if s.view[e.ID] != e {
				fmt.Fprintf(&text, "see %v %.1f %.1f %s\n", e.ID, e.At.X, e.At.Y, e.Text)
			}
		}
	}
	for id := range s.view {
		if _, near := now[id]; !near {
			fmt.Fprintf(&text, "gone %v\n", id)
		}
	}
	s.view = now
	return text.String()
}

// Leave is the hook that ends the sessions of avatars that are destroyed.
func Leave(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
	session := world.Read[Session](b)
	return func(_ *world.Context, _ world.Event, dead []handle.Handle) {
		for _, h := range dead {
			if lines := session.Get(h).lines; lines != nil { // else it is of a client before a restart
				close(lines)
			}
		}
	}
}
