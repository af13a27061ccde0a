package inputlog_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// idle is a world of two shards with something of each kind that an idle world may change.
type idle struct {
	*world.World
	bodies *world.Component[Body]
	plain  *world.Bundle[Plain]
	kill   *world.Func[handle.Handle]
	tree   *hierarchy.Relation // its children leave by swapping
	called *names.Names[string]
	pings  *world.Message[Body]
	timers *timer.Timers[Body]
	weight *world.Resource[int]
	all    []handle.Handle
}

func newIdle(t *testing.T) *idle {
	w := world.MustNew(world.Options{Shards: 2, VersionsEach: 1000})
	x := &idle{
		World: w, bodies: world.Register[Body](w, "body"), plain: world.NewBundle[Plain](w),
		kill:   world.RegisterFunc(w, "kill", func(self *world.EntityContext, h handle.Handle) { _ = self.Destroy(h) }),
		tree:   hierarchy.New(w, "tree", hierarchy.Options{OnChildDeath: hierarchy.Swap}),
		called: names.New[string](w, "called", names.Options{}),
		pings:  world.RegisterMessage[Body](w, "ping"),
		weight: world.RegisterResource(w, "weight", 1),
	}
	x.timers = timer.New(w, "pings", x.pings, timer.Options{})
	var err error
	x.all, err = x.plain.AppendN(nil, w, 3000, nil)
	require.NoError(t, err)
	require.NoError(t, x.tree.AddChild(w, x.all[0], x.all[1]))
	require.NoError(t, x.tree.AddChild(w, x.all[0], x.all[2]))
	w.Refresh()
	return x
}

// TestEachChange makes one change of an idle world at a time: a Recorder is told of each.
func TestEachChange(t *testing.T) {
	for name, change := range map[string]func(x *idle) error{
		"a function that requests": func(x *idle) error { return x.kill.Call(x.World, x.all[0], x.all[9]) },
		"AddChild":                 func(x *idle) error { return x.tree.AddChild(x.World, x.all[0], x.all[3]) },
		"AddChildren":              func(x *idle) error { return x.tree.AddChildren(x.World, x.all[4], x.all[5], x.all[6]) },
		"RemoveChild":              func(x *idle) error { return x.tree.RemoveChild(x.World, x.all[1], hierarchy.Swap) },
		"Move to a parent":         func(x *idle) error { return x.tree.Move(x.World, x.all[1], x.all[7]) },
		"Move to a place":          func(x *idle) error { return x.tree.MoveAt(x.World, x.all[1], x.all[0], 1) },
		"Bind":                     func(x *idle) error { return x.called.Bind(x.World, x.all[0], "ann") },
		"Send":                     func(x *idle) error { return x.pings.Send(x.World, x.all[0], Body{}) },
		"a timer": func(x *idle) error {
			_, err := x.timers.After(x.World, x.all[0], 3, Body{})
			return err
		},
		"Reserve what is there": func(x *idle) error { return x.plain.Reserve(x.World, 1) },
		"Reincarnate":           func(x *idle) error { return x.Reincarnate(2) },
		"Pin": func(x *idle) error {
			x.Pin(x.bodies)
			return nil
		},
		"a resource": func(x *idle) error {
			x.weight.Set(2)
			return nil
		},
		"AddFlags": func(x *idle) error { return world.AddFlags(x.World, x.all[0], 1) },
		"Set":      func(x *idle) error { return x.bodies.Set(x.World, x.all[0], Body{}) },
		"Remove":   func(x *idle) error { return x.bodies.Remove(x.World, x.all[0]) },
		"Destroy":  func(x *idle) error { x.Destroy(x.all[0]); return nil },
		"Create": func(x *idle) error {
			_, err := x.plain.Create(x.World, Plain{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, told := newIdle(t), 0
			r, err := inputlog.NewRecorder(x.World, new(bytes.Buffer), inputlog.Options{OnChange: func() { told++ }})
			require.NoError(t, err)
			x.Refresh()
			require.Zero(t, told)
			before, err := state.StateHash(x.World, nil)
			require.NoError(t, err)
			if refuses(t, func() { _ = change(x) }) {
				after, err := state.StateHash(x.World, nil)
				require.NoError(t, err)
				require.Equal(t, before, after)
				x.Refresh()
				require.NoError(t, x.Err())
				require.NoError(t, r.Close())
				return
			}
			require.NoError(t, change(x))
			x.Refresh()
			require.Equal(t, 1, told)
			x.Refresh()
			require.Equal(t, 1, told)
			require.NoError(t, r.Close())
		})
	}
}

// TestExchangedShards moves two entities into each other's shards, after both shards have changed:
// then they look as before.
func TestExchangedShards(t *testing.T) {
	x, told := newIdle(t), 0
	var of [2]handle.Handle
	for _, h := range x.all {
		shard, _ := x.Owner(h)
		of[shard] = h
	}
	for i, h := range of { // the chunks have changed
		require.NoError(t, world.Move(x.World, h, 1-i))
		require.NoError(t, world.Move(x.World, h, i))
	}
	r, err := inputlog.NewRecorder(x.World, new(bytes.Buffer), inputlog.Options{OnChange: func() { told++ }})
	require.NoError(t, err)
	if refuses(t, func() { _ = world.Move(x.World, of[0], 1) }) {
		return
	}
	for i, h := range of {
		require.NoError(t, world.Move(x.World, h, 1-i))
	}
	x.Refresh()
	require.Equal(t, 1, told)
	require.NoError(t, r.Close())
}
