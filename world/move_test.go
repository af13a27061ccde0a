package world_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// TestMoveWithMail moves entities from several shards to one, which get messages by the
// same refresh: they go with them, in the order in which all were sent.
func TestMoveWithMail(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	all := f.newUnits(3)
	p := f.port()
	for i, to := range []int{1, 2, 0, 1, 2, 0} {
		require.NoError(t, f.hit.Send(p, all[to], Hit{int64(i)}))
	}
	for _, h := range all {
		require.NoError(t, world.Move(p, h, 2))
	}
	f.Refresh()
	var e ear
	f.tick(e.listen)
	require.Empty(t, e.heard[0])
	require.Empty(t, e.heard[1])
	var order []int64
	for _, x := range e.heard[2] {
		order = append(order, x.Body.Damage)
	}
	require.Equal(t, []int64{0, 1, 2, 3, 4, 5}, order)
}

// TestMove moves an entity from shard to shard, round and round: it keeps its
// handle, its components and its flags; and just its owner's systems find it.
func TestMove(t *testing.T) {
	for _, kind := range []string{"World", "Context", "Port"} {
		t.Run(kind, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 3})
			all, err := f.creature.AppendN(nil, f.World, 30, func(i int, c *Creature) { c.Name.Text = fmt.Sprint(i) })
			require.NoError(t, err)
			h := all[17]
			require.NoError(t, world.AddFlags(f.World, h, burning|last))
			require.NoError(t, world.AddFlags(f.World, all[18], hidden))
			for round := range 7 {
				to := round * 2 % 3
				was, _ := f.Owner(h)
				before := f.stats()
				f.holder(kind, func(by world.Actor) { require.NoError(t, world.Move(by, h, to)) })
				now, ok := f.Owner(h)
				require.True(t, ok)
				require.Equal(t, to, now)

				require.Equal(t, Name{"17"}, *world.Read[Name](f.World).Get(h))
				require.Equal(t, []world.Flags{burning | last, hidden, 0}, []world.Flags{world.FlagsOf(f.World, h), world.FlagsOf(f.World, all[18]), world.FlagsOf(f.World, all[19])})
				require.Equal(t, 28, f.Query(world.Read[Health](f.World), world.WithoutFlags(f.World, last|hidden)).Count())
				after := f.stats()
				require.Equal(t, before.Created, after.Created)
				require.Equal(t, before.Destroyed, after.Destroyed)
				moved := uint64(1)
				if was == to {
					moved = 0
				}
				require.Equal(t, before.Moved+moved, after.Moved)
				require.Equal(t, 30, after.Entities)
				f.tick(func(b *world.Build) func(*world.Context) {
					names := world.Read[Name](b)
					here := b.Query(names)
					return func(c *world.Context) {
						require.Equal(t, c.Shard() == to, names.Get(h) != nil)
						seen := 0
						for ch := range here.Chunks() {
							for i, x := range ch.Handles() {
								if x == h {
									seen++
									require.Equal(t, "17", names.Slice(ch)[i].Text)
								}
							}
						}
						require.Equal(t, c.Shard() == to, seen == 1)
						at, ok := c.Owner(h)
						require.Equal(t, []any{to, true}, []any{at, ok})
					}
				})
			}
		})
	}
}

// TestMoveAndDie destroys an entity far from home: its slot goes home and is used
// again.
func TestMoveAndDie(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	mine, sent := f.newUnit(1), handle.None
	f.holder("Port", func(by world.Actor) { sent, _ = f.unit.Create(by, Unit{Health{1}}) })
	for _, h := range []handle.Handle{mine, sent} {
		require.NoError(t, world.Move(f.World, h, 2))
		require.True(t, f.Destroy(h))
		require.ErrorIs(t, world.Move(f.World, h, 0), world.ErrStale, "it is marked")
		f.Refresh()
		require.Equal(t, world.Stale, f.Status(h))
		_, ok := f.Owner(h)
		require.False(t, ok)
		require.ErrorIs(t, world.Move(f.World, h, 0), world.ErrStale)
	}
	require.Equal(t, mine+1, f.newUnit(1))
	require.Zero(t, f.stats().Shards[2].Entities)
}

