package misuse_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// A call that returns an error has changed nothing. Each call is made by each actor on all kinds of
// handles, with room in the queues and without, in a world of its own. If it returns an error, that
// world is the same as one in which it was not made: at once where the world is idle, and after
// each of the next two ticks.

// stillQueue is how many requests a queue or outbox takes.
const stillQueue = 8

// still is a world with narrow limits and something of everything.
type still struct {
	w       *world.World
	s       *scheduler.Scheduler
	health  *world.Component[misuseHealth]
	name    *world.Component[misuseName]
	unit    *world.Bundle[misuseUnit]
	named   *world.Bundle[misuseNamed]
	hit     *world.Message[misuseHit]
	heal    *world.Func[int64]
	fails   *world.Func[int64]
	names   *names.Names[string]
	timers  *timer.Timers[misuseHit]
	calls   *async.Call[int, int]
	kin     map[string]*hierarchy.Relation
	pair    *prefab.Prefab
	wide    *prefab.Prefab
	port    *world.Port
	hs      map[string]handle.Handle
	hasher  *state.Hasher
	system  func(c *world.Context)
	code    func(self *world.EntityContext)
	doing   *world.Func[int64]
	expired timer.ID
}

func newStill(t testing.TB) *still {
	w := world.MustNew(world.Options{
		Shards: 2, IndexMax: 8, QueueRequests: stillQueue, OutboxRequests: stillQueue, PortsMax: 2,
	})
	x := &still{w: w, kin: map[string]*hierarchy.Relation{}, hs: map[string]handle.Handle{}}
	x.health = world.Register[misuseHealth](w, "health")
	x.name = world.Register[misuseName](w, "name")
	x.unit = world.NewBundle[misuseUnit](w).PlaceBy(func(u misuseUnit) int { return int(u.Points) % 2 })
	x.named = world.NewBundle[misuseNamed](w)
	x.hit = world.RegisterMessage[misuseHit](w, "hit")
	x.heal = world.RegisterFunc(w, "heal", func(self *world.EntityContext, n int64) { x.health.Write(self).Points += n })
	x.fails = world.RegisterFunc(w, "fails", func(*world.EntityContext, int64) { panic("before it did anything") })
	x.doing = world.RegisterFunc(w, "doing", func(self *world.EntityContext, _ int64) { x.code(self) })
	x.names = names.New[string](w, "names", names.Options{LengthMax: 10})
	x.timers = timer.New(w, "timers", x.hit, timer.Options{Max: 2})
	x.calls = async.New(w, "calls", world.RegisterMessage[async.Result[int]](w, "done"), misuseRun, async.Options{Pending: 1})
	for _, k := range []struct {
		name string
		o    hierarchy.Options
	}{
		{"destroy", hierarchy.Options{}}, {"orphan", hierarchy.Options{OnParentDeath: hierarchy.Orphan}},
		{"grandparent", hierarchy.Options{OnParentDeath: hierarchy.Grandparent, OnChildDeath: hierarchy.Hole}},
		{"spare", hierarchy.Options{OnParentDeath: hierarchy.SpareParent, OnChildDeath: hierarchy.Swap}},
		{"fixed", hierarchy.Options{Places: 2, PlacesMax: 3, OnParentDeath: hierarchy.Orphan}},
	} {
		x.kin[k.name] = hierarchy.New(w, k.name, k.o)
	}
	x.pair = prefab.New(w, "pair", prefab.With(x.health, misuseHealth{}), prefab.Child(x.kin["destroy"], -1, prefab.With(x.health, misuseHealth{})))
	var parts []prefab.Part
	for range 3 { // more than there are handles in shard 0
		parts = append(parts, prefab.Child(x.kin["destroy"], -1, prefab.With(x.health, misuseHealth{})))
	}
	x.wide = prefab.New(w, "wide", append(parts, prefab.With(x.health, misuseHealth{}))...)
	x.s = scheduler.New(w, scheduler.Options{Workers: 1})
	x.s.MustAdd("system", func(b *world.Build) func(*world.Context) {
		world.Write[misuseHealth](b)
		b.Creates(x.unit)
		return func(c *world.Context) {
			if c.Shard() == 0 && x.system != nil {
				x.system(c)
			}
		}
	})
	create := func(by world.Actor, what string, shard int64) {
		h, err := x.unit.Create(by, misuseUnit{misuseHealth{shard}})
		require.NoError(t, err)
		x.hs[what] = h
	}
	for _, what := range []string{"alone", "root", "child", "leaf", "other", "stale", "dying"} {
		create(w, what, 0)
	}
	create(w, "far", 1)
	w.Destroy(x.hs["stale"])
	for _, k := range x.kin {
		require.NoError(t, k.AddChild(w, x.hs["root"], x.hs["child"])) // a root that was never added
		require.NoError(t, k.AddChild(w, x.hs["child"], x.hs["leaf"]))
		require.NoError(t, k.AddChild(w, x.hs["child"], x.hs["other"]))
	}
	require.NoError(t, x.names.Bind(w, x.hs["root"], "root"))
	for range 2 { // as many as there may be
		_, err := x.timers.After(w, x.hs["far"], 50, misuseHit{})
		require.NoError(t, err)
	}
	var err error
	x.expired, err = x.timers.After(w, x.hs["root"], 1, misuseHit{})
	require.NoError(t, err)
	x.port, err = w.OpenPort()
	require.NoError(t, err)
	require.NoError(t, x.s.Step(t.Context()))
	require.NoError(t, x.s.Step(t.Context()))
	x.hs["pending"], err = x.unit.Create(x.port, misuseUnit{})
	require.NoError(t, err)
	w.Destroy(x.hs["dying"])
	x.hs["none"], x.hs["forged"], x.hs["unused"] = handle.None, handle.New(1, 30, 9), handle.New(2, 8, 1)
	x.hasher = state.NewHasher(w, nil)
	return x
}

