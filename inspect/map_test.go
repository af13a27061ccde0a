package inspect_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
)

const mapPath = "/api/map?x=Position.X&y=Position.Y"

// TestMap draws few points.
func TestMap(t *testing.T) {
	f := newFixture(t)
	got := f.get(200, mapPath)
	require.EqualValues(t, 110, got["all"], "with those that are nowhere")
	require.EqualValues(t, 100, got["shown"])
	require.Equal(t, false, got["binned"])
	require.Equal(t, []any{0.0, -99.0, 99.0, 0.0}, got["box"])
	require.Len(t, got["points"], 100)
	n := 0.0
	for _, line := range got["legend"].([]any) {
		require.Contains(t, line.(map[string]any)["label"], "shard ")
		n += line.(map[string]any)["n"].(float64)
	}
	require.EqualValues(t, 100, n)
	seen := map[float64]bool{}
	for _, p := range got["points"].([]any) {
		p := p.([]any)
		seen[p[0].(float64)] = true
		require.Equal(t, p[0], -p[1].(float64))
		e := f.get(200, "/api/entity?handle="+p[3].(string))
		legend := got["legend"].([]any)[int(p[2].(float64))].(map[string]any)
		require.Equal(t, fmt.Sprintf("shard %v", e["shard"]), legend["label"])
	}
	require.Len(t, seen, 100)

	got = f.get(200, mapPath+"&color=set&box=9.5,-20,20,0&where=Health.HP+%3C+15")
	require.EqualValues(t, 15, got["all"])
	require.EqualValues(t, 5, got["shown"])
	require.Equal(t, []any{map[string]any{"label": "Position, Velocity, Health, Label", "n": 5.0}}, got["legend"])
	require.Equal(t, []any{9.5, -20.0, 20.0, 0.0}, got["box"])
	got = f.get(200, mapPath+"&where=Dead")
	require.EqualValues(t, 0, got["all"])
	require.Equal(t, []any{}, got["points"])
	got = f.get(200, "/api/map?x=%60odd/Score%60&y=%60odd/Score%60")
	require.EqualValues(t, 5, got["shown"])
	got = f.get(200, "/api/map?x=Velocity.X&y=Health.Most")
	require.EqualValues(t, 100, got["shown"])
}

// TestMapCells draws many points, and compares the cells with a loop.
func TestMapCells(t *testing.T) {
	f := newWorld(t, 20, 2)
	const n = 5000
	var at [n]Position
	r := rand.New(rand.NewPCG(1, 1))
	f.units.PlaceBy(func(u Unit) int { return u.HP % 20 })
	_, err := f.units.AppendN(nil, f.w, n, func(i int, u *Unit) {
		at[i] = Position{r.Float64() * 100, math.Floor(r.Float64() * 10)}
		u.Position, u.HP = at[i], min(i%20, r.IntN(20))
	})
	require.NoError(t, err)
	f.inspect(inspect.Options{}).run()
	got := f.get(200, mapPath+"&cells=10&box=0,0,100,10")
	require.Equal(t, true, got["binned"])
	require.EqualValues(t, n, got["shown"])
	require.Len(t, got["legend"], 16)
	last := got["legend"].([]any)[15].(map[string]any)
	require.Equal(t, "others", last["label"])
	legend := 0.0
	for _, line := range got["legend"].([]any) {
		legend += line.(map[string]any)["n"].(float64)
	}
	require.EqualValues(t, n, legend)
	want := map[int]int{}
	for _, p := range at {
		want[int(p.Y)*10+int(p.X/10)]++
	}
	cells := got["cells"].(map[string]any)
	require.EqualValues(t, 10, cells["nx"])
	found := map[int]int{}
	for _, c := range cells["cells"].([]any) {
		c := c.([]any)
		found[int(c[0].(float64))] = int(c[1].(float64))
		require.Less(t, c[2], 16.0)
	}
	require.Equal(t, want, found)
	got = f.get(200, mapPath+"&cells=1")
	require.Len(t, got["cells"].(map[string]any)["cells"], 1)
}

// TestMapColour finds the most frequent colour of a cell.
func TestMapColour(t *testing.T) {
	f := newWorld(t, 2, 1)
	f.units.PlaceBy(func(u Unit) int { return u.HP })
	_, err := f.units.AppendN(nil, f.w, 5000, func(i int, u *Unit) {
		u.Position.X, u.HP = float64(i%2*100), 0 // on the left and right
		if u.Position.X > 0 && i%10 < 8 {
			u.HP = 1
		}
	})
	require.NoError(t, err)
	f.inspect(inspect.Options{}).run()
	got := f.get(200, mapPath+"&cells=2")
	require.Equal(t, "shard 0", got["legend"].([]any)[0].(map[string]any)["label"])
	require.Equal(t, []any{[]any{0.0, 2500.0, 0.0}, []any{1.0, 2500.0, 1.0}}, got["cells"].(map[string]any)["cells"])
}
