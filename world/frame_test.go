package world_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// seenEntity is what a test sees of an entity.
type seenEntity struct {
	h        handle.Handle
	owner    int
	flags    world.Flags
	position Position
	velocity Velocity
	health   Health
	name     string
	has      [4]bool
	frozen   bool
}

// reader is what both a World and a Frame can be asked.
type reader interface {
	world.Binder
	Query(...world.Term) *world.Query
	Alive(handle.Handle) bool
	Owner(handle.Handle) (int, bool)
	Tick() uint64
}

// see returns all entities in the order of a query's chunks, as a query, slices and look-ups see
// them.
func (f *fixture) see(from reader, flags func(handle.Handle) world.Flags) (all []seenEntity) {
	position, velocity := world.Read[Position](from), world.Read[Velocity](from)
	health, name := world.Read[Health](from), world.Read[Name](from)
	frozen := map[handle.Handle]bool{}
	for h := range from.Query(world.With[Frozen](from)).Entities() {
		frozen[h] = true
	}
	q := from.Query(world.Optional(position), world.Optional(velocity), world.Optional(health), world.Optional(name))
	for ch := range q.Chunks() {
		p, v, hp, n := position.Slice(ch), velocity.Slice(ch), health.Slice(ch), name.Slice(ch)
		for i, h := range ch.Handles() {
			x := seenEntity{h: h, flags: flags(h), frozen: frozen[h], has: [4]bool{p != nil, v != nil, hp != nil, n != nil}}
			owner, alive := from.Owner(h)
			require.True(f.t, alive && from.Alive(h))
			x.owner = owner
			require.Equal(f.t, p != nil, position.Get(h) != nil)
			if p != nil {
				require.Equal(f.t, p[i], *position.Get(h))
				x.position = p[i]
			}
			if v != nil {
				require.Equal(f.t, v[i], *velocity.At(ch.Loc(i)))
				x.velocity = v[i]
			}
			if hp != nil {
				x.health = hp[i]
			}
			if n != nil {
				x.name = n[i].Text
				require.Equal(f.t, x.name, name.Get(h).Text)
			}
			all = append(all, x)
		}
	}
	require.Len(f.t, all, q.Count())
	return all
}

// mustSee checks that a frame has these entities, and no others.
func (f *fixture) mustSee(frame *world.Frame, want []seenEntity, all []handle.Handle) {
	f.t.Helper()
	require.Equal(f.t, want, f.see(frame, frame.Flags))
	require.Equal(f.t, len(want), frame.Count())
	n := 0
	for _, h := range all {
		if frame.Alive(h) {
			n++
		}
	}
	require.Equal(f.t, len(want), n, "each handle that was ever given, and its slot's next one, is alive or not")
	for _, flag := range []world.Flags{1, 2} {
		count := 0
		for _, x := range want {
			if x.flags&flag != 0 {
				count++
			}
		}
		require.Equal(f.t, count, frame.Query(world.WithFlags(frame, flag)).Count())
	}
}

// mustDiffer checks what differs between two frames.
func (f *fixture) mustDiffer(d *world.Diff, before, after []seenEntity) {
	f.t.Helper()
	old := map[handle.Handle]seenEntity{}
	for _, x := range before {
		old[x.h] = x
	}
	var created, destroyed, retyped, health, name []handle.Handle
	is := map[handle.Handle]bool{}
	for _, x := range after {
		is[x.h] = true
		was, ok := old[x.h]
		if !ok {
			created = append(created, x.h)
			continue
		}
		if was.has != x.has || was.frozen != x.frozen {
			retyped = append(retyped, x.h)
		}
		if was.has[2] && x.has[2] && was.health != x.health {
			health = append(health, x.h)
		}
		if was.has[3] && x.has[3] && was.name != x.name {
			name = append(name, x.h)
		}
	}
	for _, x := range before {
		if !is[x.h] {
			destroyed = append(destroyed, x.h)
		}
	}
	require.Equal(f.t, [][]handle.Handle{created, destroyed, retyped, health, name}, [][]handle.Handle{d.Created, d.Destroyed, d.Retyped, d.Changed(f.health), d.Changed(f.name)})
}

