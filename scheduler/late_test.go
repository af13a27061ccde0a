package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	lateArmor  struct{ Points int64 }
	lateTag    struct{}
	lateHit    struct{ Points int64 }
	lateSum    struct{ Points int64 }
	lateSeason struct{ Number int64 }
	lateKnight struct {
		Value
		lateArmor
	}
)

// TestRegisterBetweenTicks registers everything that can be registered when ticks have run, and
// entities are there, and uses it: what is made late works as what was made before the first
// tick. Two worlds that do the same stay the same.
func TestRegisterBetweenTicks(t *testing.T) {
	for _, workers := range []int{1, 3} {
		var hashes [2]state.Hash
		for i := range hashes {
			hashes[i] = registerBetweenTicks(t, workers)
		}
		require.Equal(t, hashes[0], hashes[1])
	}
}

func registerBetweenTicks(t *testing.T, workers int) state.Hash {
	f := newFixtureOf(t, world.Options{Shards: 3}, scheduler.Options{Workers: workers})
	w := f.w
	f.MustAdd("count", func(b *world.Build) func(*world.Context) {
		values := world.Write[Value](b)
		all := b.Query(values)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				for i := range values.Slice(ch) {
					values.Slice(ch)[i].N++
				}
			}
		}
	})
	old := f.mark()
	port, err := w.OpenPort()
	require.NoError(t, err)
	all := w.Query(world.Read[Value](w))
	f.step(3)
	require.Equal(t, 3, all.Count())

	armor := world.Register[lateArmor](w, "armor")
	tag := world.Register[lateTag](w, "tag")
	hit := world.RegisterMessage[lateHit](w, "hit")
	season := world.RegisterResource(w, "season", lateSeason{1})
	world.RegisterAccumulator(w, "sum", func(total, part *lateSum) { total.Points += part.Points })
	repair := world.RegisterFunc(w, "repair", func(self *world.EntityContext, n int64) { armor.Write(self).Points += n })
	points := world.RegisterQuestion(w, "points", func(self *world.EntityContext, _ int) int64 { return armor.Read(self).Points })
	knights := world.NewBundle[lateKnight](w)
	kin := hierarchy.New(w, "kin", hierarchy.Options{OnParentDeath: hierarchy.Destroy})
	called := names.New[string](w, "names", names.Options{})
	told := make([]int, w.Shards())
	w.Observe("told", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, hs []handle.Handle) { told[c.Shard()] += len(hs) }
	})
	f.MustAdd("fight", func(b *world.Build) func(*world.Context) {
		hits, armors, sum := world.Receive[lateHit](b), world.Write[lateArmor](b), world.Accumulate[lateSum](b)
		now := world.ReadResource[lateSeason](b)
		return func(*world.Context) {
			for _, e := range hits.All() {
				if a := armors.Get(e.To); a != nil {
					a.Points -= e.Body.Points * now.Get().Number
					sum.Points += e.Body.Points
				}
			}
		}
	})

	require.NoError(t, armor.Add(w, old[0], lateArmor{10}))
	young, err := knights.Create(port, lateKnight{lateArmor: lateArmor{20}})
	require.NoError(t, err)
	require.NoError(t, tag.Add(port, old[0], lateTag{}))
	require.NoError(t, hit.Send(port, old[0], lateHit{3}))
	f.step(1)
	require.NoError(t, kin.AddChild(port, old[0], young))
	require.NoError(t, called.Bind(port, young, "Lancelot"))
	require.NoError(t, repair.Call(port, young, 5))
	var left world.Answer[int64]
	require.NoError(t, points.Ask(port, young, 0, &left))
	season.Set(lateSeason{2})
	f.step(1)
	require.Equal(t, int64(4), world.Read[lateArmor](w).Get(old[0]).Points)
	require.Equal(t, 4, all.Count())
	require.Equal(t, 1, told[0]+told[1]+told[2])
	require.True(t, w.Has(old[0], tag))
	v, ok := left.Value()
	require.True(t, ok)
	require.Equal(t, int64(25), v)
	h, ok := called.Lookup("Lancelot")
	require.True(t, ok && h == young)
	w.Destroy(old[0])
	hash, err := state.StateHash(w, nil)
	require.NoError(t, err)
	f.step(1)
	require.False(t, w.Alive(young), "it died with its parent")
	return hash
}
