package world_test

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/world"
)

// needCheck skips what only the check build sees.
func needCheck(t *testing.T) {
	t.Helper()
	if !check.Enabled {
		t.Skip("checked in the check build only")
	}
}

// asked is everything that a Build returns.
type asked struct {
	reader   *world.Reader[Health]
	writer   *world.Writer[Position]
	query    *world.Query
	foreign  *world.ForeignReader[Velocity]
	receiver *world.Receiver[Hit]
}

// askAll asks for it on every shard.
func (f *fixture) askAll(system string) []asked {
	all := make([]asked, f.Shards())
	for i := range all {
		b := (*world.Build)(engine.Of(f.World).NewBuild(i, system))
		a := &all[i]
		a.reader, a.writer = world.Read[Health](b), world.Write[Position](b)
		a.foreign, a.receiver = world.ReadForeign[Velocity](b), world.Receive[Hit](b)
		a.query = b.Query(a.reader)
		(*engine.Build)(b).Finish()
	}
	return all
}

// during runs f as a system of that name on a shard, in a tick of its own.
func (f *fixture) during(system string, shard int, run func(*world.Context)) {
	t := engine.Of(f.World).BeginTick()
	defer t.End(serial)
	c := (*world.Context)(engine.Of(f.World).Context(shard))
	(*engine.Context)(c).Acting().Start(system, &extend.Access{})
	defer (*engine.Context)(c).Acting().Stop()
	run(c)
	(*engine.Context)(c).Acting().Returned()
}

// uses are the ways to use what was asked for: each must be refused out of turn.
func (a *asked) uses(ch world.Chunk, h handle.Handle, l shard.Loc) map[string]func() {
	return map[string]func(){
		`accessor of component "health"`:          func() { a.reader.Get(h) },
		`accessor of component "health", At`:      func() { a.reader.At(l) },
		`accessor of component "health", Slice`:   func() { a.reader.Slice(ch) },
		`accessor of component "position"`:        func() { a.writer.Get(h) },
		`accessor of component "position", At`:    func() { a.writer.At(l) },
		`accessor of component "position", Slice`: func() { a.writer.Slice(ch) },
		`a Query`:                                  func() { a.query.Chunks() },
		`a Query, Count`:                           func() { a.query.Count() },
		`foreign reader of component "velocity"`:   func() { a.foreign.Get(h) },
		`receiver of message world_test.Hit`:       func() { a.receiver.All() },
		`a Query, ChunksSince`:                     func() { a.query.ChunksSince(0) },
		`accessor of component "health", a nobody`: func() { a.reader.Get(handle.None) },
	}
}

// TestKeptOutOfTurn uses what one system asked for in every wrong place.
func TestKeptOutOfTurn(t *testing.T) {
	needCheck(t)
	f := newFixture(t, world.Options{Shards: 2})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	h := f.newUnit(1)
	asked := f.askAll("mine")
	f.askAll("other")
	mine := &asked[1]
	var ch world.Chunk
	for ch = range f.Query(world.Read[Health](f.World)).Chunks() {
		break
	}
	culprit := func(use string) string {
		for i, r := range use {
			if r == ',' {
				return use[:i]
			}
		}
		return use
	}
	for name, use := range mine.uses(ch, h, f.Locate(h)) {
		t.Run(name, func(t *testing.T) {
			says := []string{culprit(name), `made for system "mine" on shard 1, is used out of turn`, "while it runs"}
			mustPanic(t, append(says, "nobody's turn"), use)
			f.during("other", 1, func(*world.Context) {
				mustPanic(t, append(says, `the turn of system "other" on shard 1`), use)
			})
			f.during("mine", 0, func(*world.Context) { mustPanic(t, append(says, "nobody's turn"), use) })
		})
	}
	f.during("mine", 1, func(c *world.Context) {
		for ch := range mine.query.Chunks() {
			for name, use := range mine.uses(ch, h, c.Locate(h)) {
				require.NotPanics(t, use, name)
			}
		}
	})
}

// TestKeptIdle uses in a tick what was asked of the World.
func TestKeptIdle(t *testing.T) {
	needCheck(t)
	f := newFixture(t, world.Options{Shards: 2})
	h := f.newUnit(1)
	reader, q := world.Read[Health](f.World), f.Query(world.Read[Health](f.World))
	f.during("any", 0, func(*world.Context) {
		says := []string{"made for the idle World, is used out of turn: it is the turn of a running tick", "use what its Build returned"}
		mustPanic(t, append(says, `accessor of component "health"`), func() { reader.Get(h) })
		mustPanic(t, []string{"Query.Chunks while a tick runs"}, func() { q.Chunks() })
	})
	require.NotNil(t, reader.Get(h), "it is good again")
	require.Equal(t, 1, q.Count())
}

