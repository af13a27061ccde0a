package snapshot_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components, messages and resources of port, in an old form and a new one.
type (
	hull     struct{ Length, Speed float32 }
	hullNow  struct{ Speed, Length, Draught float64 }
	cargo    struct{ Tons int16 }
	cargoNow struct {
		Tons int32
		Note string
	}
	ensign    struct{}
	call      struct{ Loud int8 }
	callNow   struct{ Loud int16 }
	season    struct{ Month uint8 }
	seasonNow struct {
		Month uint16
		Name  string
	}
	haul    struct{ Tons int16 }
	haulNow struct{ Tons int64 }
)

// harbour has something of all that can change.
type harbour struct {
	*world.World
	o     snapshot.Options
	heard [2][]string // by shard

	season *world.Resource[seasonNow]
}

// oldHarbour makes and fills one, with entities in many tables, and requests and messages under
// way.
func oldHarbour(t *testing.T) (*harbour, []handle.Handle) {
	t.Helper()
	x := &harbour{World: world.MustNew(world.Options{Shards: 2, ChunkRowsFirst: 2, ChunkRowsMax: 8})}
	w := x.World
	world.Register[hull](w, "hull")
	paint := world.Register[Tag](w, "paint")
	loads := world.Register[cargo](w, "cargo")
	flags := world.Register[ensign](w, "flag")
	calls := world.RegisterMessage[call](w, "call")
	old := world.RegisterMessage[Hit](w, "old")
	world.RegisterResource(w, "season", season{7})
	world.RegisterResource(w, "gone", Rules{1, "x"})
	take := world.RegisterFunc(w, "take", func(*world.EntityContext, haul) {})
	lost := world.RegisterFunc(w, "lost", func(*world.EntityContext, Note) {})
	hierarchy.New(w, "tow", hierarchy.Options{})
	hierarchy.New(w, "gone tow", hierarchy.Options{})
	bundle := world.NewBundle[struct{ hull }](w)
	dice := rand.New(rand.NewPCG(1, 1))
	var all []handle.Handle
	h := handle.None
	for i := range 90 {
		var err error
		h, err = bundle.Create(w, struct{ hull }{hull{float32(i), float32(i) / 2}})
		require.NoError(t, err)
		all = append(all, h)
		if dice.IntN(2) == 0 {
			require.NoError(t, paint.Add(w, h, Tag{}))
		}
		if dice.IntN(2) == 0 {
			require.NoError(t, loads.Add(w, h, cargo{int16(i)}))
		}
		if dice.IntN(2) == 0 {
			require.NoError(t, flags.Add(w, h, ensign{}))
		}
		if dice.IntN(3) == 0 {
			require.NoError(t, world.AddFlags(w, h, world.Flags(1<<dice.IntN(8))))
		}
		if i == 70 {
			w.Refresh()
		}
	}
	// What a system sends is applied by the next refresh of the scheduler; a function of a hook's
	// refresh leaves its own for the next tick.
	w.Observe("left", world.OnSet, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			for _, h := range hs {
				_ = calls.Send(c, h, call{int8(-c.Shard())})
				_ = old.Send(c, h, Hit{1})
				_ = take.Call(c, h, haul{9})
				_ = lost.Call(c, h, Note{"?"})
				_ = loads.Add(c, h, cargo{77})
				_ = paint.Remove(c, h)
			}
		}
	}, loads)
	for ch := range w.Query(world.With[cargo](w)).Chunks() {
		for _, h := range ch.Handles()[:1] {
			_ = loads.Set(w, h, cargo{1})
		}
	}
	w.Refresh()
	for i, h := range all {
		if i%4 == 0 {
			w.Destroy(h) // rows that the next refresh takes away
		}
	}
	x.o.Extras = []snapshot.Extra{{Name: "moon", Append: func(dst []byte) []byte { return append(dst, 7) }, Read: func([]byte) error { return nil }}}
	return x, all
}

// changesOfHarbour are those from the old harbour to the new.
var changesOfHarbour = []snapshot.Change{
	snapshot.Renamed("hull", "body"), snapshot.Renamed("body", "keel"),
	snapshot.Dropped("paint"), snapshot.Dropped("old"), snapshot.Dropped("gone"), snapshot.Dropped("lost"), snapshot.Dropped("gone tow"),
	snapshot.Dropped("left"), snapshot.Dropped("moon"), snapshot.Renamed("take", "load"), snapshot.Renamed("tow", "ropes"), snapshot.Dropped("flag"),
}

func newHarbour(changes []snapshot.Change) *harbour {
	x := &harbour{World: world.MustNew(world.Options{Shards: 2, ChunkRowsFirst: 2, ChunkRowsMax: 8})}
	w := x.World
	hierarchy.New(w, "ropes", hierarchy.Options{})
	world.Register[cargoNow](w, "cargo")
	world.Register[hullNow](w, "keel")
	world.RegisterMessage[callNow](w, "call")
	x.season = world.RegisterResource(w, "season", seasonNow{1, "first"})
	world.RegisterFunc(w, "load", func(c *world.EntityContext, h haulNow) {
		x.heard[c.Shard()] = append(x.heard[c.Shard()], fmt.Sprint(c.Handle(), h))
	})
	x.o = snapshot.Options{Changes: changes}
	return x
}

