package world_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// states are the columns of the semantics table.
var states = [6]world.Status{world.Unused, world.Pending, world.Alive, world.Dying, world.Stale, world.Forged}

// The scene: an entity that shard owner has, had or will have.
const (
	owner     = 1
	elsewhere = 2
	beyond    = 0 // where Move moves it
	before    = 1 // its Health, and what Set makes of it
	after     = 7
)

// scene is one cell of the table being done.
type scene struct {
	*fixture
	t       *testing.T
	p       *world.Port
	h       handle.Handle
	had     world.Stats // before the operation
	pending bool        // the create is under way

	heard []world.Envelope[Hit]
	call  *world.Func[int64] // sets the Health
	asked world.Answer[Health]
}

func newScene(t *testing.T, make func(*scene) handle.Handle) *scene {
	s := &scene{fixture: newFixture(t, world.Options{Shards: 3, VersionMax: 3, IndexMax: 1 << 16}), t: t}
	s.unit.PlaceBy(func(Unit) int { return owner })
	s.call = world.RegisterFunc(s.World, "call", func(self *world.EntityContext, v int64) { s.health.Write(self).Points = v })
	s.p = s.port()
	s.h = make(s)
	s.had, s.pending = s.stats(), s.Status(s.h) == world.Pending
	return s
}

// variants are the ways in which an entity comes to be in a state.
var variants = map[world.Status][]struct {
	name string
	make func(*scene) handle.Handle
}{
	world.Unused: {
		{"free again", func(s *scene) handle.Handle { return next(s.dead(s.made())) }},
		{"never used", func(s *scene) handle.Handle {
			h := s.made()
			return handle.New(h.Home(), h.Index()+1, 1)
		}},
	},
	world.Pending: {
		{"fresh slot", func(s *scene) handle.Handle { return s.requested() }},
		{"used slot", func(s *scene) handle.Handle {
			for range 17 { // the port takes used slots when the fresh ones it took are out
				s.dead(s.sent())
			}
			h := s.requested()
			require.Greater(s.t, h.Version(), uint32(1))
			return h
		}},
	},
	world.Alive: {
		{"made", func(s *scene) handle.Handle { return s.made() }},
		{"sent", func(s *scene) handle.Handle { return s.sent() }},
		{"in a slot's last version", func(s *scene) handle.Handle { s.dead(s.made()); s.dead(s.made()); return s.made() }},
	},
	world.Dying: {
		{"made", func(s *scene) handle.Handle { h := s.made(); s.Destroy(h); return h }},
		{"sent", func(s *scene) handle.Handle { h := s.sent(); s.Destroy(h); return h }},
	},
	world.Stale: {
		{"slot free", func(s *scene) handle.Handle { return s.dead(s.made()) }},
		{"slot free outside", func(s *scene) handle.Handle { return s.dead(s.sent()) }},
		{"slot has a new tenant", func(s *scene) handle.Handle { h := s.dead(s.made()); s.made(); return h }},
		{"slot retired", func(s *scene) handle.Handle {
			s.dead(s.made())
			s.dead(s.made())
			h := s.dead(s.made())
			require.Equal(s.t, 1, s.stats().Retired)
			return h
		}},
	},
	world.Forged: {
		{"none", func(*scene) handle.Handle { return handle.None }},
		{"version ahead", func(s *scene) handle.Handle { return next(s.made()) }},
		{"version beyond the limit", func(s *scene) handle.Handle { return s.made() + 3 }},
		{"version 0", func(s *scene) handle.Handle { return s.made() - 1 }},
		{"version 0 of a slot never used", func(s *scene) handle.Handle { return s.made() + 16<<handle.VersionBits - 1 }},
		{"index beyond the limit", func(s *scene) handle.Handle { return handle.New(s.made().Home(), handle.IndexMax, 1) }},
		{"shard out of range", func(s *scene) handle.Handle { return handle.New(handle.HomeMax, s.made().Index(), 1) }},
	},
}

// made creates an entity on the idle world.
func (s *scene) made() handle.Handle {
	h, err := s.unit.Create(s.World, Unit{Health{before}})
	require.NoError(s.t, err)
	return h
}

// requested creates one through a port, up to the refresh.
func (s *scene) requested() handle.Handle {
	h, err := s.unit.Create(s.p, Unit{Health{before}})
	require.NoError(s.t, err)
	return h
}

// sent creates one through a port.
func (s *scene) sent() handle.Handle { h := s.requested(); s.Refresh(); return h }

// dead destroys an entity.
func (s *scene) dead(h handle.Handle) handle.Handle {
	require.True(s.t, s.Destroy(h))
	s.Refresh()
	return h
}

// next is the handle of the slot's next version.
func next(h handle.Handle) handle.Handle { return h + 1 }