// TestKeptChunk uses views of rows after what ends them.
func TestKeptChunk(t *testing.T) {
	needCheck(t)
	f := newFixture(t, world.Options{Shards: 1})
	all := f.newUnits(20)
	health := world.Write[Health](f.World)
	q := f.Query(health)
	for name, move := range map[string]func(){
		"Refresh":  f.Refresh,
		"a tick":   func() { f.tick() },
		"Clear":    func() { f.Clear(); all = f.newUnits(20) },
		"Add":      func() { require.NoError(t, f.name.Add(f.World, all[0], Name{})) },
		"Remove":   func() { _ = f.name.Remove(f.World, all[1]) },
		"Exchange": func() { require.NoError(t, f.mover.Add(f.World, all[2], Mover{}, f.name)) },
		"AddTo":    func() { require.NoError(t, f.frozen.AddTo(q, nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			var kept world.Chunk
			for kept = range q.Chunks() {
				break
			}
			kept.Len() // good as yet
			move()
			for use, run := range map[string]func(){
				"Len": func() { kept.Len() }, "Handle": func() { kept.Handle(0) }, "Handles": func() { kept.Handles() },
				"Slice": func() { health.Slice(kept) }, "Reader's": func() { health.Reader.Slice(kept) },
			} {
				t.Run(use, func(t *testing.T) {
					mustPanic(t, []string{"a Chunk of", "on shard 0 is used after the refresh", "ask the query for its Chunks again"}, run)
				})
			}
		})
	}
	t.Run("creating and destroying move nothing", func(t *testing.T) {
		for ch := range q.Chunks() {
			f.newUnits(100)
			f.Destroy(ch.Handle(0))
			require.Len(t, health.Slice(ch), ch.Len())
		}
	})
}

// TestKeptChunkElsewhere hands a view to an accessor of another shard or world.
func TestKeptChunkElsewhere(t *testing.T) {
	needCheck(t)
	f, other := newFixture(t, world.Options{Shards: 2}), newFixture(t, world.Options{})
	f.newUnits(40)
	asked := f.askAll("mine")
	for ch := range f.Query(world.With[Health](f.World)).Chunks() {
		mustPanic(t, []string{"a Chunk of another world", "accessor of world_test.Health", "of one world"}, func() {
			world.Read[Health](other.World).Slice(ch)
		})
	}
	tick := engine.Of(f.World).BeginTick()
	defer tick.End(serial)
	for i := range 2 {
		engine.Of(f.World).Context(i).Acting().Start("mine", &extend.Access{})
		defer engine.Of(f.World).Context(i).Acting().Stop()
	}
	for ch := range asked[0].query.Chunks() {
		mustPanic(t, []string{"a Chunk of shard 0", "accessor of world_test.Health that was made for shard 1", "of one Build"}, func() {
			asked[1].reader.Slice(ch)
		})
	}
}

// TestKeptIterator uses iterators in a later tick than that in which they were
// made, and in the midst of it.
func TestKeptIterator(t *testing.T) {
	needCheck(t)
	f := newFixture(t, world.Options{Shards: 1})
	f.newUnits(200)
	asked := f.askAll("mine")[0]
	q := f.Query(world.Read[Health](f.World))
	says := []string{"an iterator made in tick", "is used in tick", "ask for a new one in each tick"}
	walk := func(seq iter.Seq[world.Chunk]) func() {
		return func() {
			for range seq {
			}
		}
	}
	t.Run("idle", func(t *testing.T) {
		seq, since := q.Chunks(), q.ChunksSince(0)
		walk(seq)()
		walk(since)()
		f.Refresh()
		mustPanic(t, says, walk(seq))
		mustPanic(t, says, walk(since))
	})
	t.Run("of a system", func(t *testing.T) {
		var seq iter.Seq[world.Chunk]
		f.during("mine", 0, func(*world.Context) { seq = asked.query.Chunks(); walk(seq)() })
		mustPanic(t, []string{"a Query", "out of turn"}, walk(seq))
		f.during("mine", 0, func(*world.Context) { mustPanic(t, says, walk(seq)) })
	})
	t.Run("pulled", func(t *testing.T) {
		var next func() (world.Chunk, bool)
		var stop func()
		f.during("mine", 0, func(*world.Context) {
			next, stop = iter.Pull(asked.query.Chunks())
			_, ok := next()
			require.True(t, ok)
		})
		f.during("mine", 0, func(*world.Context) { mustPanic(t, says, func() { next() }) })
		stop()
	})
}

// TestKeptPointer keeps pointers and slices past what ends them: they read
// Poison, or zeroes if the component holds pointers, whoever the row was and
// whoever has it now.
func TestKeptPointer(t *testing.T) {
	needCheck(t)
	var poisoned Health
	for range 8 {
		poisoned.Points = poisoned.Points<<8 | store.Poison
	}
	for end, move := range map[string]func(f *fixture, all []handle.Handle){
		"living":         func(f *fixture, _ []handle.Handle) { f.Refresh() },
		"in a tick":      func(f *fixture, _ []handle.Handle) { f.tick() },
		"cleared":        func(f *fixture, _ []handle.Handle) { f.Clear() },
		"some destroyed": func(f *fixture, all []handle.Handle) { f.Destroy(all[3]); f.Refresh() },
		"all destroyed":  func(f *fixture, _ []handle.Handle) { f.Query().Destroy(); f.Refresh() },
		"twice":          func(f *fixture, _ []handle.Handle) { f.Refresh(); f.Refresh() },
		"others came": func(f *fixture, _ []handle.Handle) {
			f.Query().Destroy()
			f.Refresh()
			_ = f.creature.CreateN(f.World, 50, nil)
		},
		"column dropped": func(f *fixture, _ []handle.Handle) {
			q := f.Query()
			_ = q.Remove(f.health)
			_ = q.Remove(f.name)
		},
		"taken and given": func(f *fixture, _ []handle.Handle) {
			q := f.Query()
			_ = q.Remove(f.health)
			_ = q.Remove(f.name)
			f.Refresh()
			_ = f.health.AddTo(q, nil)
		},
	} {
		t.Run(end, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 1})
			health, name, idle := world.Write[Health](f.World), world.Read[Name](f.World), f.Query()
			all, err := f.creature.AppendN(nil, f.World, 50, func(i int, c *Creature) { c.Points, c.Text = int64(i), "somebody" })
			require.NoError(t, err)
			f.tick(func(b *world.Build) func(*world.Context) { // rows that come later have other chunks
				b.Creates(f.creature)
				return func(c *world.Context) { require.NoError(t, f.creature.CreateN(c, 50, nil)) }
			})
			var points []*Health
			var names []*Name
			for _, h := range all {
				points, names = append(points, health.Get(h)), append(names, name.At(f.Locate(h)))
			}
			for ch := range idle.Chunks() {
				p, n := health.Slice(ch), name.Slice(ch)
				points, names = append(points, &p[0]), append(names, &n[0])
			}
			want := *health.Get(all[7])
			move(f, all)
			for i := range points {
				require.Equal(t, Name{}, *names[i], "%d", i)
				if end != "taken and given" || *points[i] != (Health{}) { // rows of no use may be used again
					require.Equal(t, poisoned, *points[i], "%d", i)
				}
			}
			if f.Alive(all[7]) && f.Has(all[7], f.health) && end != "taken and given" {
				require.Equal(t, want, *health.Get(all[7]), "and it has not lost its value")
				require.Equal(t, "somebody", name.Get(all[7]).Text)
			}
		})
	}
}

