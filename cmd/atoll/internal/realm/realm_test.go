package realm_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// game is a realm with what makes its ticks.
type game struct {
	*realm.Realm
	t testing.TB
	s *scheduler.Scheduler
}

func newGame(t testing.TB, o realm.Options, workers int) *game {
	r, err := realm.New(o)
	require.NoError(t, err)
	s := scheduler.New(r.World, scheduler.Options{Workers: workers})
	require.NoError(t, r.AddSystems(s))
	return &game{r, t, s}
}

func (g *game) step(n int) {
	g.t.Helper()
	for range n {
		require.NoError(g.t, g.s.Step(context.Background()))
	}
}

// guest is a client of a game.
type guest struct {
	g      *game
	port   *world.Port
	number uint32
	box    <-chan realm.Reply
	avatar handle.Handle
	seq    uint32
}

func (g *game) guest() *guest {
	g.t.Helper()
	number, box, err := g.OpenMailbox(8)
	require.NoError(g.t, err)
	port, err := g.World.OpenPort()
	require.NoError(g.t, err)
	h, err := g.Join(port, number, 1)
	require.NoError(g.t, err)
	return &guest{g: g, port: port, number: number, box: box, avatar: h}
}

func (g *guest) command(o realm.Command) {
	g.g.t.Helper()
	g.seq++
	o.Client, o.Seq = g.number, g.seq
	if o.Nth == 0 {
		o.Nth = g.seq
	}
	require.NoError(g.g.t, g.g.Command(g.port, g.avatar, o))
}

// reply returns the next reply, or the zero one if there is none.
func (g *guest) reply() realm.Reply {
	select {
	case r := <-g.box:
		return r
	default:
		return realm.Reply{}
	}
}

// TestBooks checks that the ledger and a scan agree after every tick, and that
// the population stays.
func TestBooks(t *testing.T) {
	const creatures = 3001
	g := newGame(t, realm.Options{Creatures: creatures, Seed: 3, Shards: 3}, 2)
	for range 150 {
		g.step(1)
		l, c := g.Ledger(), g.Census()
		for _, k := range realm.AllKinds {
			require.EqualValues(t, l.Created[k]-l.Destroyed[k], c.Alive[k], "%v", k)
		}
		require.Equal(t, creatures, c.Alive[realm.Creatures])
		require.Zero(t, c.Other)
		require.Zero(t, c.Dead)
		for _, h := range g.AppendDead(nil, 10) {
			require.Equal(t, world.Stale, g.World.Status(h))
		}
	}
	l := g.Ledger()
	require.NotZero(t, l.Destroyed[realm.Creatures])
	require.NotZero(t, l.Destroyed[realm.Items])
	require.NotZero(t, l.Abroad)
	require.Zero(t, l.Dropped)
	require.Len(t, g.AppendDead(nil, g.GravesMax()), min(g.GravesMax(), int(l.Destroyed[realm.Creatures]+l.Destroyed[realm.Items])))
}

// TestDeterministic checks that the number of workers and how often the world is
// made do not show in it.
func TestDeterministic(t *testing.T) {
	digest := func(workers int, seed uint64) string {
		g := newGame(t, realm.Options{Creatures: 2000, Seed: seed}, workers)
		a, b := g.guest(), g.guest()
		hash := fnv.New64a()
		for i := range 60 {
			a.command(realm.Command{Verb: realm.Attack, Target: b.avatar})
			b.command(realm.Command{Verb: realm.Steer, X: float32(i%3) - 1, Y: 0.5})
			g.step(1)
			_, _ = fmt.Fprintln(hash, a.reply(), b.reply())
		}
		pos, health := world.Read[realm.Position](g.World), world.Read[realm.Health](g.World)
		for ch := range g.World.Query(pos, health).Chunks() {
			_, _ = fmt.Fprintln(hash, ch.Handles(), pos.Slice(ch), health.Slice(ch))
		}
		_, _ = fmt.Fprintln(hash, g.Ledger())
		return fmt.Sprint(hash.Sum64())
	}
	want := digest(1, 7)
	require.Equal(t, want, digest(1, 7))
	require.Equal(t, want, digest(4, 7))
	require.NotEqual(t, want, digest(1, 8))
}

// TestNearest compares the grid with looking at everybody.
func TestNearest(t *testing.T) {
	g := newGame(t, realm.Options{Creatures: 20_000, Seed: 5, Shards: 1}, 1)
	g.step(2)
	pos := world.Read[realm.Position](g.World)
	people := g.World.Query(pos, world.With[realm.Health](g.World))
	for i := range 100 {
		p := realm.Position{X: float32(i * 37 % 1025), Y: float32(i * 91 % 1025)}
		best, want := math.Inf(1), handle.None
		for ch := range people.Chunks() {
			for k, q := range pos.Slice(ch) {
				if d := math.Hypot(float64(q.X-p.X), float64(q.Y-p.Y)); d < best {
					best, want = d, ch.Handle(k)
				}
			}
		}
		require.Less(t, best, 16.0, "the test wants a crowd")
		require.Equal(t, want, g.Nearest(0, p, handle.None))
		require.NotEqual(t, want, g.Nearest(0, p, want))
	}
}

func TestTickAllocatesNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build moves at each refresh what was handed out")
	}
	g := newGame(t, realm.Options{Creatures: 2000, Seed: 1}, 1)
	g.step(300)
	require.Less(t, testing.AllocsPerRun(100, func() { g.step(1) }), 1.0)
}

// inBench is how many creatures benchmarks have.
func inBench() int {
	if testing.Short() {
		return 5000
	}
	return 100_000
}

func BenchmarkTick(b *testing.B) {
	g := newGame(b, realm.Options{Creatures: inBench(), Seed: 1}, 0)
	g.step(100)
	before := g.Ledger()
	b.ReportAllocs()
	for b.Loop() {
		g.step(1)
	}
	after := g.Ledger()
	per := func(a, b uint64) float64 { return float64(a-b) / float64(g.World.Tick()-100) }
	b.ReportMetric(per(after.Destroyed[realm.Creatures], before.Destroyed[realm.Creatures]), "deaths/op")
	b.ReportMetric(per(after.Blows, before.Blows), "attacks/op")
}
