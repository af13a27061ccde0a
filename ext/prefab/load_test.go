package prefab_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// kinds is a component with a field of most kinds.
type kinds struct {
	Yes   bool
	Small int8
	Wide  uint64
	Float float32
	Text  string `json:"text"`
	Bytes []byte
	Pair  [2]int
	Map   map[string]handle.Handle
	Count map[int]int
	More  *kinds
	Level level
	Raw   raw
	Any   any `json:"-"`
	inner int
}

// level has a text, raw reads JSON itself.
type (
	level int
	raw   struct{ text string }
)

func (l *level) UnmarshalText(text []byte) error {
	if string(text) != "high" {
		return errors.New("no level")
	}
	*l = 9
	return nil
}

func (r *raw) UnmarshalJSON(data []byte) error {
	r.text = string(data)
	return nil
}

// load loads files, each a name and a text.
func (f *fixture) load(files ...string) (map[string]*prefab.Prefab, error) {
	all := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		all[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return prefab.Load(f.w, all, "*.json", f.holds, f.carries)
}

const orcs = `{
	"orc": {
		"extends": "being",
		"name": "self",
		"components": {
			"wields": {"Weapon": "$axe"},
			"notes": {"Text": "orc", "Of": ["$self", "$spare"]},
			"health": {"Points": 10}
		},
		"children": [
			{"extends": "axe", "name": "axe", "relation": "holds", "place": 0, "components": {"damage": {"Points": 5}}},
			{"place": 2, "relation": "carries", "name": "spare", "extends": "axe", "components": {"wields": {"Other": "$self"}}}
		]
	}
}`

const items = `{
	"being": {"components": {"health": {"Max": 10, "Points": 1}}},
	"axe": {"components": {"damage": {"Points": 3}, "place": {}}, "name": "self"}
}`

// TestLoad loads what fixture.orc makes.
func TestLoad(t *testing.T) {
	f := newFixture(t, world.Options{})
	all, err := f.load("a_orcs.json", orcs, "items.json", items, "ignored.txt", "{")
	require.NoError(t, err)
	require.Len(t, all, 3)
	orc := all["orc"]
	require.Equal(t, "orc", orc.Name())
	require.Equal(t, 3, orc.Len())
	for name, want := range map[string]int{"self": 0, "axe": 1, "spare": 2} {
		entity, ok := orc.Entity(name)
		require.True(t, ok)
		require.Equal(t, want, entity)
	}
	_, ok := orc.Entity("Axe")
	require.False(t, ok)
	h, err := orc.Create(f.w)
	require.NoError(t, err)
	f.mustBeOrc(h)
}

// TestLoadKinds reads values of all kinds.
func TestLoadKinds(t *testing.T) {
	f := newFixture(t, world.Options{})
	world.Register[kinds](f.w, "kinds")
	all, err := f.load("a.json", `{
		"base": {"components": {"kinds": {"Wide": 7, "More": {"Small": 1, "Wide": 2}, "Pair": [5, 6], "Count": {"3": 4}}}},
		"it": {"extends": "base", "name": "me", "components": {"kinds": {
			"Yes": true, "Small": -128, "Float": 1.5e3, "text": "$5", "Bytes": "AQI=", "Map": {"a": "$me", "b": "3:1047@5", "c": null},
			"More": {"Small": 3, "Level": "high"}, "Raw": {"x": [1]}
		}}}
	}`)
	require.NoError(t, err)
	h, err := all["it"].Create(f.w)
	require.NoError(t, err)
	other, err := handle.Parse("3:1047@5")
	require.NoError(t, err)
	require.Equal(t, kinds{
		Yes: true, Small: -128, Wide: 7, Float: 1500, Text: "$5", Bytes: []byte{1, 2}, Pair: [2]int{5, 6},
		Map: map[string]handle.Handle{"a": h, "b": other, "c": handle.None}, Count: map[int]int{3: 4},
		More: &kinds{Small: 3, Wide: 2, Level: 9}, Raw: raw{`{"x": [1]}`},
	}, get[kinds](f, h))
	base, err := all["base"].Create(f.w)
	require.NoError(t, err)
	require.Zero(t, get[kinds](f, base).inner)
	require.Equal(t, &kinds{Small: 1, Wide: 2}, get[kinds](f, base).More, "the base's memory was written")
}

// TestLoadRefused loads what is wrong, and looks at the whole error.
func TestLoadRefused(t *testing.T) {
	f := newFixture(t, world.Options{})
	world.Register[kinds](f.w, "kinds")
	world.Register[chan int](f.w, "channel")
	kind := func(field string) string { return `{"a": {"components": {"kinds": {` + field + `}}}}` }
	tests := []struct{ text, err string }{
		{``, `1: unexpected end of JSON input`},
		{"{\n\"a\": }", `2: invalid character '}' looking for beginning of value`},
		{"{\n\n\"a\": \"\xff\"}", `3: it is not UTF-8`},
		{`{} {}`, `1: invalid character '{' after top-level value`},
		{`[]`, `1: want an object of prefabs, not a list`},
		{"{\"a\": {},\n\"a\": {}}", `2: "a" is there twice`},
		{"{\"a\": {\"name\": \"x\",\n\"name\": \"x\"}}", `2: a: "name" is there twice`},
		{`{"a": []}`, `1: a: want an object, not a list`},
		{"{\"a\": {\n\"colour\": 1}}", `2: a: there is no member "colour"; there are extends, components, children and name, and for a child relation and place`},
		{`{"a": {"place": 1}}`, `1: a: "place" is for children`},
		{`{"a": {"extends": "b"}}`, `1: a.extends: there is no prefab "b"`},
		{`{"a": {"extends": 1}}`, `1: a.extends: want a name, not a number`},
		{"{\"a\": {\"extends\": \"b\"},\n\"b\": {\"extends\": \"c\"},\n\"c\": {\"children\": [\n{\"relation\": \"holds\", \"extends\": \"b\"}]}}",
			`4: c.children[0].extends: it extends itself: b → c → b`},
		{`{"a": {"extends": "a"}}`, `1: a.extends: it extends itself: a → a`},
		{`{"a": {"components": []}}`, `1: a.components: want an object of components, not a list`},
		{"{\"a\": {\"components\": {\n\"helth\": {}}}}", `2: a.components.helth: there is no component "helth" in the world; there are: "health", "damage", "wields", "notes", "place", "kinds", "channel"`},
		{`{"a": {"components": {"channel": 1}}}`, `1: a.components.channel: a chan int is not read from JSON; give its type UnmarshalJSON`},
		{`{"a": {"components": {"health": 1}}}`, `1: a.components.health: want an object for a prefab_test.health, not a number`},
		{`{"a": {"components": {"health": {"points": 1}}}}`, `1: a.components.health: prefab_test.health has no field "points" that is exported`},
		{`{"a": {"components": {"health": {"Points": "1"}}}}`, `1: a.components.health.Points: want a number for a int, not a string`},
		{`{"a": {"components": {"health": {"Points": 1.5}}}}`, `1: a.components.health.Points: want a whole number for a int, not 1.5`},
		{`{"a": {"components": {"health": {"Points": null}}}}`, `1: a.components.health.Points: want a number for a int, not null`},
		{`{"a": {"components": {"wields": {"Weapon": "$axe"}}}}`, `1: a.components.wields.Weapon: no entity of the prefab has the name "axe"`},
		{`{"a": {"components": {"wields": {"Weapon": 7}}}}`, `1: a.components.wields.Weapon: want "$" and the name of an entity, or a handle, not a number`},
		{kind(`"Yes": 1`), `1: a.components.kinds.Yes: want true or false for a bool, not a number`},
		{kind(`"Small": 128`), `1: a.components.kinds.Small: 128 does not fit in int8`},
		{kind(`"Wide": -1`), `1: a.components.kinds.Wide: want a whole number for a uint64, not -1`},
		{kind(`"Float": 1e99`), `1: a.components.kinds.Float: 1e99 does not fit in float32`},
		{kind(`"text": 1`), `1: a.components.kinds.text: want a string for a string, not a number`},
		{kind(`"Text": "x"`), `1: a.components.kinds: prefab_test.kinds has no field "Text" that is exported`},
		{kind(`"Bytes": "?"`), `1: a.components.kinds.Bytes: illegal base64 data at input byte 0`},
		{kind(`"Pair": [1]`), `1: a.components.kinds.Pair: want 2 elements for a [2]int, not 1`},
		{kind(`"Pair": {}`), `1: a.components.kinds.Pair: want a list for a [2]int, not an object`},
		{kind(`"Map": {"a": true}`), `1: a.components.kinds.Map.a: want "$" and the name of an entity, or a handle, not a bool`},
		{kind(`"Map": []`), `1: a.components.kinds.Map: want an object for a map[string]handle.Handle, not a list`},
		{kind(`"Count": {"x": 1}`), `1: a.components.kinds.Count: want a whole number for a int, not x`},
		{kind(`"Count": {"1": 1, "+1": 2}`), `1: a.components.kinds.Count: "+1" is there twice`},
		{kind(`"Level": "low"`), `1: a.components.kinds.Level: no level`},
		{kind(`"Level": 1`), `1: a.components.kinds.Level: want a string for a prefab_test.level, not a number`},
		{kind(`"inner": 1`), `1: a.components.kinds: prefab_test.kinds has no field "inner" that is exported`},
		{kind(`"Any": 1`), `1: a.components.kinds: prefab_test.kinds has no field "Any" that is exported`},
		{`{"a": {"children": {}}}`, `1: a.children: want a list, not an object`},
		{`{"a": {"children": [1]}}`, `1: a.children[0]: want an object, not a number`},
		{`{"a": {"children": [{}]}}`, `1: a.children[0]: a child has no "relation"; name one that Load was given`},
		{`{"a": {"children": [{"relation": "owns"}]}}`, `1: a.children[0].relation: there is no relation "owns" among those that Load was given`},
		{`{"a": {"children": [{"relation": "holds", "place": -1}]}}`, `1: a.children[0].place: want a whole number from 0 to 2147483647; leave it out to come after the others`},
		{`{"a": {"children": [{"relation": "holds", "place": "1"}]}}`, `1: a.children[0].place: want a whole number from 0 to 2147483647; leave it out to come after the others`},
		{"{\"a\": {\"children\": [{\"relation\": \"holds\", \"place\": 1},\n{\"relation\": \"holds\", \"place\": 1}]}}",
			`2: a.children[1]: a child by "holds" at place 1: hierarchy: place is taken`},
		{`{"a": {"children": [{"relation": "carries", "place": 4}]}}`, `1: a.children[0]: a child by "carries" at place 4: hierarchy: no such place`},
		{`{"a": {"name": "x", "children": [{"relation": "holds", "name": "x"}]}}`, `1: a.children[0].name: there is an entity "x" already in the prefab`},
		{`{"a": ` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 201), strings.Repeat("a.", 40) + "….a" + strings.Repeat(".a", 39) + ": it is nested more than 100 deep"},
	}
	for _, test := range tests {
		made, err := f.load("a.json", test.text)
		require.Nil(t, made)
		require.Error(t, err, test.text)
		if strings.HasSuffix(test.err, "deep") {
			require.ErrorContains(t, err, test.err)
			continue
		}
		require.EqualError(t, err, "prefab: a.json:"+test.err)
	}
	_, err := f.load("a.json", `{"x": {}}`, "b.json", "\n{\"x\": {}}")
	require.EqualError(t, err, `prefab: b.json:2: there is a prefab "x" already, in a.json`)
	_, err = f.load()
	require.EqualError(t, err, `prefab: Load of "*.json": file does not exist`)
	_, err = prefab.Load(f.w, fstest.MapFS{}, "[")
	require.EqualError(t, err, `prefab: Load of "[": syntax error in pattern`)
	require.Panics(t, func() { _, _ = prefab.Load(f.w, nil, "*") })
	require.Panics(t, func() { _, _ = prefab.Load(f.w, fstest.MapFS{}, "*", nil) })
}

