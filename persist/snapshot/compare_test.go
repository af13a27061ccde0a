package snapshot_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/world"
)

// TestCompare tells each kind of difference between two snapshots, with values.
func TestCompare(t *testing.T) {
	x := newSea(t, options(), 1)
	n := int64(3)
	a, err := x.unit.Create(x.World, Unit{Body{Small: 1, Loud: [3]bool{true, false, true}}, Label{Text: "a", Code: Code{&n}, Items: []Item{{"i", -300}}, Bag: map[string]int32{"k": 70000}}})
	require.NoError(t, err)
	b, err := x.plain.Create(x.World, Plain{Extra: Extra{5}})
	require.NoError(t, err)
	c, err := x.plain.Create(x.World, Plain{})
	require.NoError(t, err)
	x.Refresh()
	old := x.save()

	same, err := snaptext.Compare(bytes.NewReader(old), bytes.NewReader(old), 0)
	require.NoError(t, err)
	require.True(t, same.Equal(), same.String())
	require.Equal(t, x.World.Tick(), same.Now.Tick)

	body, label := world.Write[Body](x.World).Get(a), world.Write[Label](x.World).Get(a)
	n2 := int64(4)
	*body = Body{Small: 2, Loud: [3]bool{false, false, true}, Target: a}
	*label = Label{Text: "b", Code: Code{&n2}, Items: []Item{}, Bag: map[string]int32{"k": -1}, Next: &Item{"n", 1}}
	require.NoError(t, x.extra.Remove(x.World, b))
	x.Destroy(c)
	d, err := x.plain.Create(x.World, Plain{})
	require.NoError(t, err)
	x.rules.Set(Rules{2, "t"})
	x.clock++
	x.Refresh()
	now := x.save()
	got, err := snaptext.Compare(bytes.NewReader(old), bytes.NewReader(now), 0)
	require.NoError(t, err)
	text := got.String()
	for _, want := range []string{
		`option "tick" (1 → 2): differs`,
		`entity "` + a.String() + `", field body.Small (1 → 2): changed`,
		`field body.Loud ([true,false,true] → [false,false,true]): changed`,
		`field label.Text ("a" → "b"): changed`,
		`field label.Code ("3" → "4"): changed`,
		`field label.Items ([{"N":-300,"Name":"i"}] → []): changed`,
		`field label.Bag ({"k":70000} → {"k":-1}): changed`,
		`field label.Next (null → {"N":1,"Name":"n"}): changed`,
		`entity "` + b.String() + `" (shard `, `"body" "extra"] → shard `, `["body"]): moved`,
		`entity "` + c.String() + `" (shard `, `]): was destroyed`,
		`entity "` + d.String() + `" (shard `, `]): was created`,
		`resource "rules": differs`, `extra "clock": differs`, `slots, tables, flags and marks of shard "`,
		"1 created, 1 destroyed, 1 moved, 1 changed\n",
	} {
		require.Contains(t, text, want)
	}
	some, err := snaptext.Compare(bytes.NewReader(old), bytes.NewReader(now), 3)
	require.NoError(t, err)
	require.Len(t, some.Differences, 3)
	require.Equal(t, len(got.Differences)-3, some.Omitted)
	require.Equal(t, got.Changed, some.Changed)

	other, err := snaptext.Compare(bytes.NewReader(saveOf(t, complex64(1))), bytes.NewReader(saveOf(t, [2]spot{{1, 2}})), 0)
	require.NoError(t, err)
	require.Contains(t, other.String(), `field it ([1,0] → [{"X":1,"Y":2},{"X":0,"Y":0}]): changed`)
	for at := 0; at < len(now); at += step(7) * 13 {
		_, err := snaptext.Compare(bytes.NewReader(old), bytes.NewReader(now[:at]), 0)
		require.Error(t, err)
	}
}

// saveOf saves a world with a component that has these values.
func saveOf[T any](t testing.TB, values ...T) []byte {
	t.Helper()
	w := world.MustNew(world.Options{Shards: 1, ChunkRowsFirst: 4})
	world.Register[T](w, "it")
	require.NoError(t, world.NewBundle[struct{ V T }](w).CreateN(w, len(values), func(i int, x *struct{ V T }) { x.V = values[i] }))
	w.Refresh()
	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, w, snapshot.Options{Codecs: codecs(), Compression: snapshot.None}))
	return image.Bytes()
}
