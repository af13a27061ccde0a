package inputlog_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/world"
)

// Rumour is encoded, because it has a map.
type Rumour struct{ Told map[string]int }

// pool is a world with something of everything that is hashed.
type pool struct {
	*world.World
	body    *world.Component[Body]
	rumour  *world.Component[Rumour]
	tag     *world.Component[Extra]
	plain   *world.Bundle[Plain]
	weather *world.Resource[int]
	gossip  *world.Resource[Rumour]
	kin     *hierarchy.Relation
	called  *names.Names[string]
	few     []handle.Handle
}

func newPool(t *testing.T, plain, talkers int) *pool {
	w := world.MustNew(world.Options{Shards: 3})
	x := &pool{World: w, body: world.Register[Body](w, "body"), rumour: world.Register[Rumour](w, "rumour"), tag: world.Register[Extra](w, "tag")}
	x.plain = world.NewBundle[Plain](w)
	x.weather = world.RegisterResource(w, "weather", 1)
	x.gossip = world.RegisterResource(w, "gossip", Rumour{})
	x.kin = hierarchy.New(w, "kin", hierarchy.Options{})
	x.called = names.New[string](w, "called", names.Options{})
	type talker struct {
		Body
		Rumour
	}
	all := world.NewBundle[talker](w)
	require.NoError(t, x.plain.CreateN(w, plain, nil))
	require.NoError(t, all.CreateN(w, talkers, nil))
	var err error
	x.few, err = all.AppendN(nil, w, 3, nil)
	require.NoError(t, err)
	w.Refresh()
	return x
}

// In so many ticks everything of a kind is hashed once.
const (
	soon  = 64 + 1
	later = 16*64 + 1
	few   = 3 // in a small world, of every kind
)

// TestTurns plays a log to worlds in which something is changed before its second tick. It shows
// within the ticks in which all of its kind is hashed once.
func TestTurns(t *testing.T) {
	if !check.Enabled { // one goroutine does it all, for a thousand ticks
		t.Run("large", func(t *testing.T) { turns(t, 10_000, 1000, later) })
	}
	t.Run("small", func(t *testing.T) { turns(t, 200, 100, few) })
}

func turns(t *testing.T, plain, talkers, most int) {
	for name, c := range map[string]struct {
		within int // ticks; 0: it does not show
		change func(t *testing.T, x *pool)
	}{
		"nothing": {0, func(*testing.T, *pool) {}},
		"a row": {soon, func(_ *testing.T, x *pool) {
			var last handle.Handle
			for h := range x.Query(world.Without[Rumour](x.World)).Entities() {
				last = h
			}
			world.Write[Body](x.World).Get(last).Sum++
		}},
		"a row that is encoded": {later, func(_ *testing.T, x *pool) {
			world.Write[Rumour](x.World).Get(x.few[0]).Told = map[string]int{"war": 1}
		}},
		"an entity":           {soon, func(t *testing.T, x *pool) { _, err := x.plain.Create(x.World, Plain{}); require.NoError(t, err) }},
		"a death":             {soon, func(_ *testing.T, x *pool) { x.Destroy(x.few[1]) }},
		"a component":         {soon, func(t *testing.T, x *pool) { require.NoError(t, x.tag.Add(x.World, x.few[2], Extra{})) }},
		"a flag":              {soon, func(t *testing.T, x *pool) { require.NoError(t, world.AddFlags(x.World, x.few[2], 1)) }},
		"a resource":          {soon, func(_ *testing.T, x *pool) { x.weather.Set(2) }},
		"an encoded resource": {later, func(_ *testing.T, x *pool) { x.gossip.Set(Rumour{map[string]int{"war": 1}}) }},
		"a relation":          {later, func(t *testing.T, x *pool) { require.NoError(t, x.kin.AddChild(x.World, x.few[0], x.few[1])) }},
		"a name":              {later, func(t *testing.T, x *pool) { require.NoError(t, x.called.Bind(x.World, x.few[0], "Bo")) }},
	} {
		t.Run(name, func(t *testing.T) {
			within := min(c.within, most)
			ticks := max(within, soon) + 2
			var file bytes.Buffer
			x := newPool(t, plain, talkers)
			r, err := inputlog.NewRecorder(x.World, &file, inputlog.Options{})
			require.NoError(t, err)
			for range ticks {
				x.Refresh()
			}
			require.NoError(t, r.Close())

			x = newPool(t, plain, talkers)
			engine.Of(x.World).Lenient()
			log, err := inputlog.Open(&file)
			require.NoError(t, err)
			p, err := log.Play(x.World, nil)
			require.NoError(t, err)
			for p.Next() {
				if p.Ticks() == 2 {
					c.change(t, x)
				}
				x.Refresh()
			}
			if c.within == 0 {
				require.NoError(t, p.Err())
				require.Equal(t, uint64(ticks), p.Ticks())
				return
			}
			require.ErrorIs(t, p.Err(), inputlog.ErrDiffers)
			require.ErrorContains(t, p.Err(), "does not differ from this one, so a system, function or hook is not deterministic, the world was changed between ticks, what a request points to")
			require.LessOrEqual(t, p.Ticks(), uint64(2+within))
			_, err = x.OpenPort()
			require.NoError(t, err, "the Player is closed")
		})
	}
}