// TestLoadNothingIsMade loads what is wrong in the last file: the world is as it was.
func TestLoadNothingIsMade(t *testing.T) {
	f := newFixture(t, world.Options{})
	_, err := f.load("a.json", items, "b.json", `{"c": {"extends": "d"}}`)
	require.Error(t, err)
	kinds := func() int { return engine.Of(f.w).Survey().Kinds().Len() }
	before := kinds()
	_, err = f.load("a.json", items, "b.json", `{"c": {"extends": "d"}}`)
	require.Error(t, err)
	require.Equal(t, before, kinds())
	_, err = f.load("a.json", items)
	require.NoError(t, err)
	require.Equal(t, before+2, kinds(), "one for each set of components")
	_, err = f.load("a.json", items)
	require.NoError(t, err)
	require.Equal(t, before+2, kinds())
}

// TestLoadLarge loads prefabs that are too large: what doubles with each line is refused while it
// is small.
func TestLoadLarge(t *testing.T) {
	f := newFixture(t, world.Options{})
	text := `{"p0": {}`
	for i := range 60 {
		text += fmt.Sprintf(",\n\"p%d\": {\"children\": [{\"relation\": \"holds\", \"extends\": \"p%d\"}, {\"relation\": \"holds\", \"extends\": \"p%d\"}]}", i+1, i, i)
	}
	_, err := f.load("a.json", text+"}")
	require.ErrorIs(t, err, world.ErrTooLarge)
	require.ErrorContains(t, err, "a.json:12: p11.children[1]: ")

	text = `{"p0": {"children": [` + strings.Repeat(`{"relation": "holds"},`, 2000) + `{"relation": "holds"}]}`
	for i := range 200 {
		text += fmt.Sprintf(",\n\"p%d\": {\"extends\": \"p0\"}", i+1)
	}
	_, err = f.load("a.json", text+"}")
	require.ErrorContains(t, err, "the prefabs of one Load have more than 262144 entities together")
}

