package world_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestModel does random operations on a world and on the naive one beside it,
// and compares everything after each refresh: who lives, with which components,
// in which shard, where queries find them; which messages arrived where, in which
// order; what became of each request; and that every handle that ever died is
// stale.
//
// The versions run out after 7, so slots retire; some worlds are so small that
// creating is refused.
func TestModel(t *testing.T) {
	for _, test := range []struct {
		options world.Options
		ports   int
		most    int // entities at which creating stops
	}{
		{world.Options{Shards: 1, VersionMax: 7}, 1, 60},
		{world.Options{Shards: 3, VersionMax: 7}, 3, 200},
		{world.Options{Shards: 8, VersionMax: 1}, 2, 100},
		{world.Options{Shards: 2, VersionMax: 7, KeepOrder: true}, 2, 300},
		{world.Options{Shards: 2, VersionMax: 7, IndexMax: 30}, 2, 1000},
		{world.Options{Shards: 4, QueueRequests: 5, OutboxRequests: 3}, 4, 300},
		{world.Options{Shards: 5}, 3, 3000},
	} {
		for seed := range uint64(iterations(10)) {
			t.Run(fmt.Sprintf("shards %d, most %d, seed %d", test.options.Shards, test.most, seed), func(t *testing.T) {
				m := newModel(t, test.options, test.ports, test.most, seed)
				for range max(iterations(200), 60) {
					m.idle()
					if m.r.IntN(3) > 0 {
						m.inTick()
					} else {
						m.fixture.Refresh()
					}
					m.naive.refresh()
					m.compare()
					if m.r.IntN(60) == 0 {
						m.fixture.Clear()
						m.naive.clear()
						m.compare()
					}
				}
				if test.options.VersionMax == 7 && test.most < 100 && iterations(10) == 10 {
					require.NotZero(t, m.stats().Retired, "slots retire in this test")
				}
			})
		}
	}
}

type model struct {
	*fixture
	naive *naive
	r     *rand.Rand
	ports []*world.Port
	most  int
	known []handle.Handle // to operate on; dead ones, too

	promised []promise
}

// promise is a Completion and what it must tell.
type promise struct {
	done *world.Completion
	want world.Outcome
}

func newModel(t *testing.T, o world.Options, ports, most int, seed uint64) *model {
	f := newFixture(t, o)
	m := &model{fixture: f, naive: newNaive(ports, f.Shards()), r: newRand(t, seed), most: most}
	for range ports {
		m.ports = append(m.ports, m.port())
	}
	f.unit.PlaceBy(func(u Unit) int { return m.place(float64(u.Points)) })
	f.mover.PlaceBy(func(v Mover) int { return m.place(v.Velocity.Y) })
	f.creature.PlaceBy(func(c Creature) int { return m.place(c.Position.Y) })
	return m
}

// place is the shard of an entity that is made of v.
func (m *model) place(v float64) int { return int(uint64(math.Abs(v)) % uint64(m.Shards())) }

// any picks a handle: mostly of the living, at times of the dead, and now and
// then one that was never given.
func (m *model) any() handle.Handle {
	if len(m.known) == 0 || m.r.IntN(50) == 0 {
		return handle.Handle(m.r.Uint64()) | 1<<handle.VersionBits - 1 // in its last version
	}
	return m.known[m.r.IntN(len(m.known))]
}

// idle operates as the world and as its ports between ticks.
func (m *model) idle() {
	for range m.r.IntN(40) {
		h, v := m.any(), m.r.Int64()
		if m.r.IntN(2) == 0 {
			m.byPort(m.r.IntN(len(m.ports)), h, v)
			continue
		}
		switch m.r.IntN(12) {
		case 0, 1:
			m.create(m.World, v)
		case 2:
			m.mustSay(m.Destroy(h), m.naive.destroy(h) == world.Applied)
		case 3:
			m.setAtOnce(m.World, h, v)
		case 4:
			m.mustSay(m.Status(h), m.statusOf(h))
		case 5:
			m.mustSay(m.Has(h, m.health), m.naive.alive(h) != nil && m.naive.alive(h).components["health"] != nil)
		case 6, 7:
			m.changeAtOnce(h, v)
		case 8:
			if m.r.IntN(10) == 0 {
				m.changeAll(v)
			}
		case 9, 10:
			to := m.r.IntN(m.Shards())
			require.ErrorIs(m.t, world.Move(m.World, h, to), staleIf(m.naive.moveAtOnce(h, to)))
		case 11:
			require.ErrorIs(m.t, m.hit.Send(m.World, h, Hit{v}), staleIf(m.naive.sendAtOnce(h, v)))
		}
	}
}

