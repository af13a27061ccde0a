package timer_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Components with IDs: in a field, nested, in arrays, beside pointers, and as all there is.
type (
	Plain struct {
		Before int8
		Fade   timer.ID
		After  int
	}
	Nested struct {
		N  int
		In struct {
			Text string
			Of   struct{ Fade timer.ID }
			Load async.ID
		}
		Plain
	}
	Arrays struct {
		Fades [3]timer.ID
		Slots [2][2]struct {
			N    int
			Fade timer.ID
		}
		None [0]timer.ID
		N    int
	}
	owner struct {
		Body
		Plain
		Nested
		Arrays
		Load async.ID
		Raw  uint64
	}
)

// ids is the game of these components.
type ids struct {
	*game
	plain  *world.Component[Plain]
	nested *world.Component[Nested]
	arrays *world.Component[Arrays]
	load   *world.Component[async.ID]
	raw    *world.Component[uint64]
	owners *world.Bundle[owner]
}

func newIDs(t *testing.T, workers int) *ids {
	g := newGame(t, 2, workers, timer.Options{})
	x := &ids{
		game: g, plain: world.Register[Plain](g.World, "plain"), nested: world.Register[Nested](g.World, "nested"), arrays: world.Register[Arrays](g.World, "arrays"),
		load: world.Register[async.ID](g.World, "load"), raw: world.Register[uint64](g.World, "raw"),
	}
	x.owners = world.NewBundle[owner](g.World)
	return x
}

// full returns components that have an ID wherever one can be.
func full(fade timer.ID, load async.ID) owner {
	x := owner{Body: Body{1}, Plain: Plain{2, fade, 3}, Load: load, Raw: uint64(fade)}
	x.Nested.N, x.Nested.In.Text, x.Nested.In.Of.Fade, x.Nested.In.Load, x.Nested.Plain = 4, "five", fade, load, Plain{6, fade, 7}
	x.Arrays.N = 8
	for i := range x.Arrays.Fades {
		x.Arrays.Fades[i] = fade
	}
	for i := range x.Arrays.Slots {
		for k := range x.Arrays.Slots[i] {
			x.Arrays.Slots[i][k].N, x.Arrays.Slots[i][k].Fade = 9, fade
		}
	}
	return x
}

// without returns what a copy has of full.
func without(fade timer.ID) owner {
	x := full(timer.None, async.None)
	x.Raw = uint64(fade) // which is no ID
	return x
}

// has returns what an entity has.
func (x *ids) has(h handle.Handle) owner {
	w := x.World
	require.True(x.t, w.Alive(h))
	return owner{
		*world.Read[Body](w).Get(h), *world.Read[Plain](w).Get(h), *world.Read[Nested](w).Get(h), *world.Read[Arrays](w).Get(h),
		*world.Read[async.ID](w).Get(h), *world.Read[uint64](w).Get(h),
	}
}

// born makes an entity with a timer that is due in ten ticks.
func (x *ids) born() (h handle.Handle, fade timer.ID) {
	h, err := x.owners.Create(x.World, owner{})
	require.NoError(x.t, err)
	fade = x.must(x.timers.After(x.World, h, 10, Ping{N: 1}))
	require.NoError(x.t, x.owners.Set(x.World, h, full(fade, 77)))
	return h, fade
}

// TestCopiedID copies entities in all ways: what is cancelled by a copy's IDs is no timer of the
// original.
func TestCopiedID(t *testing.T) {
	type copies = func(x *ids, h handle.Handle) (of *ids, copied handle.Handle)
	bySystem := func(make func(c *world.Context, h handle.Handle) (handle.Handle, error)) copies {
		return func(x *ids, h handle.Handle) (*ids, handle.Handle) {
			copied := handle.None
			x.s.MustAdd("copy", func(b *world.Build) func(*world.Context) {
				b.Creates(x.owners)
				return func(c *world.Context) {
					if c.Owns(h) && copied == handle.None {
						var err error
						copied, err = make(c, h)
						require.NoError(t, err)
					}
				}
			}, scheduler.Before("global"))
			x.step()
			return x, copied
		}
	}
	byWorld := func(make func(w *world.World, h handle.Handle) (handle.Handle, error)) copies {
		return func(x *ids, h handle.Handle) (*ids, handle.Handle) {
			copied, err := make(x.World, h)
			require.NoError(t, err)
			return x, copied
		}
	}
	for how, copyIt := range map[string]copies{
		"world.Copy by the World":  byWorld(func(w *world.World, h handle.Handle) (handle.Handle, error) { return world.Copy(w, h) }),
		"prefab.Copy by the World": byWorld(func(w *world.World, h handle.Handle) (handle.Handle, error) { return prefab.Copy(w, h) }),
		"world.Copy by a Context":  bySystem(func(c *world.Context, h handle.Handle) (handle.Handle, error) { return world.Copy(c, h) }),
		"prefab.Copy by a Context": bySystem(func(c *world.Context, h handle.Handle) (handle.Handle, error) { return prefab.Copy(c, h) }),
		"an instance of a prefab":  func(x *ids, h handle.Handle) (*ids, handle.Handle) { return x, x.instance(h) },
		"what extends a prefab":    func(x *ids, h handle.Handle) (*ids, handle.Handle) { return x, x.extended(h) },
		"snapshot.Insert":          func(x *ids, h handle.Handle) (*ids, handle.Handle) { return x.inserted(h) },
	} {
		for _, workers := range []int{1, 2, 5} {
			t.Run(how, func(t *testing.T) {
				x := newIDs(t, workers)
				h, fade := x.born()
				of, copied := copyIt(x, h)
				require.Equal(t, without(fade), of.has(copied))
				require.Equal(t, full(fade, 77), x.has(h))
				require.NoError(t, of.timers.Cancel(of.World, of.has(copied).Plain.Fade))
				require.ErrorIs(t, of.timers.Reset(of.World, of.has(copied).Fades[0], 1), timer.ErrGone)
				require.Equal(t, "[10:1]", x.until(12))
			})
		}
	}
}