// stillCall is a call on two entities.
type stillCall struct {
	name string
	do   func(x *still, by world.Actor, a, b handle.Handle) error
}

// stillCalls returns the calls. Prefab.CreateN is not here: it says how many it made before an
// error.
func stillCalls() []stillCall {
	type H = handle.Handle
	calls := []stillCall{
		{"Create", func(x *still, by world.Actor, _, _ H) error { _, err := x.unit.Create(by, misuseUnit{}); return err }},
		{"Bundle.Set", func(x *still, by world.Actor, a, _ H) error { return x.unit.Set(by, a, misuseUnit{misuseHealth{5}}) }},
		{"Bundle.Set of what it lacks", func(x *still, by world.Actor, a, _ H) error { return x.named.Set(by, a, misuseNamed{}) }},
		{"Component.Set", func(x *still, by world.Actor, a, _ H) error { return x.health.Set(by, a, misuseHealth{5}) }},
		{"Component.Set of what it lacks", func(x *still, by world.Actor, a, _ H) error { return x.name.Set(by, a, misuseName{}) }},
		{"Component.Add", func(x *still, by world.Actor, a, _ H) error { return x.name.Add(by, a, misuseName{}) }},
		{"Component.Remove", func(x *still, by world.Actor, a, _ H) error { return x.health.Remove(by, a) }},
		{"Component.Remove of what it lacks", func(x *still, by world.Actor, a, _ H) error { return x.name.Remove(by, a) }},
		{"Bundle.Add and remove", func(x *still, by world.Actor, a, _ H) error { return x.named.Add(by, a, misuseNamed{}, x.unit) }},
		{"AddFlags", func(x *still, by world.Actor, a, _ H) error { return world.AddFlags(by, a, 1) }},
		{"RemoveFlags", func(x *still, by world.Actor, a, _ H) error { return world.RemoveFlags(by, a, 1) }},
		{"Move", func(x *still, by world.Actor, a, _ H) error { return world.Move(by, a, 1) }},
		{"Copy", func(x *still, by world.Actor, a, _ H) error { _, err := world.Copy(by, a); return err }},
		{"Func.Call", func(x *still, by world.Actor, a, _ H) error { return x.heal.Call(by, a, 1) }},
		{"Message.Send", func(x *still, by world.Actor, a, _ H) error { return x.hit.Send(by, a, misuseHit{}) }},
		{"Message.SendShard", func(x *still, by world.Actor, _, _ H) error { return x.hit.SendShard(by, 1, misuseHit{}) }},
		{"Message.Broadcast", func(x *still, by world.Actor, _, _ H) error { return x.hit.Broadcast(by, misuseHit{}) }},
		{"Names.Bind", func(x *still, by world.Actor, a, _ H) error { return x.names.Bind(by, a, "new") }},
		{"Names.Bind, taken", func(x *still, by world.Actor, a, _ H) error { return x.names.Bind(by, a, "root") }},
		{"Names.Bind, long", func(x *still, by world.Actor, a, _ H) error { return x.names.Bind(by, a, strings.Repeat("x", 11)) }},
		{"Names.Unbind", func(x *still, by world.Actor, a, _ H) error { return x.names.Unbind(by, a) }},
		{"Timers.After", func(x *still, by world.Actor, a, _ H) error {
			_, err := x.timers.After(by, a, 3, misuseHit{})
			return err
		}},
		{"Timers.Cancel", func(x *still, by world.Actor, _, _ H) error { return x.timers.Cancel(by, x.expired) }},
		{"Call.Go", func(x *still, by world.Actor, a, _ H) error { _, err := x.calls.Go(by, a, 1); return err }},
		{"Prefab.Create", func(x *still, by world.Actor, _, _ H) error { _, err := x.pair.Create(by); return err }},
		{"Prefab.Create, wide", func(x *still, by world.Actor, _, _ H) error { _, err := x.wide.Create(by); return err }},
		{"prefab.Copy", func(x *still, by world.Actor, a, _ H) error { _, err := prefab.Copy(by, a); return err }},
	}
	for _, name := range []string{"destroy", "orphan", "grandparent", "spare", "fixed"} {
		for _, c := range []struct {
			name string
			do   func(r *hierarchy.Relation, by world.Actor, a, b H) error
		}{
			{"Add", func(r *hierarchy.Relation, by world.Actor, a, _ H) error { return r.Add(by, a) }},
			{"Remove", func(r *hierarchy.Relation, by world.Actor, a, _ H) error { return r.Remove(by, a) }},
			{"AddChild", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.AddChild(by, a, b) }},
			{"AddChildren", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.AddChildren(by, b, a, a) }},
			{"AddChildAt", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.AddChildAt(by, a, b, 1) }},
			{"RemoveChild", func(r *hierarchy.Relation, by world.Actor, a, _ H) error { return r.RemoveChild(by, a, hierarchy.Swap) }},
			{"RemoveHoles", func(r *hierarchy.Relation, by world.Actor, a, _ H) error { return r.RemoveHoles(by, a) }},
			{"Move", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.Move(by, a, b) }},
			{"MoveAt", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.MoveAt(by, a, b, 9) }},
			{"MoveBefore", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.MoveBefore(by, a, b) }},
			{"Swap", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.Swap(by, a, b) }},
			{"SetPlaces", func(r *hierarchy.Relation, by world.Actor, a, _ H) error { return r.SetPlaces(by, a, 1) }},
			{"SetPlaces beyond the limit", func(r *hierarchy.Relation, by world.Actor, a, _ H) error { return r.SetPlaces(by, a, 1<<20) }},
			{"Put", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.Put(by, a, b, 0) }},
			{"Put free", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.Put(by, a, b, hierarchy.Free) }},
			{"PutFrom", func(r *hierarchy.Relation, by world.Actor, a, b H) error { return r.PutFrom(by, a, b, a, 1) }},
			{"Sort", func(r *hierarchy.Relation, by world.Actor, a, _ H) error {
				return r.Sort(by, a, func(a, b H) int { return int(a) - int(b) })
			}},
		} {
			calls = append(calls, stillCall{"Relation." + c.name + " of " + name, func(x *still, by world.Actor, a, b H) error { return c.do(x.kin[name], by, a, b) }})
		}
	}
	return calls
}

