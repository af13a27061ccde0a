package snapshot_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// forgedTypes are texts that are no types of fields, or that not all can be.
var forgedTypes = []string{
	"", "int", "int7", "int64", "string", "bool", "complex128", "[", "[]int8", "[3", "[3]", "[-1]int8", "[99999999999]int8", "[1000000000]int64", "[0]int8",
	"[1000000000][0]int8", "{", "{}", "{0}", "{A int8@0;1}", "{A int8@0;0}", "{A int8@9;4}", "{A int8@0;A int8@1;4}", "{A int8@1;B int8@0;4}", "{A int8;4}", "{A int8@0;4",
	"[2]{A int8@0;8}", strings.Repeat("[1]", 1000) + "int8", ", as CBOR", "[]int8, as CBOR", "map[string]{A int8;}, as CBOR", "{A int8;A int8;}, as CBOR", `"x, as CBOR`,
	`{"a b" int8;}, as CBOR`, "*{, as CBOR", strings.Repeat("[]", 1000) + "int8, as CBOR", "[999999999]string, as CBOR", "x, by a codec", ", by a codec", "\xff\x00",
}

// TestForgedNames loads snapshots that describe a component as it is not: they are refused, or read
// as what they say, and nothing outside of them is.
func TestForgedNames(t *testing.T) {
	type mixed struct {
		A     tall
		Label string
		Items []thing
		B     int64
	}
	load := func(image []byte) error {
		t.Helper()
		w := world.MustNew(world.Options{Shards: 1, ChunkRowsFirst: 4})
		world.Register[mixed](w, "it")
		o := snapshot.Options{Codecs: codecs(), Changes: []snapshot.Change{
			snapshot.Dropped("it", "A", "Label", "Items", "B"), snapshot.RenamedField("it", "Items.Name", "Items.X"), snapshot.RenamedField("it", "B", "C"),
		}}
		_, planned := snapshot.PlanLoad(bytes.NewReader(image), w, o)
		err := snapshot.Load(bytes.NewReader(image), w, o)
		_, _ = snaptext.Compare(bytes.NewReader(image), bytes.NewReader(image), 1)
		if planned != nil {
			require.EqualError(t, err, planned.Error())
			require.NoError(t, w.Err())
		}
		if err == nil {
			_, err := state.StateHash(w, codecs())
			require.NoError(t, err)
		}
		return err
	}
	image := saveOf(t, mixed{Label: "abc", Items: []thing{{"a", 1, 2}}, B: 3}, mixed{}, mixed{Items: []thing{}})
	require.NoError(t, load(snapshot.Forge(image, func(parts []form.Part) []form.Part { return parts })))
	for want, forge := range map[string]func(parts []form.Part){
		"is at byte 900, outside of its place":         func(parts []form.Part) { parts[0].Fields[1].Offset = 900 },
		"is at byte 4, outside of its place":           func(parts []form.Part) { parts[0].Fields[2].Offset = 4 }, // it overlaps the one before
		"is at byte 0, outside of its place":           func(parts []form.Part) { parts[3].Fields[0].Offset = 0 },
		"there are two fields snapshot_test.mixed.A.A": func(parts []form.Part) { parts[0].Fields[1].Path = parts[0].Fields[0].Path },
		"part 3 of a":                  func(parts []form.Part) { parts[3].Offset = 1 },
		"with 2147483646 bytes":        func(parts []form.Part) { parts[0].Size = 1<<31 - 2 },
		"is not in a part of its kind": func(parts []form.Part) { parts[1].Fields[0].Type = "int8" },
		"and 0 fields":                 func(parts []form.Part) { parts[1].Fields = nil },
		`no type is "wide"`:            func(parts []form.Part) { parts[3].Fields[0].Type = "wide" },
	} {
		err := load(snapshot.Forge(image, func(parts []form.Part) []form.Part { forge(parts); return parts }))
		require.ErrorIs(t, err, snapshot.ErrAltered, want)
		require.ErrorContains(t, err, want)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	loaded := 0
	for range 2500 / step(5) {
		err := load(snapshot.Forge(image, func(parts []form.Part) []form.Part {
			for range 1 + dice.IntN(3) {
				i := dice.IntN(len(parts))
				p := &parts[i]
				f := &p.Fields[dice.IntN(len(p.Fields))]
				switch dice.IntN(8) {
				case 0:
					p.ByCodec, p.Size = !p.ByCodec, 0
				case 1:
					p.Size = dice.IntN(70)
				case 2:
					p.Offset = dice.IntN(100)
				case 3:
					f.Offset = dice.IntN(100)
				case 4:
					f.Path = []string{"", "B", ".", "A.A", "snapshot_test.mixed.B", "C"}[dice.IntN(6)]
				case 5:
					parts = append(parts[:i:i], parts[i+1:]...)
					return parts
				default:
					f.Type = forgedTypes[dice.IntN(len(forgedTypes))]
				}
			}
			return parts
		}))
		if err == nil {
			loaded++
		}
	}
	require.NotZero(t, loaded)
	for _, text := range forgedTypes {
		_ = load(snapshot.Forge(image, func(parts []form.Part) []form.Part {
			parts[2].Fields[0].Type = text
			return parts
		}))
		_ = load(snapshot.Forge(image, func(parts []form.Part) []form.Part {
			parts[0].Fields = []form.Field{{Path: "A.E", Type: text}}
			return parts
		}))
	}
}

// TestForgedCBOR reads what should be CBOR and is not, on its way to other names.
func TestForgedCBOR(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 3))
	image := saveOf(t, []thing{{"name", 1, 2}, {"other", 3, 4}})
	at := bytes.Index(image, []byte("\x82\xa3")) // two, with three fields each
	require.Positive(t, at)
	refused := 0
	for range 1000 / step(5) {
		forged := bytes.Clone(image)
		for range 1 + dice.IntN(2) {
			forged[at+dice.IntN(40)] = [...]byte{0, 0x5f, 0x7f, 0x9b, 0xbb, 0xc0, 0xdb, 0xff, byte(dice.IntN(256))}[dice.IntN(9)]
		}
		w := world.MustNew(world.Options{Shards: 1, ChunkRowsFirst: 4})
		world.Register[[]thingNow](w, "it")
		if snapshot.Load(bytes.NewReader(snapshot.Repair(forged)), w, snapshot.Options{Changes: []snapshot.Change{
			snapshot.RenamedField("it", "Name", "Label"), snapshot.Dropped("it", "Old"),
		}}) != nil {
			refused++
		}
	}
	require.NotZero(t, refused)
}