// TestKeptPointerIdle keeps a pointer past a change of the idle world, which moves
// the row at once.
func TestKeptPointerIdle(t *testing.T) {
	needCheck(t)
	for name, move := range map[string]func(f *fixture, h handle.Handle) error{
		"Add":      func(f *fixture, h handle.Handle) error { return f.frozen.Add(f.World, h, Frozen{}) },
		"Remove":   func(f *fixture, h handle.Handle) error { return f.name.Remove(f.World, h) },
		"Exchange": func(f *fixture, h handle.Handle) error { return f.mover.Add(f.World, h, Mover{}, f.name) },
		"AddTo": func(f *fixture, h handle.Handle) error {
			return f.frozen.AddTo(f.Query(world.With[Name](f.World), world.WithoutFlags(f.World, hidden)), nil) // row by row
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 1})
			all, err := f.creature.AppendN(nil, f.World, 20, func(_ int, c *Creature) { c.Points = 5 })
			require.NoError(t, err)
			require.NoError(t, f.frozen.Add(f.World, all[0], Frozen{})) // so that AddTo finds a table to move to
			require.NoError(t, f.frozen.Remove(f.World, all[0]))
			last := all[0] // it was put last
			p := world.Read[Health](f.World).Get(last)
			require.NoError(t, world.AddFlags(f.World, all[5], hidden))
			require.NoError(t, move(f, last))
			require.Less(t, p.Points, int64(0), "%d", p.Points)
			require.Equal(t, int64(5), world.Read[Health](f.World).Get(last).Points)
		})
	}
}

