package misuse_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// toldScene is a scene whose world is recorded by who wants to know of changes.
type toldScene struct {
	*misuseScene
	onTick  func()
	told    int  // how often the Recorder was told of a change
	before  int  // told, when the call was made
	changed bool // the call has changed the state
	failed  bool // the call has returned an error
}

// look looks for changes, as each tick, refresh and Close does first.
func (x *toldScene) look() { engine.Of(x.w).LookForChanges() }

func (x *toldScene) hash() state.Hash {
	h, err := state.StateHash(x.w, misuseCodecs())
	require.NoError(x.t, err)
	return h
}

// make makes the call that is looked at.
func (x *toldScene) make(call func() error) {
	before := x.hash()
	x.before = x.told
	a, _ := did(call)
	x.failed = a != returned && a != panicked
	x.changed = x.hash() != before
}

// toldTimes are when a call is made.
var toldTimes = []struct {
	name  string
	fresh bool // the world has not ticked yet
	first bool // it is the first such call
	run   func(x *toldScene, call func() error)
}{
	{"before the first tick", true, true, func(x *toldScene, call func() error) { x.make(call); x.look() }},
	{"in a pause", false, true, func(x *toldScene, call func() error) { x.w.Refresh(); x.make(call); x.look() }},
	{"again after a look", false, false, func(x *toldScene, call func() error) {
		did(call)
		x.look()
		x.make(call)
		x.look()
	}},
	{"again in a function of Between", false, false, func(x *toldScene, call func() error) {
		did(call)
		x.look()
		x.s.Between(func(*world.World) { x.make(call) })
		x.step()
	}},
	{"after an OnTick that does the same", false, false, func(x *toldScene, call func() error) {
		x.onTick = func() { did(call) }
		x.step()
		x.onTick = func() {}
		x.s.Between(func(*world.World) { x.make(call) })
		x.step()
	}},
}

// toldLeftOut are the calls of the table that the oracle does not make, by the reason.
var toldLeftOut = map[string]string{
	"are refreshes, which a log has, or end the world": `World.Refresh World.Clear World.Close`,
	"are ticks, or wait for some":                      `Scheduler.Step Scheduler.Run Scheduler.Trace Scheduler.StepOnce Scheduler.Pause`,
	"needs a world without a Recorder":                 `inputlog.NewRecorder`,
}

// toldInVain are the calls that are told even if they have nothing to change.
var toldInVain = `RemoveFlags Writer.Get Scheduler.LoadState Timers.Reset Relation.MoveAt Relation.RemoveHoles Relation.Sort snapshot.Insert
	RegisterFunc RegisterQuestion RegisterTransaction RegisterOutput NewBundle Message.Wakes Scheduler.Add prefab.New prefab.Load`

// toldNot are the sections of the table that have no calls by the World.
var toldNot = []string{"Ports", "Of another world", "Kept for longer than it is good", "Twice at once, or within itself"}

