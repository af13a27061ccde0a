//go:build !race

package snapshot_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestNamesUsedAgain loads files of each version with one list of changes: a field is renamed
// twice, and others take its old names.
func TestNamesUsedAgain(t *testing.T) {
	type (
		first  struct{ A int8 }
		second struct{ B int8 }
		third  struct{ A, B int8 }
		fourth struct{ A, C int8 }
		last   struct{ A, B, C int16 }
	)
	changes := []snapshot.Change{snapshot.RenamedField("it", "A", "B"), snapshot.RenamedField("it", "B", "C")}
	mustBecome(t, first{1}, third{0, 1}, changes[:1]...)
	mustBecome(t, second{1}, third{0, 1}, changes[:1]...)
	mustBecome(t, third{1, 2}, struct{ A, B int16 }{1, 2}, changes[:1]...)
	mustBecome(t, first{1}, last{0, 0, 1}, changes...)
	mustBecome(t, second{1}, last{0, 0, 1}, changes...)
	mustBecome(t, fourth{1, 2}, last{1, 0, 2}, changes...)
	mustBecome(t, fourth{1, 2}, struct{ A, C int16 }{1, 2}, changes...)
	mustBecome(t, []fourth{{1, 2}}, []last{{1, 0, 2}}, changes...)
	mustBecome(t, struct{ P fourth }{fourth{1, 2}}, struct{ P last }{last{1, 0, 2}},
		snapshot.RenamedField("it", "P.A", "P.B"), snapshot.RenamedField("it", "P.B", "P.C"))
	mustBecome(t, struct{ P first }{first{1}}, struct{ Q last }{last{0, 0, 1}},
		snapshot.RenamedField("it", "P.A", "P.C"), snapshot.RenamedField("it", "P", "Q"))
	// While the world lacks the new name, the old one is what it was.
	mustBecome(t, first{1}, struct{ A int16 }{1}, changes...)
}

// TestDroppedNames gives the name of a field that is gone to another.
func TestDroppedNames(t *testing.T) {
	type (
		first  struct{ A, Kept int32 }
		second struct{ A, Kept int64 }
	)
	gone := snapshot.Dropped("it", "A")
	mustBecome(t, struct {
		A    string
		Kept int32
	}{"x", 1}, second{0, 1}, gone)
	fresh := snapshot.Migrated(func(was first) second { return second{Kept: int64(was.Kept)} })
	mustBecome(t, first{7, 1}, second{0, 1}, gone, fresh)
	mustBecome(t, second{7, 1}, second{7, 1}, gone, fresh)
}

// TestPlanFilesOptions plans a load of a file that has what only the Options of Load know.
func TestPlanFilesOptions(t *testing.T) {
	w := world.MustNew(world.Options{})
	var old, now bytes.Buffer
	also := []snapshot.Extra{
		{Name: "moon", Append: func(dst []byte) []byte { return dst }, Read: func([]byte) error { return nil }},
		{Name: "tide", Append: func(dst []byte) []byte { return dst }, Read: func([]byte) error { return nil }, Optional: true},
	}
	require.NoError(t, snapshot.Write(&old, w, snapshot.Options{Extras: also, Scheduler: scheduler.New(w, scheduler.Options{})}))
	require.NoError(t, snapshot.Write(&now, w, snapshot.Options{}))
	plan, err := snapshot.PlanFiles(&old, &now, snapshot.Options{})
	require.NoError(t, err)
	require.Equal(t, `loads    extra "moon": is in the old one alone; Load needs it in Options.Extras
loads    extra "tide": is optional, and left out
loads    scheduler: is in the old one alone; Load needs one in Options.Scheduler
3 differences, 0 refused
`, plan.String())
}

// TestOptionalExtra loads an optional Extra where there is one, and leaves it out where there is
// none. Where it is saved and loaded as another kind of Extra, it is still loaded.
func TestOptionalExtra(t *testing.T) {
	for _, optional := range []bool{true, false} {
		var image bytes.Buffer
		moon := func(optional bool, loaded *string) snapshot.Options {
			return snapshot.Options{Extras: []snapshot.Extra{{Name: "moon", Optional: optional, Append: func(dst []byte) []byte { return append(dst, "full"...) }, Read: func(src []byte) error {
				*loaded = string(src)
				return nil
			}}}}
		}
		loaded := ""
		require.NoError(t, snapshot.Write(&image, world.MustNew(world.Options{}), moon(optional, &loaded)))
		require.NoError(t, snapshot.Load(bytes.NewReader(image.Bytes()), world.MustNew(world.Options{}), moon(!optional, &loaded)))
		require.Equal(t, "full", loaded)
		err := snapshot.Load(bytes.NewReader(image.Bytes()), world.MustNew(world.Options{}), snapshot.Options{})
		if optional {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, snapshot.ErrOtherWorld)
		}
		var text, again bytes.Buffer
		_, err = snaptext.Export(bytes.NewReader(image.Bytes()), &text, snapshot.Options{})
		require.NoError(t, err)
		_, err = snaptext.Import(&text, &again, snapshot.Options{})
		require.NoError(t, err)
		require.Equal(t, image.Bytes(), again.Bytes())
	}
}

// TestFieldsChangePlaces reads fields by their names where others are strings, too.
func TestFieldsChangePlaces(t *testing.T) {
	type old struct {
		Damage, Heal int
		By           string
	}
	type now struct {
		Heal, Damage int
		By           string
	}
	w := world.MustNew(world.Options{Shards: 1, ChunkRowsFirst: 4})
	world.Register[now](w, "it")
	image := saveOf(t, old{1, 2, "x"})
	require.NoError(t, snapshot.Load(bytes.NewReader(image), w, snapshot.Options{}))
	for rows := range w.Query(world.With[now](w)).Chunks() {
		require.Equal(t, []now{{Heal: 2, Damage: 1, By: "x"}}, world.Read[now](w).Slice(rows))
	}
}