// TestSchema loads a world into a program in which nearly all has changed.
func TestSchema(t *testing.T) {
	old, all := oldHarbour(t)
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, old.World, old.o))
	image := file.Bytes()

	plan, err := snapshot.PlanLoad(bytes.NewReader(image), newHarbour(nil).World, snapshot.Options{})
	require.NoError(t, err)
	err = snapshot.Load(bytes.NewReader(image), newHarbour(nil).World, snapshot.Options{})
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.Greater(t, len(plan.Blocking()), 10)
	for _, d := range plan.Blocking() {
		require.ErrorContains(t, err, d.String(), "Load tells all that is refused")
	}

	var after [2][]string
	var saved []byte
	for _, workers := range []int{1, 2, 5} {
		x := newHarbour(changesOfHarbour)
		x.o.Workers = workers
		plan, err := snapshot.PlanLoad(bytes.NewReader(image), x.World, x.o)
		require.NoError(t, err)
		require.Empty(t, plan.Blocking())
		require.NoError(t, snapshot.Load(bytes.NewReader(image), x.World, x.o), plan.String())

		keel, loads := world.Read[hullNow](x.World), world.Read[cargoNow](x.World)
		for _, h := range all {
			require.Equal(t, old.Alive(h), x.Alive(h))
			require.Equal(t, old.Status(h), x.Status(h))
			if !x.Alive(h) {
				continue
			}
			was := world.Read[hull](old.World).Get(h)
			require.Equal(t, hullNow{float64(was.Speed), float64(was.Length), 0}, *keel.Get(h))
			require.Equal(t, world.FlagsOf(old.World, h), world.FlagsOf(x.World, h))
			if was := world.Read[cargo](old.World).Get(h); was == nil {
				require.Nil(t, loads.Get(h))
			} else {
				require.Equal(t, cargoNow{Tons: int32(was.Tons)}, *loads.Get(h))
			}
		}
		require.Equal(t, seasonNow{7, ""}, x.season.Get())
		var file bytes.Buffer
		require.NoError(t, snapshot.Write(&file, x.World, snapshot.Options{}))
		if saved == nil {
			saved = file.Bytes()
		}
		require.Equal(t, saved, file.Bytes(), "the same world on any number of workers")

		again := newHarbour(changesOfHarbour) // which are not needed any more
		require.NoError(t, snapshot.Load(&file, again.World, again.o))
		for _, y := range []*harbour{x, again} {
			s := scheduler.New(y.World, scheduler.Options{Workers: workers})
			for range 3 {
				require.NoError(t, s.Step(t.Context()))
			}
			require.NotEmpty(t, y.heard[0])
			if after[0] == nil {
				after = y.heard
			}
			require.Equal(t, after, y.heard)
			require.Equal(t, 67, y.Count())
			_, err := world.NewBundle[struct {
				hullNow
				cargoNow
			}](y.World).AppendN(nil, y.World, 50, nil)
			require.NoError(t, err)
			y.Refresh()
		}
	}
}

// TestRenames loads what has been renamed once and again, and what has had its name.
func TestRenames(t *testing.T) {
	changes := []snapshot.Change{snapshot.Renamed("a", "b"), snapshot.Renamed("b", "c")}
	save := func(register func(w *world.World)) []byte {
		w := world.MustNew(world.Options{})
		register(w)
		var file bytes.Buffer
		require.NoError(t, snapshot.Write(&file, w, snapshot.Options{}))
		return file.Bytes()
	}
	now := func(w *world.World) { // a is another one
		world.Register[Extra](w, "c")
		world.Register[Tag](w, "a")
		world.RegisterMessage[Hit](w, "a")
	}
	for name, test := range map[string]struct {
		register func(w *world.World)
		refused  int
	}{
		"the first version":  {func(w *world.World) { world.Register[Extra](w, "a"); world.RegisterMessage[Hit](w, "a") }, 0},
		"the second version": {func(w *world.World) { world.Register[Extra](w, "b") }, 0},
		"this version":       {now, 0},
		"another":            {func(w *world.World) { world.Register[Extra](w, "d") }, 1},
	} {
		w := world.MustNew(world.Options{})
		now(w)
		image := save(test.register)
		plan, err := snapshot.PlanLoad(bytes.NewReader(image), w, snapshot.Options{Changes: changes})
		require.NoError(t, err)
		require.Len(t, plan.Blocking(), test.refused, "%s: %v", name, plan)
		err = snapshot.Load(bytes.NewReader(image), w, snapshot.Options{Changes: changes})
		require.Equal(t, test.refused == 0, err == nil, "%s: %v", name, err)
	}
}

// TestOtherNumbers loads a request under way that removes a component, which has another number in
// the new world.
func TestOtherNumbers(t *testing.T) {
	type bundle struct{ Extra }
	make := func(other bool) (*world.World, *world.Func[Tag]) {
		w := world.MustNew(world.Options{Shards: 1})
		if other {
			world.Register[Extra](w, "extra")
			world.Register[Body](w, "body")
		}
		tag := world.Register[Tag](w, "tag")
		if !other {
			world.Register[Body](w, "body")
			world.Register[Extra](w, "extra")
		}
		extras := world.NewBundle[bundle](w)
		return w, world.RegisterFunc(w, "swap", func(self *world.EntityContext, _ Tag) {
			_ = extras.Add(self, self.Handle(), bundle{Extra{5}}, tag) // by the next refresh
		})
	}
	one, swap := make(false)
	hs, err := world.NewBundle[struct {
		Tag
		Body
	}](one).AppendN(nil, one, 1, nil)
	require.NoError(t, err)
	require.NoError(t, swap.Call(one, hs[0], Tag{}))
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, one, snapshot.Options{}))
	x, _ := make(true)
	require.NoError(t, snapshot.Load(&file, x, snapshot.Options{}))
	x.Refresh()
	require.Equal(t, Extra{5}, *world.Read[Extra](x).Get(hs[0]))
	require.NotNil(t, world.Read[Body](x).Get(hs[0]))
	require.Nil(t, world.Read[Tag](x).Get(hs[0]))
}