// handOuts write what was handed out for writing.
var handOuts = []misuseRow{
	{call: "Writer.Get, written", do: none(func(x *misuseScene) { x.write.Get(x.hs[0]).Points++ })},
	{call: "Writer.Get, written behind a pointer", do: none(func(x *misuseScene) { x.bags.Get(x.carrier).Of["gold"]++ })},
	{call: "Writer.At, written", do: none(func(x *misuseScene) { x.write.At(x.w.Locate(x.hs[0])).Points++ })},
	{call: "Writer.At, written behind a pointer", do: none(func(x *misuseScene) { x.bags.At(x.w.Locate(x.carrier)).Of["gold"]++ })},
	{call: "Writer.Slice, written", do: none(func(x *misuseScene) {
		for rows := range x.all.Chunks() {
			x.write.Slice(rows)[0].Points++
		}
	})},
	{call: "Writer.Slice, written behind a pointer", do: none(func(x *misuseScene) {
		for rows := range x.w.Query(x.bags).Chunks() {
			x.bags.Slice(rows)[0].Of["gold"]++
		}
	})},
	{call: "Component.Write, written", do: func(x *misuseScene) error {
		return x.do(x.w, func(self *world.EntityContext) { x.health.Write(self).Points++ })
	}},
	{call: "Component.Write, written behind a pointer", do: func(x *misuseScene) error {
		x.code = func(self *world.EntityContext) { x.bag.Write(self).Of["gold"]++ }
		return x.doing.Call(x.w, x.carrier, struct{}{})
	}},
	{call: "a function that destroys", do: func(x *misuseScene) error {
		return x.do(x.w, func(self *world.EntityContext) { _ = self.Destroy(self.Handle()) })
	}},
	{call: "a function that requests", do: func(x *misuseScene) error {
		return x.do(x.w, func(self *world.EntityContext) { _ = self.Destroy(x.hs[1]) })
	}},
	{call: "Component.SetN by the World", do: func(x *misuseScene) error {
		return x.health.SetN(x.w, x.hs[:2], []misuseHealth{{5}, {6}})
	}},
	{call: "Component.Set of what is there", do: func(x *misuseScene) error { // the hook is due
		return x.health.Set(x.w, x.hs[0], *x.read.Get(x.hs[0]))
	}},
	{call: "Query.Destroy of some", do: none(func(x *misuseScene) { x.all.Limit(2).Destroy() })},
	{call: "Move there and back", do: func(x *misuseScene) error { // another order of rows
		shard, _ := x.w.Owner(x.hs[0])
		if err := world.Move(x.w, x.hs[0], 1-shard); err != nil {
			return err
		}
		return world.Move(x.w, x.hs[0], shard)
	}},
	{call: "Bundle.Create, placed", do: func(x *misuseScene) error {
		_, err := x.unit.PlaceBy(func(misuseUnit) int { return 1 }).Create(x.w, misuseUnit{})
		return err
	}},
	{call: "Component.AddTo of some", do: func(x *misuseScene) error {
		return x.name.AddTo(x.w.Query(x.read, world.Without[misuseName](x.w)).Limit(3), nil)
	}},
	{call: "NewBundle of other components", do: none(func(x *misuseScene) {
		world.NewBundle[struct {
			misuseHealth
			misuseBag
		}](x.w)
	})},
	{call: "Hook.SetEnabled, off", do: none(func(x *misuseScene) { x.hook.SetEnabled(false) })},
	{call: "World.Destroy of each", do: none(func(x *misuseScene) {
		for _, h := range x.hs {
			if x.w.Destroy(h) {
				return
			}
		}
	})},
}

// TestTold holds what a Recorder is told against the hash of the state: it makes each call of the
// idle world at each of the times, and if the hash is another one behind the call, the Recorder
// must have been told of a change. The calls come from the table of misuse, which has all that the
// packages export, and writes through hand-outs are added. What only reads, and what returns an
// error, must not be told.
func TestTold(t *testing.T) {
	leftOut := map[string]bool{}
	for _, names := range toldLeftOut {
		for name := range strings.FieldsSeq(names) {
			leftOut[name] = true
		}
	}
	rows, found := handOuts, 0
	for _, s := range misuseSections {
		if slices.Contains(toldNot, s.title) {
			continue
		}
		for _, row := range s.rows {
			switch name, _, _ := strings.Cut(row.call, " "); {
			case leftOut[name]:
				found++
			case !strings.HasSuffix(row.call, " by a Port"):
				rows = append(rows, row)
			}
		}
	}
	require.Len(t, leftOut, found, "a call is left out that the table does not have")
	changed := map[string]int{}
	for i, row := range rows {
		for k, time := range toldTimes {
			if check.Enabled && i%len(toldTimes) != k { // each world takes long: at one of the times
				continue
			}
			what := row.call + " " + time.name
			t.Run(what, func(t *testing.T) {
				within(t, what, func() {
					x := newToldScene(t, time.fresh)
					time.run(x, func() error { return row.do(x.misuseScene) })
					told := x.told > x.before
					switch name, _, _ := strings.Cut(row.call, " "); {
					case x.changed:
						changed[time.name]++
						require.True(t, told, "the state has changed, and the Recorder was not told")
					case x.failed, time.first && !slices.Contains(strings.Fields(toldInVain), name):
						require.False(t, told, "the state has not changed, and the Recorder was told")
					}
				})
			})
		}
	}
	least := 25
	if check.Enabled {
		least = 2
	}
	for _, time := range toldTimes {
		require.Greater(t, changed[time.name], least, "calls that change something %s", time.name)
	}
}

func newToldScene(t *testing.T, fresh bool) *toldScene {
	x := &toldScene{onTick: func() {}}
	x.misuseScene = freshMisuseScene(t, scheduler.Options{Workers: 1, OnTick: func(scheduler.Report) { x.onTick() }})
	if !fresh {
		x.w.Refresh()
	}
	r, err := inputlog.NewRecorder(x.w, io.Discard, inputlog.Options{Codecs: misuseCodecs(), NoHash: true, OnChange: func() { x.told++ }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Err()) })
	return x
}
