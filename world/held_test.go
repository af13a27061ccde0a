package world_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

func TestComponentsOfEntity(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.creature.PlaceBy(func(c Creature) int { return int(c.Points) })
	h, err := f.creature.Create(f.World, Creature{Position{1, 2}, Health{0}, Name{"who"}})
	require.NoError(t, err)
	foreign, err := f.creature.Create(f.World, Creature{Health: Health{1}})
	require.NoError(t, err)
	require.NoError(t, f.frozen.Add(f.World, h, Frozen{}))
	var names []string
	var values []any
	for x := range f.Components(h) {
		names, values = append(names, x.Name()), append(values, x.Value())
		require.Equal(t, reflect.TypeOf(x.Value()), x.Type())
		require.True(t, x.Readable())
	}
	require.Equal(t, []string{"position", "health", "name", "frozen"}, names)
	require.Equal(t, []any{Position{1, 2}, Health{0}, Name{"who"}, Frozen{}}, values)
	for range f.Components(h) {
		break
	}
	for _, nobody := range []handle.Handle{handle.None, handle.New(1, 7, 1)} {
		for x := range f.Components(nobody) {
			t.Error(x.Name())
		}
	}
	f.tick(on(0, func(b *world.Build) func(*world.Context) {
		world.Read[Position](b)
		world.Write[Name](b)
		return func(c *world.Context) {
			var readable []string
			for x := range c.Components(h) {
				if x.Readable() {
					readable = append(readable, fmt.Sprint(x.Name(), x.Value()))
				} else {
					mustPanic(t, []string{`system "test" on shard 0 reads component "` + x.Name(), "call world.Read["}, func() { x.Value() })
				}
			}
			require.Equal(t, []string{"position{1 2}", "name{who}"}, readable)
			for x := range c.Components(foreign) {
				t.Error(x.Name(), "of another shard")
			}
		}
	}))
	var kept world.Held
	for x := range f.Components(h) {
		kept = x
	}
	f.Refresh()
	if check.Enabled {
		mustPanic(t, []string{"made in tick"}, func() { kept.Value() })
	}
	tick := f.BeginTick()
	mustPanic(t, []string{"World.Components while a tick runs"}, func() {
		for range f.Components(h) {
			t.Error("walked")
		}
	})
	tick.End(serial)
	f.Close()
	for range f.Components(h) {
		t.Error("of a closed world")
	}
}

// A tool writes whatever an entity has as JSON.
func ExampleWorld_Components() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[struct {
		Health
		Position
	}](w).Create(w, struct {
		Health
		Position
	}{Health{100}, Position{1, 2}})
	for c := range w.Components(unit) {
		text, _ := json.Marshal(c.Value())
		fmt.Println(c.Name(), string(text))
	}
	// Output:
	// position {"X":1,"Y":2}
	// health {"Points":100}
}

// Entities by position, and one by one with their locations.
func ExampleQuery_At() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	_ = units.CreateN(w, 3, func(i int, u *Unit) { u.Points = int64(10 * i) })

	health := world.Read[Health](w)
	q := w.Query(health)
	for i := range q.Count() {
		at, _ := q.At(i)
		fmt.Println(i, at.Handle(0), health.Slice(at)[0].Points)
	}
	sum := int64(0)
	for _, loc := range q.Atoms() {
		sum += health.At(loc).Points
	}
	fmt.Println("sum", sum)
	// Output:
	// 0 1:0@1 0
	// 1 2:0@1 10
	// 2 3:0@1 20
	// sum 30
}
