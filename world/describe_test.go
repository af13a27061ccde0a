package world_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// Odd is a component that JSON cannot write.
type Odd struct{ Tell chan int }

// logged returns what a log of attributes says about a value.
func logged(v any) string {
	var b bytes.Buffer
	drop := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key != "it" {
			return slog.Attr{}
		}
		return a
	}
	slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: drop})).Info("", "it", v)
	return strings.TrimSpace(b.String())
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	require.True(t, json.Valid(b))
	return string(b)
}

func TestDescribeEntity(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	odd := world.Register[Odd](f.World, `an "odd" one`)
	f.creature.PlaceBy(func(Creature) int { return 1 })
	h, err := f.creature.Create(f.World, Creature{Position{1, 2}, Health{100}, Name{"who"}})
	require.NoError(t, err)
	x := f.DescribeEntity(h)
	require.Equal(t, []world.ComponentInfo{{"position", Position{1, 2}}, {"health", Health{100}}, {"name", Name{"who"}}}, x.Components)
	require.Equal(t, fmt.Sprintf("%v alive on shard 1: position {X:1 Y:2}, health {Points:100}, name {Text:who}", h), x.String())
	require.JSONEq(t, fmt.Sprintf(`{"handle":%q,"status":"alive","shard":1,"components":{"position":{"X":1,"Y":2},"health":{"Points":100},"name":{"Text":"who"}}}`, h), jsonText(t, x))
	require.Equal(t, fmt.Sprintf(`it.handle=%v it.status=alive it.shard=1 it.components.position="{X:1 Y:2}" it.components.health={Points:100} it.components.name={Text:who}`, h), logged(x))
	require.Less(t, strings.Index(jsonText(t, x), "position"), strings.Index(jsonText(t, x), "health"), "as they were registered")

	require.NoError(t, world.AddFlags(f.World, h, 5))
	require.NoError(t, f.name.Remove(f.World, h))
	require.NoError(t, odd.Add(f.World, h, Odd{}))
	f.Destroy(h)
	x = f.DescribeEntity(h)
	require.Equal(t, fmt.Sprintf(`%v dying on shard 1, flags 0b101: position {X:1 Y:2}, health {Points:100}, an "odd" one {Tell:<nil>}`, h), x.String())
	require.JSONEq(t, fmt.Sprintf(`{"handle":%q,"status":"dying","shard":1,"flags":[0,2],`+
		`"components":{"position":{"X":1,"Y":2},"health":{"Points":100},"an \"odd\" one":"{Tell:\u003cnil\u003e}"}}`, h), jsonText(t, x))
	require.Contains(t, logged(x), "it.flags=0b101 ")
	f.Refresh()

	for _, test := range []struct {
		h    handle.Handle
		want string
	}{{h, "stale"}, {handle.None, "forged"}, {handle.New(1, 77, 9), "forged"}} {
		x := f.DescribeEntity(test.h)
		require.Equal(t, fmt.Sprintf("%v %s", test.h, test.want), x.String())
		require.JSONEq(t, fmt.Sprintf(`{"handle":%q,"status":%q,"components":{}}`, test.h, test.want), jsonText(t, x))
		require.Equal(t, fmt.Sprintf("it.handle=%v it.status=%s", test.h, test.want), logged(x))
	}
	tick := engine.Of(f.World).BeginTick()
	mustPanic(t, []string{"while a tick runs"}, func() { f.DescribeEntity(h) })
	tick.End(serial)
	f.Close()
	require.Equal(t, fmt.Sprintf("%v stale", h), f.DescribeEntity(h).String())
}

func TestDescribeWorld(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	world.RegisterResource(f.World, "weather", 1)
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points % 2) })
	all := f.newUnits(40)
	f.mover.PlaceBy(func(Mover) int { return 1 })
	require.NoError(t, f.mover.CreateN(f.World, 3, nil))
	f.Refresh()
	f.Destroy(all[1])
	x := f.Describe()
	require.Equal(t, `world at tick 1: 43 entities, 2 shards, 5 components, 2 messages, 1 resources
shard 0: 20 entities, 20 created, 0 destroyed
  20 of (health), 1 chunks for 64
shard 1: 23 entities, 1 dying, 23 created, 0 destroyed
  20 of (health), 1 dying, 1 chunks for 64
  3 of (position, velocity), 1 chunks for 16`, x.String())
	require.Equal(t, "it.tick=1 it.entities=43 it.shards=2", logged(x))
	require.Equal(t, "it.shard=1 it.entities=23 it.dying=1 it.created=23 it.destroyed=0 it.tables=2", logged(x.Shards[1]))
	require.Equal(t, "it.components=[health] it.entities=20 it.dying=1 it.capacity=64", logged(x.Shards[1].Tables[0]))
	var read world.WorldInfo
	require.NoError(t, json.Unmarshal([]byte(jsonText(t, x)), &read))
	require.Equal(t, x, read, "JSON tells all of it")
	require.Equal(t, []int{64}, x.Shards[0].Tables[0].Chunks)
	tick := engine.Of(f.World).BeginTick()
	mustPanic(t, []string{"while a tick runs"}, func() { f.Describe() })
	tick.End(serial)
	f.Close()
	mustPanic(t, []string{"of a closed world"}, func() { f.Describe() })
}

// A log tells of an entity, and a tool of all there is.
func ExampleWorld_Describe() {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Position](w, "position")
	world.Register[Health](w, "health")
	type Hero struct {
		Position
		Health
	}
	h, _ := world.NewBundle[Hero](w).Create(w, Hero{Position{1, 2}, Health{100}})
	fmt.Println(w.DescribeEntity(h))
	text, _ := json.Marshal(w.DescribeEntity(h))
	fmt.Println(string(text))
	fmt.Println(w.Describe())
	// Output:
	// 0:0@1 alive on shard 0: position {X:1 Y:2}, health {Points:100}
	// {"handle":"0:0@1","status":"alive","shard":0,"components":{"position":{"X":1,"Y":2},"health":{"Points":100}}}
	// world at tick 0: 1 entities, 1 shards, 2 components, 0 messages, 0 resources
	// shard 0: 1 entities, 1 created, 0 destroyed
	//   1 of (position, health), 1 chunks for 16
}