// onlyPort are calls that are done whole or not at all by a port alone, or that only it has.
func onlyPort() []stillCall {
	type H = handle.Handle
	return []stillCall{
		{"CreateN", func(x *still, by world.Actor, _, _ H) error { return x.unit.CreateN(by, stillQueue-1, nil) }},
		{"AppendN", func(x *still, by world.Actor, _, _ H) error { _, err := x.unit.AppendN(nil, by, 20, nil); return err }},
		{"DestroyN", func(x *still, by world.Actor, a, b H) error {
			return by.(*world.Port).DestroyN([]H{a, b, a, b, a, b, a, b})
		}},
		{"SetN", func(x *still, by world.Actor, a, b H) error {
			return x.health.SetN(by.(*world.Port), []H{a, b, a, b, a, b, a, b}, make([]misuseHealth, 8))
		}},
		{"Batch", func(x *still, by world.Actor, a, b H) error {
			return by.(*world.Port).Batch(func() error {
				for range stillQueue {
					_ = x.health.Set(by, a, misuseHealth{7})
					_ = x.kin["orphan"].Remove(by, b)
				}
				return nil
			})
		}},
	}
}

// stillWay is who makes a call, and whether its queue is full.
type stillWay struct {
	actor string
	full  bool
}

// run makes a world, has the actor make a call, if there is one, and returns the state of the world
// afterwards, and after each of the next two ticks. If the actor is a port it also returns the
// outcome.
func (way stillWay) run(t testing.TB, call func(x *still, by world.Actor) error) (trail [3][]state.Section, outcome world.Outcome, err error) {
	x := newStill(t)
	done := new(world.Completion)
	did := func(by world.Actor) {
		if way.full {
			for world.AddFlags(by, x.hs["far"], 2) == nil {
			}
		}
		if call != nil {
			defer func() {
				if recover() != nil { // the tables of misuse have the calls that panic
					err = nil
				}
			}()
			err = call(x, by)
		}
	}
	switch way.actor {
	case "World":
		did(x.w)
	case "Port":
		did(x.port.Notify(done))
	case "Context":
		x.system = func(by *world.Context) { x.system = nil; did(by) }
	case "EntityContext":
		x.code = func(self *world.EntityContext) { did(self) }
		require.NoError(t, x.doing.Call(x.port, x.hs["alone"], 0))
	}
	for i := range trail {
		sections, hashed := x.hasher.Sections()
		require.NoError(t, hashed)
		trail[i] = append(sections, state.Section{Name: "waiting", Hash: state.Hash(x.port.Waiting())})
		_ = x.s.Step(t.Context()) // a function may fail
	}
	if err == nil && call != nil && way.actor == "Port" {
		outcome = done.Outcome()
	}
	return trail, outcome, err
}