// TestMoveOutcomes asks for several things in one refresh: all are done to the
// entity where it is, then the last move counts, unless it was destroyed.
func TestMoveOutcomes(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	f.unit.PlaceBy(func(Unit) int { return 0 })
	p := f.port()
	var done [8]world.Completion
	h, dies, stays := f.newUnit(0), f.newUnit(0), f.newUnit(0)
	require.NoError(t, world.Move(p.Notify(&done[0]), h, 3))
	require.NoError(t, f.health.Set(p, h, Health{5}))
	require.NoError(t, world.Move(p.Notify(&done[1]), h, 2))
	require.NoError(t, world.Move(p.Notify(&done[2]), dies, 2))
	require.NoError(t, p.Destroy(dies))
	require.NoError(t, world.Move(p.Notify(&done[3]), dies, 2))
	require.NoError(t, world.Move(p.Notify(&done[4]), stays, 1))
	require.NoError(t, world.Move(p.Notify(&done[5]), stays, 0))
	fresh, err := f.unit.Create(p, Unit{Health{7}})
	require.NoError(t, err)
	require.NoError(t, world.Move(p.Notify(&done[6]), fresh, 1))
	require.NoError(t, world.Move(p.Notify(&done[7]), h+1, 1))
	f.Refresh()
	for i, want := range []world.Outcome{
		world.Applied, world.Applied, world.Applied, world.Gone, world.Applied, world.Applied, world.Applied, world.Gone,
	} {
		require.Equal(t, want, done[i].Outcome(), "request %d", i)
	}
	for x, want := range map[handle.Handle]int{h: 2, stays: 0, fresh: 1} {
		at, ok := f.Owner(x)
		require.Equal(t, []any{want, true}, []any{at, ok})
	}
	require.False(t, f.Alive(dies))
	require.Equal(t, int64(5), world.Read[Health](f.World).Get(h).Points)
	require.Equal(t, uint64(2), f.stats().Moved)
}

// TestMoveSince sees that a move is neither a create nor a destroy, and that who
// looks for what has changed finds the atom at its new place.
func TestMoveSince(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.unit.PlaceBy(func(Unit) int { return 0 })
	all := f.newUnits(3)
	f.Refresh()
	f.Refresh()
	tick := f.Tick()
	require.NoError(t, world.Move(f.World, all[0], 1))
	require.Equal(t, []uint64{3, 0}, []uint64{f.stats().Created, f.stats().Destroyed})
	seen := map[handle.Handle]bool{}
	for ch := range f.Query(world.Read[Health](f.World)).ChunksSince(tick) {
		for _, h := range ch.Handles() {
			seen[h] = true
		}
	}
	require.True(t, seen[all[0]])
}

// TestMoveMisuse asks for shards that there are not, and moves within a loop.
func TestMoveMisuse(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	h := f.newUnit(0)
	for _, to := range []int{-1, 2} {
		require.PanicsWithValue(t, fmt.Sprintf("world: world.Move of %v to shard %d, want 0 to 1", h, to), func() {
			_ = world.Move(f.port(), h, to)
		})
	}
	for range f.Query().Chunks() {
		mustPanic(t, []string{"world: world.Move by the World inside a query loop would move the rows it walks; call it after the loop"}, func() {
			_ = world.Move(f.World, h, 1)
		})
	}
	f.tick(on(0, func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			require.PanicsWithValue(t, "world: world.Move by the World while a tick runs; within a system use its Context and what it asked of its Build, elsewhere a Port or a Frame", func() {
				_ = world.Move(f.World, h, 1)
			})
		}
	}))
}

// TestMoveSame moves a crowd about, by systems and ports, while it changes, dies
// and gets messages, and sees that nothing of the world tells in which order the
// steps of the refreshes were run.
func TestMoveSame(t *testing.T) {
	for _, keepOrder := range []bool{false, true} {
		want := moved(t, serial, keepOrder)
		for name, parallel := range parallels {
			t.Run(fmt.Sprintf("%s, keep order %t", name, keepOrder), func(t *testing.T) {
				got := moved(t, parallel, keepOrder)
				for i := range want {
					require.Equal(t, want[i], got[i], "tick %d", i)
				}
			})
		}
	}
}

