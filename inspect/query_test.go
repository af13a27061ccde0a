package inspect_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

func queryOf(q string, more ...string) string {
	return "/api/query?q=" + url.QueryEscape(q) + strings.Join(more, "")
}

// TestQuery asks for entities, and looks at what rows show.
func TestQuery(t *testing.T) {
	f := newFixture(t)
	for q, want := range map[string]int{
		"":                                 115,
		"Position":                         110,
		"Position, !Owner":                 100,
		"Dead":                             5,
		"Dead, !Dead":                      0,
		"Health.HP < 20":                   20,
		"Health.HP <= 20":                  21,
		"Health.HP < 19.5":                 20,
		"Health.HP >= 19.5":                80,
		"Health.HP == 19.5":                0,
		"Health.HP != 19.5":                100,
		"Health.HP > 1e300":                0,
		"Health.Most < 300":                100,
		"Health.Most > -1":                 100,
		"Health.Most == -1":                0,
		"Health.HP < NaN":                  0,
		"Health.HP < +Inf":                 100,
		"Position.X == NaN":                10,
		"Position.X != NaN":                100,
		"Position.Y == Inf":                10,
		`Label.Text == "orc"`:              34,
		`Label.Text < "orc"`:               33,
		`Label.Text == "\xff"`:             33,
		"Owner.Alive == true":              5,
		"Owner.Alive != true":              5,
		"Owner.inner == 7":                 10,
		"Owner.Big > 1e18":                 10,
		"`odd/Score` >= 3":                 2,
		"Bag":                              10,
		"Shard 0, Shard 1":                 0,
		"Flag 3":                           0,
		"!Flag 3":                          115,
		`Owner.Of == "none"`:               0,
		"Owner.Big == 1152921504606846976": 1,
	} {
		require.EqualValues(t, want, f.get(200, queryOf(q))["count"], q)
	}
	for q, at := range map[string]int{
		"Health.HP < x": 13, `Health.HP < "3"`: 13, "Label.Text == 3": 15, "Owner.Alive < true": 15, "Owner.Alive == 1": 16,
		`Owner.Of < "none"`: 12, `Owner.Of == "x"`: 13, "Position, Nothing": 11, "Position.Z == 1": 1, "Position == 1": 1,
		"Position.X": 1, "Bag.Items == 1": 1, "Bag == 1": 1, "!Shard 1": 1, "Health.HP < 0x10": 13,
	} {
		require.EqualValues(t, at, f.get(400, queryOf(q))["at"], q)
	}
	require.Equal(t, `there is no component "health.HP"; "Health" is one, and case matters`, f.get(400, queryOf("health.HP < 3"))["error"])
	require.Equal(t, `there is no component "Healthy"; there are: Position, Velocity, Health, Label, Owner, Bag, Dead, odd/Score`,
		f.get(400, queryOf("Healthy"))["error"])
	require.Contains(t, f.get(400, queryOf("`odd`.X == 1"))["error"], `there is no component "odd"; `)
	rows := f.get(200, queryOf("Owner.Big == 1152921504606846977", "&show=Position,Owner,Bag,Dead"))["rows"].([]any)
	require.Len(t, rows, 1)
	row := rows[0].(map[string]any)
	h, err := handle.Parse(row["handle"].(string))
	require.NoError(t, err)
	require.True(t, f.w.Alive(h))
	require.Equal(t, []any{}, row["flags"])
	shown := row["components"].(map[string]any)
	require.Len(t, shown, 3)
	require.Equal(t, map[string]any{"X": "NaN", "Y": "+Inf"}, shown["Position"])
	require.Equal(t, "1152921504606846977", shown["Owner"].(map[string]any)["Big"])
	require.Contains(t, shown["Bag"], "is a map")
	f.get(400, queryOf("", "&show="+strings.Repeat("Position,", 3)+"Nothing"))
}

// TestQueryPages goes through all that match, page by page.
func TestQueryPages(t *testing.T) {
	f := newFixture(t)
	var all []handle.Handle
	after := ""
	for pages := 1; ; pages++ {
		got := f.get(200, queryOf("Position", "&limit=7&after="+after))
		require.EqualValues(t, 110, got["count"])
		for _, row := range got["rows"].([]any) {
			h, err := handle.Parse(row.(map[string]any)["handle"].(string))
			require.NoError(t, err)
			all = append(all, h)
		}
		if after = got["next"].(string); after == "" {
			require.Equal(t, 16, pages)
			break
		}
	}
	require.Len(t, all, 110)
	require.True(t, slices.IsSorted(all))
	require.Len(t, slices.Compact(all), 110)
}