// instance makes an instance of a prefab with what an entity has.
func (x *ids) instance(h handle.Handle) handle.Handle {
	made, err := x.template(h).Create(x.World)
	require.NoError(x.t, err)
	return made
}

// extended is instance for a prefab that extends another.
func (x *ids) extended(h handle.Handle) handle.Handle {
	made, err := prefab.New(x.World, "extended", prefab.Extends(x.template(h))).Create(x.World)
	require.NoError(x.t, err)
	return made
}

func (x *ids) template(h handle.Handle) *prefab.Prefab {
	of := x.has(h)
	return prefab.New(x.World, "owner", prefab.With(x.bodies, of.Body), prefab.With(x.plain, of.Plain), prefab.With(x.nested, of.Nested),
		prefab.With(x.arrays, of.Arrays), prefab.With(x.load, of.Load), prefab.With(x.raw, of.Raw))
}

// inserted inserts an entity into another world, in which a timer has the same ID.
func (x *ids) inserted(h handle.Handle) (*ids, handle.Handle) {
	to := newIDs(x.t.(*testing.T), 1)
	other, fade := to.born()
	require.Equal(x.t, x.has(h).Plain.Fade, fade)
	piece, err := snapshot.ExtractAll(x.World, snapshot.ExtractOptions{})
	require.NoError(x.t, err)
	made, err := snapshot.Insert(to.World, piece, snapshot.InsertOptions{})
	require.NoError(x.t, err)
	require.Equal(x.t, full(fade, 77), to.has(other))
	return to, made.Handle(h)
}

// TestValueWithID keeps an ID that a call gives to an instance.
func TestValueWithID(t *testing.T) {
	x := newIDs(t, 1)
	h, fade := x.born()
	made, err := x.template(h).Create(x.World, prefab.With(x.plain, Plain{Fade: fade}))
	require.NoError(t, err)
	require.Equal(t, fade, x.has(made).Plain.Fade)
	require.Equal(t, timer.None, x.has(made).Nested.Plain.Fade)
}

// TestSameID keeps the IDs of an entity that goes on: in a snapshot, in a fork, in another shard,
// and with other components.
func TestSameID(t *testing.T) {
	x := newIDs(t, 2)
	h, fade := x.born()
	want := full(fade, 77)
	x.step()
	shardOf := func() int {
		shard, ok := x.Owner(h)
		require.True(t, ok)
		return shard
	}
	shard := 1 - shardOf()
	require.NoError(t, world.Move(x.World, h, shard))
	require.Equal(t, shard, shardOf())
	require.Equal(t, want, x.has(h))
	port, err := x.OpenPort()
	require.NoError(t, err)
	require.NoError(t, world.Move(port, h, 1-shard))
	require.NoError(t, x.bodies.Remove(x.World, h))
	require.NoError(t, x.bodies.Add(x.World, h, want.Body))
	x.step()
	port.Close()
	x.step()
	require.Equal(t, 1-shard, shardOf())
	require.Equal(t, want, x.has(h))

	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, x.World, snapshot.Options{Scheduler: x.s}))
	saved := newIDs(t, 1)
	require.NoError(t, snapshot.Load(&image, saved.World, snapshot.Options{Scheduler: saved.s}))
	require.Equal(t, want, saved.has(h))
	captured, err := snapshot.Capture(x.World, snapshot.Options{Scheduler: x.s})
	require.NoError(t, err)
	defer captured.Release()
	fork := newIDs(t, 5)
	require.NoError(t, captured.Load(fork.World, snapshot.Options{Scheduler: fork.s}))
	require.Equal(t, want, fork.has(h))
	require.Equal(t, x.hash(), fork.hash())
	require.NoError(t, fork.timers.Cancel(fork.World, fork.has(h).Plain.Fade))
	require.Equal(t, "[]", fork.until(12))
	require.Equal(t, "[10:1]", x.until(12))
}