func moved(t *testing.T, parallel extend.Parallel, keepOrder bool) (looks []string) {
	const shards = 5
	f := newFixture(t, world.Options{Shards: shards, KeepOrder: keepOrder})
	all, err := f.creature.AppendN(nil, f.World, 2000, func(i int, c *Creature) { c.Name.Text = fmt.Sprint(i) })
	require.NoError(t, err)
	heard := make([]strings.Builder, shards)
	crowd := f.build(func(b *world.Build) func(*world.Context) {
		names := world.Write[Name](b)
		b.Creates(f.creature)
		here, hits := b.Query(names, world.Write[Health](b)), world.Receive[Hit](b)
		return func(c *world.Context) {
			fmt.Fprintln(&heard[c.Shard()], hits.All())
			n := int(c.Tick())
			for ch := range here.Chunks() {
				for _, h := range ch.Handles() {
					var err error
					switch n++; n % 8 {
					case 0, 1:
						err = world.Move(c, h, (n/8+c.Shard())%shards)
					case 2:
						err = world.AddFlags(c, h, hidden)
					case 3:
						err = f.hit.Send(c, all[n%len(all)], Hit{int64(n)})
					case 4:
						if n%16 == 4 {
							err = c.Destroy(h)
							_, _ = f.creature.Create(c, Creature{Name: Name{fmt.Sprint(n)}})
						}
					case 5:
						_ = f.hit.Send(c, h, Hit{int64(n)})
						err = f.name.Remove(c, h)
					case 6:
						err = f.name.Add(c, h, Name{fmt.Sprint(n)})
					}
					if err != nil && err != world.ErrStale {
						t.Error(err)
					}
				}
			}
		}
	})
	p := f.port()
	ticks := 8
	if check.Enabled { // each takes long
		ticks = 4
	}
	for tick := range ticks {
		for i := range 500 {
			h := all[(i*7+tick)%len(all)]
			require.NoError(t, world.Move(p, h, i%shards))
			require.NoError(t, f.hit.Send(p, h, Hit{int64(-i)}))
			require.NoError(t, f.name.Add(p, h, Name{fmt.Sprint(tick)}))
		}
		x := engine.Of(f.World).BeginTick()
		for i, s := range crowd {
			c := (*world.Context)(engine.Of(f.World).Context(i))
			(*engine.Context)(c).Acting().Start("test", s.access)
			s.run(c)
			(*engine.Context)(c).Acting().Stop()
		}
		x.End(parallel)
		looks = append(looks, f.look(heard))
		for i := range heard {
			heard[i].Reset()
		}
	}
	return looks
}

// look writes down everything, by shard, in the order in which it is stored.
func (f *fixture) look(heard []strings.Builder) string {
	var b strings.Builder
	names := world.Read[Name](f.World)
	for ch := range f.Query(world.Optional(names)).Chunks() {
		for i, h := range ch.Handles() {
			at, _ := f.Owner(h)
			fmt.Fprint(&b, at, h, world.FlagsOf(f.World, h))
			if s := names.Slice(ch); s != nil {
				fmt.Fprint(&b, s[i])
			}
			fmt.Fprintln(&b)
		}
	}
	for i := range heard {
		fmt.Fprintln(&b, heard[i].String())
	}
	return b.String()
}

// TestMoveMemory moves what owns something and then destroys it: it is kept by its
// row in the new shard alone.
func TestMoveMemory(t *testing.T) {
	for _, kind := range []string{"World", "Port"} {
		t.Run(kind, func(t *testing.T) {
			e := newEstate(t, false)
			o, seen := own()
			h, err := e.owners.Create(e.World, owning{Owner: o})
			require.NoError(t, err)
			letter, letterSeen := own()
			o = Owner{}
			p := e.port()
			require.NoError(t, e.letter.Send(p, h, letter))
			letter = Owner{}
			e.holder(kind, func(by world.Actor) { require.NoError(t, world.Move(by, h, 1)) })
			e.Refresh()
			e.mustBe(true, seen)
			e.Refresh()
			e.mustBe(false, letterSeen)
			require.NoError(t, e.owner.Set(e.World, h, Owner{}))
			e.mustBe(false, seen)
			_, _ = o, letter
		})
	}
}
