package snapshot_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestSystems drops and renames systems, also those that are disabled, as a whole or by a panic on
// some shards, before a Balancer with a state. The others keep what was saved of them.
func TestSystems(t *testing.T) {
	const shards = 3
	type program struct {
		*world.World
		s *scheduler.Scheduler
	}
	made := func(names ...string) program {
		w := world.MustNew(world.Options{Shards: shards})
		s := scheduler.New(w, scheduler.Options{IfPanics: scheduler.DisableOnShard, Balancer: scheduler.Level(scheduler.LevelOptions{Least: 1 << 30})})
		for _, name := range names {
			run := func(c *world.Context) {
				if (name == "falls" || name == "fell") && c.Shard() == 1 || name == "global" {
					panic(name)
				}
			}
			var options []scheduler.Option
			if name == "global" || name == "world" {
				options = append(options, scheduler.Global())
			}
			s.MustAdd(name, func(*world.Build) func(*world.Context) { return run }, options...)
		}
		return program{w, s}
	}
	type state struct {
		on  bool
		off string
	}
	states := func(s *scheduler.Scheduler) map[string]state {
		all, src := map[string]state{}, s.AppendState(nil)
		for {
			x, rest, ok, err := extend.NextSystem(src, shards)
			require.NoError(t, err)
			if !ok {
				return all
			}
			all[x.Name], src = state{x.On, string(x.Off)}, rest
		}
	}
	saved := func(x program) []byte {
		var file bytes.Buffer
		require.NoError(t, snapshot.Write(&file, x.World, snapshot.Options{Scheduler: x.s}))
		return file.Bytes()
	}
	all := []string{"falls", "off", "on", "global"}
	x := made(all...)
	require.NoError(t, x.s.Disable("off"))
	require.Error(t, x.s.Step(t.Context()))
	require.Equal(t, map[string]state{"falls": {true, "\x00\x01\x00"}, "off": {}, "on": {on: true}, "global": {false, "\x01"}}, states(x.s))
	file := saved(x)

	y := made("on")
	plan, err := snapshot.PlanLoad(bytes.NewReader(file), y.World, snapshot.Options{Scheduler: y.s})
	require.NoError(t, err)
	require.Len(t, plan.Blocking(), 3)
	require.Equal(t, `system "falls": is not in Options.Scheduler: say Renamed("falls", …), or add it; Dropped("falls") LOSES WHETHER IT IS ON`, plan.Blocking()[0].String())
	require.ErrorIs(t, snapshot.Load(bytes.NewReader(file), y.World, snapshot.Options{Scheduler: y.s}), snapshot.ErrOtherWorld)

	now := map[string]string{"falls": "fell", "off": "idle", "on": "runs", "global": "world"}
	for drops := range 1 << len(all) {
		for _, renames := range []bool{false, true} {
			var names, want []string
			var changes []snapshot.Change
			for i, name := range all {
				switch {
				case drops>>i&1 > 0:
					changes = append(changes, snapshot.Dropped(name))
				case renames:
					changes = append(changes, snapshot.Renamed(name, now[name]))
					names, want = append(names, now[name]), append(want, name)
				default:
					names, want = append(names, name), append(want, name)
				}
			}
			o := snapshot.Options{Changes: changes}
			y := made(names...)
			o.Scheduler = y.s
			plan, err := snapshot.PlanLoad(bytes.NewReader(file), y.World, o)
			require.NoError(t, err)
			require.Empty(t, plan.Blocking())
			files, err := snapshot.PlanFiles(bytes.NewReader(file), bytes.NewReader(saved(y)), o)
			require.NoError(t, err)
			require.Equal(t, plan.Differences, files.Differences)
			require.NoError(t, snapshot.Load(bytes.NewReader(file), y.World, o))
			was, is := states(x.s), states(y.s)
			require.Len(t, is, len(want))
			for i, name := range want {
				require.Equal(t, was[name], is[names[i]], name)
			}
			again := saved(y)
			if !renames && drops == 0 {
				require.Equal(t, x.s.AppendState(nil), y.s.AppendState(nil))
			}
			z := made(names...) // what is loaded can be saved and loaded
			require.NoError(t, snapshot.Load(bytes.NewReader(again), z.World, snapshot.Options{Scheduler: z.s}))
			require.Equal(t, y.s.AppendState(nil), z.s.AppendState(nil))
			if renames && drops == 0 { // and by the old names, too
				back := made(all...)
				var o snapshot.Options
				for _, name := range all {
					o.Changes = append(o.Changes, snapshot.Renamed(now[name], name))
				}
				o.Scheduler = back.s
				require.NoError(t, snapshot.Load(bytes.NewReader(again), back.World, o))
				require.Equal(t, x.s.AppendState(nil), back.s.AppendState(nil))
			}
		}
	}
}