// TestErrorChangesNothing makes every call by every actor, in all the ways that fail.
func TestErrorChangesNothing(t *testing.T) {
	handles := []string{"alone", "root", "child", "leaf", "stale", "dying", "far", "pending", "none", "forged", "unused"}
	others := []string{"root", "leaf", "stale", "alone"}
	part, apart, first := 2, 1, 0 // at least so many fail, for each of the calls: one half
	switch {
	case check.Enabled: // each world takes long: every third call, or sixth, others with another seed
		if part, apart = 20, 3; testing.Short() {
			apart = 6
		}
		first = int(seed.Of(t) % uint64(apart))
		handles, others = []string{"child", "stale", "forged"}, []string{"stale"}
	case testing.Short():
		part = 3
		handles, others = []string{"alone", "child", "stale", "forged"}, []string{"root", "stale"}
	}
	for _, way := range []stillWay{
		{"World", false}, {"Port", false}, {"Port", true}, {"Context", false}, {"Context", true}, {"EntityContext", false}, {"EntityContext", true},
	} {
		t.Run(fmt.Sprintf("%s, full: %v", way.actor, way.full), func(t *testing.T) {
			t.Parallel()
			calls, tried, failed := stillCalls(), 0, 0
			if way.actor == "Port" {
				calls = append(calls, onlyPort()...)
			}
			want, _, _ := way.run(t, nil)
			for i, c := range calls {
				if (i+first)%apart != 0 {
					continue
				}
				tried++
				many := i >= len(stillCalls()) // of these some may be done
				for _, a := range handles {
					for _, b := range others {
						got, outcome, err := way.run(t, func(x *still, by world.Actor) error { return c.do(x, by, x.hs[a], x.hs[b]) })
						if err != nil {
							require.Equal(t, want, got, "%s of %s and %s returned %v", c.name, a, b, err)
							failed++
						}
						switch {
						case many:
						case outcome == world.Gone, outcome == world.Missing:
							require.Equal(t, want[1], got[1], "%s of %s and %s: %v", c.name, a, b, outcome)
						case outcome == world.Refused: // the list of the refused is there until the next refresh
							require.Equal(t, want[2], got[2], "%s of %s and %s: %v", c.name, a, b, outcome)
						}
						if !strings.HasPrefix(c.name, "Relation.") {
							break // it has one entity
						}
					}
				}
			}
			require.Greater(t, failed, tried/part)
		})
	}
}

// TestErrorOfAnImageChangesNothing loads what is no image of a relation, or is cut off, loads into
// a world that is not new, and inserts until there is no room.
func TestErrorOfAnImageChangesNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("each world takes long, and one goroutine does it all")
	}
	same := func(y *still, what string, do func() error) (err error) {
		t.Helper()
		before, hashed := y.hasher.Sections()
		require.NoError(t, hashed)
		err = do()
		after, hashed := y.hasher.Sections()
		require.NoError(t, hashed)
		if err != nil {
			require.Equal(t, before, after, "%s: %v", what, err)
		}
		return err
	}
	x, y := newStill(t), newStill(t)
	var whole bytes.Buffer
	require.NoError(t, snapshot.Write(&whole, x.w, snapshot.Options{}))
	require.Error(t, same(y, "Load", func() error { return snapshot.Load(&whole, y.w, snapshot.Options{}) }))
	kin := x.kin["orphan"].Save(nil)
	for n := range kin {
		require.Error(t, same(y, "Relation.Load", func() error { return y.kin["orphan"].Load(kin[:n]) }))
	}
	from := newStill(t)
	from.w.Refresh()
	still, err := snapshot.ExtractAll(from.w, snapshot.ExtractOptions{})
	require.NoError(t, err)
	for n := 0; ; n++ {
		require.Less(t, n, 20, "there is no end of room")
		if same(y, "Insert", func() error { _, err := snapshot.Insert(y.w, still, snapshot.InsertOptions{}); return err }) != nil {
			break
		}
	}
}