// busyTick changes the world in every way, as chance says.
func (f *fixture) busyTick(r *rand.Rand, all *[]handle.Handle, p *world.Port, workers int) {
	any := func() handle.Handle { return (*all)[r.IntN(len(*all))] }
	for range r.IntN(20) {
		h, err := f.creature.Create(f.World, Creature{Health: Health{r.Int64N(9)}, Name: Name{"c"}})
		require.NoError(f.t, err)
		*all = append(*all, h)
	}
	if r.IntN(3) == 0 {
		for _, b := range []func() ([]handle.Handle, error){
			func() ([]handle.Handle, error) { return f.mover.AppendN(nil, f.World, r.IntN(200), nil) },
			func() ([]handle.Handle, error) { return f.unit.AppendN(nil, p, r.IntN(50), nil) },
		} {
			hs, err := b()
			require.NoError(f.t, err)
			*all = append(*all, hs...)
		}
	}
	for range r.IntN(12) {
		_ = f.position.Add(f.World, any(), Position{X: r.Float64()})
		_ = f.velocity.Remove(f.World, any())
		_ = f.health.Set(p, any(), Health{r.Int64N(99)})
		_ = f.name.Add(p, any(), Name{string(rune('a' + r.IntN(26)))})
		_ = world.AddFlags(f.World, any(), world.Flags(1+r.IntN(3)))
		_ = world.RemoveFlags(p, any(), 1)
		_ = world.Move(p, any(), r.IntN(f.Shards()))
		f.World.Destroy(any())
	}
	switch r.IntN(12) {
	case 0:
		require.NoError(f.t, f.frozen.AddTo(f.World.Query(world.With[Velocity](f.World)), nil))
	case 1:
		require.NoError(f.t, f.World.Query(world.With[Frozen](f.World)).Remove(f.frozen))
	case 2:
		f.World.Query(world.With[Position](f.World)).Limit(r.IntN(100)).Destroy()
	case 3:
		for ch := range f.World.Query(world.With[Health](f.World)).Chunks() {
			for i := range world.Write[Health](f.World).Slice(ch) {
				world.Write[Health](f.World).Slice(ch)[i].Points++
			}
		}
	}
	tick := engine.Of(f.World).BeginTick()
	tick.End(inParallel(workers))
}

// inParallel is an extend.Parallel of so many goroutines.
func inParallel(workers int) func(n int, f func(int)) {
	return func(n int, f func(int)) {
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := w; i < n; i += workers {
					f(i)
				}
			})
		}
		all.Wait()
	}
}

// TestFrames captures frames of a busy world, holds each for a while, and looks at them again
// and again: they stay as the world was.
func TestFrames(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		r := rand.New(rand.NewPCG(uint64(workers), 7))
		f := newFixture(t, world.Options{Shards: 3, ChunkRowsFirst: 4, ChunkRowsMax: 64})
		whole, err := f.NewView()
		require.NoError(t, err)
		p := f.port()
		all := f.newUnits(10)
		type heldFrame struct {
			*world.Frame
			want []seenEntity
		}
		var held []heldFrame
		for n := range frameTicks() {
			var frame *world.Frame
			captured := make(chan error, 1)
			now := r.IntN(4) == 0
			if r.IntN(50) == 0 {
				f.Clear()
			}
			if !now && r.IntN(3) > 0 {
				go func() {
					var err error
					frame, err = whole.Capture(context.Background())
					captured <- err
				}()
				world.AwaitCaptures(f.World, 1)
			} else {
				captured <- nil
			}
			f.busyTick(r, &all, p, workers)
			if now {
				frame, err = whole.Now()
				require.NoError(t, err)
			}
			require.NoError(t, <-captured)
			if frame != nil {
				require.Equal(t, f.Tick(), frame.Tick())
				held = append(held, heldFrame{frame, f.see(f.World, func(h handle.Handle) world.Flags { return world.FlagsOf(f.World, h) })})
			}
			for _, x := range held {
				if n%3 == 0 {
					f.mustSee(x.Frame, x.want, all)
				}
			}
			if n := len(held); n > 1 {
				i, j := r.IntN(n), r.IntN(n)
				f.mustDiffer(held[j].Diff(held[i].Frame), held[i].want, held[j].want)
			}
			if len(held) == 3 || len(held) > 0 && r.IntN(5) == 0 {
				i := r.IntN(len(held))
				f.mustSee(held[i].Frame, held[i].want, all)
				held[i].Release()
				held = slices.Delete(held, i, i+1)
			}
		}
		f.Close()
		for _, x := range held {
			f.mustSee(x.Frame, x.want, all)
		}
	}
}

func frameTicks() int {
	if testing.Short() || check.Enabled {
		return 25
	}
	return 200
}

// TestFrameReaders has many goroutines read frames of a world that ticks on, as fast as they come.
func TestFrameReaders(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	require.NoError(t, f.mover.CreateN(f.World, 3000, nil))
	moving, err := f.NewView(f.position, f.velocity)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for n := 0; ; n++ {
				frame, err := moving.Capture(ctx)
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
					return
				}
				position, velocity := world.Read[Position](frame), world.Read[Velocity](frame)
				for ch := range frame.Query(position, velocity).Chunks() {
					p, v := position.Slice(ch), velocity.Slice(ch)
					for i := range p {
						if p[i].X != float64(frame.Tick()) || p[i].X != v[i].Y || position.Get(ch.Handle(i)).Y != 0 {
							t.Errorf("row %d of tick %d: %v, %v", i, frame.Tick(), p[i], v[i])
							return
						}
					}
				}
				frame.Release()
			}
		})
	}
	write := (func(b *world.Build) func(*world.Context) {
		position, velocity := world.Write[Position](b), world.Write[Velocity](b)
		all := b.Query(position, velocity)
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				p, v := position.Slice(ch), velocity.Slice(ch)
				for i := range p {
					p[i].X, v[i].Y = float64(c.Tick()+1), float64(c.Tick()+1)
				}
			}
		}
	})
	moves := f.build(write)
	for range frameTicks() * 2 {
		f.runTick(moves)
		runtime.Gosched()
	}
	cancel()
	readers.Wait()
}