// TestKeptInSystem keeps a pointer from one tick to the next.
func TestKeptInSystem(t *testing.T) {
	needCheck(t)
	f := newFixture(t, world.Options{Shards: 2})
	f.newUnits(100)
	kept := make([]*Health, 2)
	system := f.build(func(b *world.Build) func(*world.Context) {
		health := world.Write[Health](b)
		q := b.Query(health)
		return func(c *world.Context) {
			if p := kept[c.Shard()]; p != nil {
				require.Less(t, p.Points, int64(-1), "what was kept reads nonsense")
			}
			for ch := range q.Chunks() {
				for i := range health.Slice(ch) {
					require.GreaterOrEqual(t, health.Slice(ch)[i].Points, int64(0))
				}
				kept[c.Shard()] = &health.Slice(ch)[0]
			}
		}
	})
	for range 5 {
		f.runTick(system)
	}
	require.Equal(t, 100, f.Count())
}

// TestKeptReadOnly writes through what was asked for as read-only, in every way.
func TestKeptReadOnly(t *testing.T) {
	needCheck(t)
	f := newFixture(t, world.Options{Shards: 3})
	h := f.newUnits(200)[0]
	require.NoError(t, f.creature.CreateN(f.World, 50, nil))
	at := int(h.Home())
	for name, write := range map[string]func(*world.Reader[Health], *world.Query){
		"Get": func(r *world.Reader[Health], _ *world.Query) { r.Get(h).Points = 77 },
		"Slice": func(r *world.Reader[Health], q *world.Query) {
			for ch := range q.Chunks() {
				s := r.Slice(ch)
				s[len(s)-1].Points--
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			says := []string{`system "test" on shard `, ` wrote component "health", which it asked to read`, "ask with world.Write[world_test.Health](b) in its constructor"}
			mustPanic(t, says, func() {
				f.tick(on(at, func(b *world.Build) func(*world.Context) {
					r := world.Read[Health](b)
					world.Write[Position](b)
					q := b.Query(r)
					return func(*world.Context) { write(r, q) }
				}))
			})
		})
	}
	t.Run("pointers", func(t *testing.T) {
		mustPanic(t, []string{`wrote component "name"`}, func() {
			f.tick(func(b *world.Build) func(*world.Context) {
				r := world.Read[Name](b)
				q := b.Query(r)
				return func(*world.Context) {
					for ch := range q.Chunks() {
						r.Slice(ch)[0].Text = "other"
					}
				}
			})
		})
	})
	t.Run("who asked for both may", func(t *testing.T) {
		f.tick(func(b *world.Build) func(*world.Context) {
			r, w := world.Read[Health](b), world.Write[Health](b)
			q := b.Query(w)
			b.Creates(f.unit)
			return func(c *world.Context) {
				for ch := range q.Chunks() {
					w.Slice(ch)[0].Points = r.Slice(ch)[0].Points + 1
				}
				require.NoError(t, f.unit.CreateN(c, 10, nil))
			}
		})
	})
	t.Run("who reads may create others, and request", func(t *testing.T) {
		p := f.port()
		require.NoError(t, f.health.Set(p, h, Health{1}))
		f.tick(func(b *world.Build) func(*world.Context) {
			r := world.Read[Health](b)
			q := b.Query(r)
			b.Creates(f.mover)
			return func(c *world.Context) {
				require.NoError(t, f.mover.CreateN(c, 100, nil))
				for ch := range q.Chunks() {
					require.NoError(t, c.Destroy(ch.Handle(0)))
					require.NoError(t, world.AddFlags(c, ch.Handle(ch.Len()-1), hidden))
				}
			}
		})
	})
}
