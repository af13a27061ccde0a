package inspect_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/world"
)

// TestQueryOrder asks for the first rows by a field, from either end.
func TestQueryOrder(t *testing.T) {
	f := newFixture(t)
	for more, want := range map[string][]float64{"&order=Health.HP": {0, 1, 2}, "&order=Health.HP&down=1": {99, 98, 97}} {
		got := f.get(200, queryOf("Health", "&limit=3"+more))
		require.EqualValues(t, 100, got["count"])
		require.Equal(t, true, got["more"])
		require.Empty(t, got["next"], "there are no pages in another order than that of the handles")
		for i, row := range got["rows"].([]any) {
			shown := row.(map[string]any)["components"].(map[string]any)
			require.Equal(t, want[i], shown["Health"].(map[string]any)["HP"])
		}
		require.Len(t, got["rows"], 3)
	}
}

// TestQueryTotals asks what fields come to.
func TestQueryTotals(t *testing.T) {
	f := newFixture(t)
	totals := f.get(200, queryOf("Position", "&total=Position.X,Position.Y"))["totals"]
	require.JSONEq(t, `[{"field":"Position.X","count":100,"sum":4950,"min":0,"max":99},
		{"field":"Position.Y","count":110,"sum":"+Inf","min":-99,"max":"+Inf"}]`, jsonOf(totals), "NaN is no value")
	require.JSONEq(t, "[{\"field\":\"`odd/Score`\",\"count\":5,\"sum\":10,\"min\":0,\"max\":4}]",
		jsonOf(f.get(200, queryOf("", "&total="+url.QueryEscape(" `odd/Score`")))["totals"]))
	require.Equal(t, []any{map[string]any{"field": "Velocity.X", "count": 0.0}}, f.get(200, queryOf("Dead", "&total=Velocity.X"))["totals"])
	require.Empty(t, f.get(200, queryOf(""))["totals"])
}

// TestQueryOrderRefused asks for orders and totals that there are not.
func TestQueryOrderRefused(t *testing.T) {
	f := newFixture(t)
	for more, says := range map[string]string{
		"&order=Nothing":                      `order: there is no component "Nothing"`,
		"&order=Position":                     "order: Position is a inspect_test.Position, want one of its fields",
		"&order=Position.Z":                   "order: Position has no field Z",
		"&order=Bag.Items":                    "order: fields of Bag cannot be asked for",
		"&order=Position.X&after=0:3@1":       "after goes on in the order of handles",
		"&down=1":                             "down is of order",
		"&order=Position.X&down=2":            "down is",
		"&total=Position.X,":                  "total: there is no component",
		"&total=Label.Text":                   "total: Label.Text is a string, want a number",
		"&total=Owner.Of":                     "want a number",
		"&total=Bag.Items":                    "total: fields of Bag cannot be asked for",
		"&total=" + repeated("Health.HP", 17): "total has 17 fields, want 16 or fewer",
	} {
		require.Contains(t, f.get(400, queryOf("", more))["error"], says, more)
	}
}

func repeated(name string, n int) (all string) {
	for i := range n {
		if i > 0 {
			all += ","
		}
		all += name
	}
	return all
}

// TestQueryNames shows the names of the world beside what has them.
func TestQueryNames(t *testing.T) {
	f := newFixture(t)
	row := func(q string) map[string]any { return f.get(200, queryOf(q))["rows"].([]any)[0].(map[string]any) }
	require.Equal(t, []any{map[string]any{"label": "names", "name": "anna"}}, row("Health.HP == 0")["names"])
	require.Equal(t, []any{}, row("Health.HP == 1")["names"])
	require.NoError(t, <-f.s.Between(func(w *world.World) { // another one, of a world that is looked at already
		ids := names.New[uint64](w, "ids", names.Options{})
		h, ok := f.names.Lookup("anna")
		require.True(t, ok)
		require.NoError(t, ids.Bind(w, h, 77))
	}))
	require.Eventually(t, func() bool { return len(row("Health.HP == 0")["names"].([]any)) == 2 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, map[string]any{"label": "ids", "name": "77"}, row("Health.HP == 0")["names"].([]any)[1])
}