// FuzzLoad loads any file: it is refused, or each prefab of it can be made.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{orcs[:len(orcs)-1] + "," + items[1:], items, `{"a": {"extends": "a"}}`, `{"a": {"children": [{"relation": "carries"}]}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x := newFixture(t, world.Options{Shards: 1})
		world.Register[kinds](x.w, "kinds")
		all, err := x.load("a.json", string(data))
		if err != nil {
			require.ErrorContains(t, err, "prefab: a.json:")
			require.Nil(t, all)
			return
		}
		for _, p := range all {
			h, err := p.Create(x.w)
			require.NoError(t, err)
			below := 1
			for _, r := range []*hierarchy.Relation{x.holds, x.carries} {
				below += r.Links()
			}
			require.Equal(t, p.Len(), x.w.Count())
			require.Equal(t, p.Len(), below)
			require.True(t, x.w.Alive(h))
			x.w.Clear()
		}
	})
}

// TestLoadLong loads a file with a long name in front of many values: it takes time and memory by
// its length, and errors cut what is in it.
func TestLoadLong(t *testing.T) {
	f := newFixture(t, world.Options{})
	long := strings.Repeat("x", 100_000)
	for _, text := range []string{
		`{"` + long + `": [` + strings.Repeat("0,", 100_000) + `0]}`,
		`{"orc": {"components": {"` + long + `": {}}}}`,
		`{"orc": {"` + long + `": {}}}`,
		`{"orc": {"components": {"wields": {"Weapon": "` + long + `"}}}}`,
		`{"orc": {"components": {"health": {"Points": 1` + strings.Repeat("0", 100_000) + `}}}}`,
		`{"` + long + `": {"children": [{"` + long + `": 1}]}}`,
	} {
		_, err := f.load("a.json", text)
		require.Error(t, err)
		require.Less(t, len(err.Error()), 1000)
	}
}

// TestLoadKindsLimit loads prefabs of more sets of components than the world has kinds of requests
// left.
func TestLoadKindsLimit(t *testing.T) {
	f := newFixture(t, world.Options{})
	kinds := engine.Of(f.w).Survey().Kinds()
	for i := 0; kinds.Len() < 32_767-3; i++ {
		world.RegisterFunc(f.w, fmt.Sprint("fill ", i), func(*world.EntityContext, int8) {})
	}
	prefab.New(f.w, "axe", prefab.With(f.damage, damage{}))
	before := kinds.Len()
	_, err := f.load("a.json", `{"a": {"components": {"damage": {}}},
		"b": {"components": {"place": {}}},
		"c": {"components": {"health": {}}},
		"d": {"components": {"notes": {}}}}`)
	require.ErrorIs(t, err, world.ErrTooLarge)
	require.ErrorContains(t, err, "a.json:4: d: ")
	require.ErrorContains(t, err, "of which 2 are left")
	require.Equal(t, before, kinds.Len(), "nothing is made")
	_, err = f.load("a.json", `{"a": {"components": {"damage": {}}}, "b": {"components": {"place": {}}}, "c": {"components": {"health": {}}}}`)
	require.NoError(t, err)
}