// staleIf is what the idle world says of what came too late.
func staleIf(o world.Outcome) error {
	if o == world.Gone {
		return world.ErrStale
	}
	return nil
}

// inTick operates from within systems, and as ports meanwhile.
func (m *model) inTick() {
	m.naive.forward()
	m.tick(func(b *world.Build) func(*world.Context) {
		health, name := world.Write[Health](b), world.Read[Name](b)
		b.Creates(m.unit, m.creature, m.mover)
		hits := world.Receive[Hit](b)
		return func(c *world.Context) {
			m.mustSay(fmt.Sprint(hits.All()), fmt.Sprint(m.naive.hits[c.Shard()]))
			for _, e := range hits.All() {
				m.mustSay(c.Owns(e.To), m.naive.alive(e.To) != nil) // it can have died after it was delivered
			}
			for range m.r.IntN(20) {
				h, v := m.any(), m.r.Int64()
				if m.r.IntN(4) == 0 {
					m.byPort(m.r.IntN(len(m.ports)), h, v)
					continue
				}
				if c.Owns(h) {
					same(m, health.Get(h), m.naive.alive(h).components["health"])
					same(m, name.Get(h), m.naive.alive(h).components["name"])
				}
				m.bySystem(c, h, v)
			}
		}
	})
}

// create makes a random entity, if the world is not too full already.
func (m *model) create(by world.Actor, v int64) {
	if len(m.naive.entities) >= m.most {
		return
	}
	_, pending := by.(*world.Port)
	var h handle.Handle
	var err error
	components := map[string]any{}
	switch m.r.IntN(3) {
	case 0:
		components["health"] = Health{v}
		h, err = m.unit.Create(by, Unit{Health{v}})
	case 1:
		components["position"], components["velocity"] = Position{float64(v), 1}, Velocity{2, float64(v)}
		h, err = m.mover.Create(by, Mover{Position{float64(v), 1}, Velocity{2, float64(v)}})
	case 2:
		name := Name{strconv.FormatInt(v, 10)}
		components["position"], components["health"], components["name"] = Position{1, float64(v)}, Health{v}, name
		h, err = m.creature.Create(by, Creature{Position{1, float64(v)}, Health{v}, name})
	}
	if m.options().IndexMax < handle.IndexMax && errors.Is(err, world.ErrIndexes) {
		m.mustSay(h, handle.None)
		return
	}
	if p, ok := by.(*world.Port); ok && errors.Is(err, world.ErrFull) {
		m.mustSay(p.Waiting(), m.options().QueueRequests)
		return
	}
	require.NoError(m.t, err)
	shard := m.place(float64(v))
	if !pending {
		shard, _ = by.(interface {
			Owner(handle.Handle) (int, bool)
		}).Owner(h)
	}
	require.True(m.t, m.naive.create(h, shard, pending, components), "handle %v was given before", h)
	_, m.naive.entities[h].hidden = by.(*world.Context)
	m.known = append(m.known, h)
	if pending {
		p := by.(*world.Port)
		m.naive.requests = append(m.naive.requests, naiveRequest{sender: p.Number(), create: true, do: func() world.Outcome {
			m.naive.entities[h].pending = false
			return world.Applied
		}})
	}
}

func (m *model) options() world.Options { return m.World.Options() }

// setAtOnce is Set by who stores at once.
func (m *model) setAtOnce(by world.Actor, h handle.Handle, v int64) {
	e := m.naive.alive(h)
	var want error
	switch {
	case e == nil:
		want = world.ErrStale
	case e.components["health"] == nil:
		want = world.ErrMissing
	default:
		e.components["health"] = Health{v}
	}
	require.ErrorIs(m.t, m.health.Set(by, h, Health{v}), want)
}

func (m *model) mustSay(got, want any) {
	if got != want {
		m.t.Helper()
		m.t.Fatalf("got %v, want %v", got, want)
	}
}

// statusOf is the naive status; what was never given is not the naive's affair.
func (m *model) statusOf(h handle.Handle) world.Status {
	if !m.naive.given[h] {
		return m.Status(h)
	}
	return m.naive.status(h)
}

// known handles are kept few enough that the living are picked often.
func (m *model) forget() {
	if len(m.known) > 2*m.most+20 {
		m.known = slices.Delete(m.known, 0, len(m.known)/2)
		for h := range m.naive.entities {
			m.known = append(m.known, h)
		}
		slices.Sort(m.known) // maps have no order
		m.known = slices.Compact(m.known)
	}
}