// act does an operation and says what came of it, as in the table. Afterwards
// the refresh is over.
func (s *scene) act(operation, by string) string {
	switch by {
	case "World":
		now := s.do(operation, s.World, world.Write[Health](s.World), nil)
		s.tick(s.listen)
		return now
	case "Port":
		done := new(world.Completion)
		if operation == "Ask" {
			done = &s.asked.Completion
		} else {
			s.p.Notify(done)
		}
		now := s.do(operation, s.p, nil, nil)
		s.Refresh()
		now += s.outcome()
		if _, what, asked := strings.Cut(now, " → "); asked {
			require.Equal(s.t, what, done.Outcome().String())
		}
		return now
	}
	on := map[string]int{"Context, owner": owner, "Context, elsewhere": elsewhere}[by]
	var now string
	s.tick(func(b *world.Build) func(*world.Context) {
		health := world.Write[Health](b)
		return func(c *world.Context) {
			if c.Shard() == on && operation != "Get" {
				now = s.do(operation, c, health, nil)
			}
		}
	}, func(b *world.Build) func(*world.Context) {
		health, foreign := world.Read[Health](b), world.ReadForeign[Health](b)
		return func(c *world.Context) {
			if c.Shard() == on && operation == "Get" {
				now = s.do(operation, c, &world.Writer[Health]{Reader: *health}, foreign)
			}
		}
	})
	return now + s.outcome()
}

// outcome says what the refresh made of a request, if there was one.
func (s *scene) outcome() string {
	now := s.stats()
	applied, gone := now.Applied-s.had.Applied, now.Gone-s.had.Gone
	if s.pending {
		applied-- // the create
	}
	switch {
	case applied == 1 && gone == 0:
		return " → applied"
	case applied == 0 && gone == 1:
		return " → gone"
	}
	require.Zero(s.t, applied+gone)
	return ""
}

// mustEnd checks what became of the entity.
func (s *scene) mustEnd(was world.Status, operation, got string) {
	s.tick(s.listen)
	done := strings.HasSuffix(got, "stored") || strings.HasSuffix(got, "marked") ||
		strings.HasSuffix(got, "delivered") || strings.HasSuffix(got, "moved") || strings.HasSuffix(got, "applied") || strings.HasSuffix(got, "run")

	want := was
	switch {
	case operation == "Destroy" && done, was == world.Dying:
		want = world.Stale
	case was == world.Pending:
		want = world.Alive
	}
	require.Equal(s.t, want, s.Status(s.h), "after the refresh")

	if want == world.Alive {
		points := int64(before)
		if (operation == "Set" || operation == "Call") && done {
			points = after
		}
		require.Equal(s.t, points, world.Read[Health](s.World).Get(s.h).Points)
		at := owner
		if operation == "Move" && done {
			at = beyond
		}
		now, _ := s.Owner(s.h)
		require.Equal(s.t, at, now)
	}
	if v, ok := s.asked.Value(); operation == "Ask" {
		require.Equal(s.t, done, ok)
		require.True(s.t, !ok || v.Points == before)
	}
	if operation == "Send" && done {
		require.Equal(s.t, []world.Envelope[Hit]{{To: s.h, Body: Hit{after}}}, s.heard)
	} else {
		require.Empty(s.t, s.heard)
	}
}

// listen is the system that hears what was delivered.
func (s *scene) listen(b *world.Build) func(*world.Context) {
	hits := world.Receive[Hit](b)
	return func(c *world.Context) {
		if len(hits.All()) > 0 {
			require.Equal(s.t, owner, c.Shard())
		}
		s.heard = append(s.heard, hits.All()...)
	}
}

// do does an operation and says what it returned, and did at once.
func (s *scene) do(operation string, by world.Actor, health *world.Writer[Health], foreign *world.ForeignReader[Health]) string {
	switch operation {
	case "Alive":
		return say(by.Alive(s.h))
	case "Status":
		return by.Status(s.h).String()
	case "Get":
		own := health.Get(s.h)
		copied, isForeign := Health{}, false
		if foreign != nil {
			copied, isForeign = foreign.Get(s.h)
		}
		switch {
		case own != nil && own.Points == before:
			return "pointer"
		case isForeign && copied.Points == before:
			return "foreign copy"
		}
		return "nil"
	case "Set":
		now := say(s.health.Set(by, s.h, Health{after}))
		if health != nil {
			if v := health.Get(s.h); v != nil && v.Points == after {
				now += ", stored"
			}
		}
		return now
	case "Destroy":
		was := by.Status(s.h)
		var now string
		switch by := by.(type) {
		case *world.World:
			now = say(by.Destroy(s.h))
		case *world.Context:
			now = say(by.Destroy(s.h))
		case *world.Port:
			now = say(by.Destroy(s.h))
		}
		if by.Status(s.h) != was {
			now += ", marked"
		}
		return now
	case "Call":
		now := say(s.call.Call(by, s.h, after))
		if health != nil {
			if v := health.Get(s.h); v != nil && v.Points == after {
				now += ", run"
			}
		}
		return now
	case "Ask":
		return say(s.health.Ask(by.(*world.Port), s.h, &s.asked))
	case "Move":
		now := say(world.Move(by, s.h, beyond))
		if w, idle := by.(*world.World); idle {
			if at, ok := w.Owner(s.h); ok && at == beyond {
				now += ", moved"
			}
		}
		return now
	case "Send":
		now := say(s.hit.Send(by, s.h, Hit{after}))
		if _, idle := by.(*world.World); idle && now == "nil" {
			now += ", delivered" // mustEnd sees whether that is so
		}
		return now
	}
	panic("no operation " + operation)
}

// say names an answer as the table does.
func say(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case bool:
		return map[bool]string{true: "true", false: "false"}[v]
	case error:
		if errors.Is(v, world.ErrStale) {
			return "ErrStale"
		}
	}
	panic(v)
}
