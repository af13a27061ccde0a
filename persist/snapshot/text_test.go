package snapshot_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/world"
)

// The tests of package text that need the worlds of this package's tests are here, and in
// text_edit_test.go and compare_test.go.

// asText returns the text of a snapshot, of which the same bytes are made again. All snapshots that
// the worlds of the tests save come by here.
func asText(t testing.TB, image []byte) string {
	t.Helper()
	var text bytes.Buffer
	info, err := snaptext.Export(bytes.NewReader(image), &text, snapshot.Options{})
	require.NoError(t, err)
	again, is := ofText(t, text.String())
	require.Equal(t, info, is)
	if !bytes.Equal(image, again) {
		require.Equal(t, image, again)
	}
	return text.String()
}

// ofText makes a snapshot of text.
func ofText(t testing.TB, text string) ([]byte, snapshot.Info) {
	t.Helper()
	var image bytes.Buffer
	info, err := snaptext.Import(strings.NewReader(text), &image, snapshot.Options{Workers: 2})
	require.NoError(t, err)
	return image.Bytes(), info
}

// entityLines returns the lines of a text that have an entity.
func entityLines(text string) (all []string) {
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, `{"entity":`) {
			all = append(all, line)
		}
	}
	return all
}

// TestTextDiffers compares the texts of two states: of entities nothing differs that has not
// changed, wherever it is.
func TestTextDiffers(t *testing.T) {
	x := newSea(t, options(), 1)
	for _, h := range x.hooks {
		h.SetEnabled(false)
	}
	var all []handle.Handle
	for i := range 300 {
		h, err := x.plain.Create(x.World, Plain{Body: Body{Small: uint8(i)}})
		require.NoError(t, err)
		all = append(all, h)
	}
	x.Refresh()
	was := entityLines(asText(t, x.save()))
	require.Len(t, was, 300)
	for i, h := range all {
		switch {
		case i%3 == 0: // so that others move
			x.Destroy(h)
		case i%7 == 0:
			require.NoError(t, world.Move(x.World, h, i%3))
		}
	}
	require.NoError(t, world.AddFlags(x.World, all[1], 5))
	world.Write[Body](x.World).Get(all[2]).Sum = 1 << 53
	x.Refresh()
	is := entityLines(asText(t, x.save()))
	require.Len(t, is, 200)
	known, changed := map[string]bool{}, []string(nil)
	for _, line := range was {
		known[line] = true
	}
	for _, line := range is {
		if !known[line] {
			changed = append(changed, line)
		}
	}
	require.ElementsMatch(t, []string{
		fmt.Sprintf(`{"entity":"%v","flags":[0,2],"components":{"body":{"Small":1,"Sum":0,"Loud":[false,false,false],"Target":"none"},"extra":{"N":0}}}`, all[1]),
		fmt.Sprintf(`{"entity":"%v","components":{"body":{"Small":2,"Sum":9007199254740992,"Loud":[false,false,false],"Target":"none"},"extra":{"N":0}}}`, all[2]),
	}, changed)
}

// TestTextEdited loads a snapshot that was made of a text in which somebody has changed something.
func TestTextEdited(t *testing.T) {
	x := newSea(t, options(), 1)
	n := int64(3)
	h, err := x.unit.Create(x.World, Unit{Body{Small: 1}, Label{Text: "a", Code: Code{&n}, Items: []Item{{"i", -300}}, Bag: map[string]int32{"k": 70000}}})
	require.NoError(t, err)
	require.NoError(t, x.names.Bind(x.World, h, "Ada"))
	x.Refresh()
	require.NoError(t, x.note.Send(x.World, h, Note{"hello"}))
	text := asText(t, x.save())
	for was, is := range map[string]string{
		`"Small":1,`: `"Small":200,`, `"Target":"none"`: fmt.Sprintf(`"Target":%q`, h), `"Text":"a"`: `"Text":"a longer one"`, `"Code":"3"`: `"Code":"44"`,
		`[{"N":-300,"Name":"i"}]`: `[{"Name":"j","N":1}, {"N":2}]`, `{"k":70000}`: `{"k":1, "a": 2}`, `"Next":null`: `"Next":{"Name":"next","N":9}`,
		`"Title":"first"`: `"Title":"second"`, `{"name":"Ada"`: `{"name":"Grace"`, `"value":{"Text":"hello"}`: `"value":{"Text":"bye"}`,
		`","components":{"body"`: `","flags":[7],"components":{"body"`, `"compression":"none"`: `"compression":"s2"`, "\n": "\r\n",
	} {
		require.Contains(t, text, was)
		text = strings.ReplaceAll(text, was, is)
	}
	image, info := ofText(t, text)
	require.Zero(t, info.Hash)
	_, err = snapshot.Verify(bytes.NewReader(image))
	require.NoError(t, err)
	y := newSea(t, options(), 1)
	y.load(image)
	require.Equal(t, Body{Small: 200, Target: h}, *world.Read[Body](y.World).Get(h))
	n = 44
	require.Equal(t, Label{"a longer one", Code{&n}, []Item{{"j", 1}, {"", 2}}, map[string]int32{"k": 1, "a": 2}, &Item{"next", 9}}, *world.Read[Label](y.World).Get(h))
	require.Equal(t, "second", y.rules.Get().Title)
	require.Equal(t, world.Flags(1<<7), world.FlagsOf(y.World, h))
	who, ok := y.names.Lookup("Grace")
	require.True(t, ok)
	require.Equal(t, h, who)
	y.step()
	require.Contains(t, fmt.Sprint(y.saw), "bye")
}

// TestTextKeepsHash makes a snapshot of a text in which the compression alone is another.
func TestTextKeepsHash(t *testing.T) {
	x := newPond().live()
	zstd, none := x.save(t, snapshot.Zstd), x.save(t, snapshot.None)
	text := asText(t, zstd)
	image, _ := ofText(t, strings.Replace(text, `"zstd"`, `"none"`, 1))
	require.Equal(t, none, image)
	image, _ = ofText(t, strings.ReplaceAll(text, "\n", "\r\n\n"))
	require.Equal(t, zstd, image)
}

// TestTextRefused makes snapshots of texts that are none: the error says where and what, and
// nothing is written.
func TestTextRefused(t *testing.T) {
	x := newSea(t, options(), 1)
	h, err := x.unit.Create(x.World, Unit{Body{Small: 1}, Label{Text: "a", Items: []Item{{"i", -300}}, Bag: map[string]int32{"k": 70000}}})
	require.NoError(t, err)
	require.Equal(t, "0:0@1", h.String())
	x.Refresh()
	require.NoError(t, x.names.Bind(x.World, h, "Ada"))
	text := asText(t, x.save())
	at := strings.Count(text[:strings.Index(text, `{"entity"`)], "\n") + 1
	inLine := func(text string, args ...any) string {
		return fmt.Sprintf("line %d: entity 0:0@1: ", at) + fmt.Sprintf(text, args...)
	}
	refuse := func(text string, is error, want string) {
		t.Helper()
		var dst bytes.Buffer
		_, err := snaptext.Import(strings.NewReader(text), &dst, snapshot.Options{})
		require.ErrorIs(t, err, is, want)
		require.ErrorContains(t, err, want)
		require.Empty(t, dst.Bytes())
	}
	entity := entityLines(text)[0]
	kin := text[strings.Index(text, `{"registered":"extension"`):]
	kin = kin[:strings.Index(kin, "\n")]
	ada := `{"name":"Ada","of":"names","entity":"0:0@1"}`
	for _, c := range []struct{ was, is, want string }{
		{`"Small":1,`, `"Small":256,`, inLine("body.Small: 256 does not fit in uint8")},
		{`"Small":1,`, `"Small":1.5,`, inLine("body.Small: 1.5 is no whole number of type uint8")},
		{`"Small":1,`, `"Small":null,`, inLine("body.Small: null is no number")},
		{`"Small":1,`, ``, inLine("body.Small: it is missing")},
		{`"Small":1,`, `"Small":1,"Large":2,`, inLine(`body.Large: there is no such field; there are ["Small" "Sum" "Loud" "Target"]`)},
		{`"Loud":[false,`, `"Loud":[`, inLine("body.Loud: it has 2 elements, want 3")},
		{`"Loud":[false,`, `"Loud":[0,`, inLine("body.Loud[0]: 0 is no bool: write true or false")},
		{`"Target":"none"`, `"Target":"nobody"`, inLine(`body.Target: "nobody" is no handle, as in 3:1047@5 or none`)},
		{`"Target":"none"`, `"Target":"1:2@0"`, inLine(`body.Target: handle:`)},
		{`"Text":"a"`, `"Text":7`, inLine(`label.Text: 7 is no text, or {"base64":"…"}`)},
		{`"Text":"a"`, `"Text":{"base64":"?"}`, inLine(`label.Text: it is no base64`)},
		{`"N":-300`, `"N":-40000`, inLine("label.Items[0].N: -40000 does not fit in int16")},
		{`"N":-300`, `"M":-300`, inLine(`label.Items[0].M: there is no such field; there are ["Name" "N"]`)},
		{`{"k":70000}`, `{"k":"x"}`, inLine(`label.Bag.k: "x" is no whole number of type int32`)},
		{`{"k":70000}`, `[]`, inLine(`label.Bag: [] is no object`)},
		{`{"k":70000}`, `{"cbor":"oA"}`, inLine(`label.Bag: it is no base64`)},
		{`{"k":70000}`, `{"cbor":"/w=="}`, inLine(`label.Bag: what should be CBOR is not`)},
		{`"components":{"body"`, `"flags":[8],"components":{"body"`, inLine("flags: there is no flag 8; there are 0 to 7")},
		{`"components":{"body"`, `"components":{"hull"`, inLine(`there is no component "hull"`)},
		{`"components":{"body"`, `"tags":[],"components":{"body"`, fmt.Sprintf(`line %d: json: unknown field "tags"`, at)},
		{`"label":{"Text"`, `"extra":{"N":1},"label":{"Text"`, "components cannot be added or removed in a text; load the snapshot, and do it there"},
		{entity + "\n", "", "there is no line of an entity 0:0@1 before"},
		{entity, strings.Replace(entity, "0:0@1", "0:1@1", 1) + "\n" + entity, fmt.Sprintf("entity 0:1@1 (line %d): it has no row: entities cannot be added", at)},
		{entity, entity + "\n" + entity, "it has a line already, line " + fmt.Sprint(at)},
		{entity, entity + "x", "there is more text after the object"},
		{entity, entity[:40], fmt.Sprintf("line %d: unexpected EOF", at)},
		{entity, `["entity"]`, "the first name in a line says what it is"},
		{`{"entity"`, `{"creature"`, "the first name in a line says what it is"},
		{`{"table":0,`, `{"table":7,`, "it is 7, and 0 came before"},
		{`"are":["0:0@1"]`, `"are":[]`, "chunk 0 of table 0 of shard 0 has 0 entities, want 1 rows"},
		{`"sections":[1]`, `"sections":[0]`, "sections: 1 chunks are in none"},
		{`"sections":[1]`, `"sections":[2]`, "more chunks than there are"},
		{`"Seed":5`, `"Seed":-5`, "Seed: -5"},
		{`"Seed":5,`, ``, "Seed: it is missing"},
		{`"Shards":3`, `"Shards":0`, "Shards: 0 is no number of shards"},
		{`"Shards":3`, `"Shards":2`, "shard: it is 2, and 2 lines of shards came before, of 2"},
		{`"hash":"`, `"hash":"x`, "has no 16 hexadecimal digits"},
		{`{"resource":"rules"`, `{"resource":"laws"`, `there is no resource "laws"`},
		{`{"bytes":"extra"`, `{"bytes":"and"`, "there are extension, scheduler and extra"},
		{`{"name":"Ada","of":"names"`, `{"name":"Ada","of":"kin"`, `there is no line of names "kin" before`},
		{`{"name":"Ada"`, `{"name":5`, `name: 5 is no text`},
		{kin, kin + "\n" + kin, "there are two of extension"},
		{ada, ada + "\n" + ada, `name: "Ada" is that of entity 0:0@1 too`},
		{ada, ada + "\n" + strings.Replace(ada, "Ada", "Eve", 1), "entity: 0:0@1 has two names"},
		{ada, strings.Replace(ada, "0:0@1", "1:9@1", 1), "there is no line of an entity 1:9@1 before"},
	} {
		require.Contains(t, text, c.was)
		refuse(strings.Replace(text, c.was, c.is, 1), snapshot.ErrAltered, c.want)
	}
	refuse(strings.NewReplacer(entity+"\n", "", ada+"\n", "").Replace(text), snapshot.ErrAltered, "entity 0:0@1 has a row in table 0 of shard 0, and no line: entities cannot be removed")
	refuse("", snapshot.ErrTruncated, "the text ends at line 1")
	refuse("hello\n", snapshot.ErrNoSnapshot, "line 1")
	refuse(string(x.save()), snapshot.ErrNoSnapshot, "line 1")
	refuse(strings.Replace(text, `"text":1`, `"text":2`, 1), snapshot.ErrVersion, "text 2 of snapshot 3, want 1 and 3")
	refuse(strings.Replace(text, fmt.Sprintf(`"bits of an int":%d`, strconv.IntSize), `"bits of an int":16`, 1), snapshot.ErrOtherWorld, "it was saved with 16")
	require.Contains(t, text, `"compression":"none"`)
	refuse(strings.Replace(text, `"compression":"none"`, `"compression":"rar"`, 1), snapshot.ErrAltered, `there is no "rar"; there are zstd, s2 and none`)
	for i := 0; i < len(text)-1; i += step(7) * 3 {
		var dst bytes.Buffer
		_, err := snaptext.Import(strings.NewReader(text[:i]), &dst, snapshot.Options{})
		require.Error(t, err)
		require.Empty(t, dst.Bytes())
	}
	_, err = snaptext.Import(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text))), new(bytes.Buffer), snapshot.Options{})
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

// TestTextBytesMax bounds what a text, or a snapshot, makes of memory.
func TestTextBytesMax(t *testing.T) {
	x := newPond().live()
	image := x.save(t, snapshot.Zstd)
	text := asText(t, image)
	for _, most := range []int64{1, 1000, 20_000} {
		var dst bytes.Buffer
		_, err := snaptext.Import(strings.NewReader(text), &dst, snapshot.Options{BytesMax: most})
		require.ErrorIs(t, err, snapshot.ErrTooLarge)
		require.ErrorContains(t, err, fmt.Sprintf("BytesMax = %d", most))
		require.Empty(t, dst.Bytes())
	}
	_, err := snaptext.Import(strings.NewReader(text), new(bytes.Buffer), snapshot.Options{BytesMax: 1 << 20})
	require.NoError(t, err)
	_, err = snaptext.Export(bytes.NewReader(image), new(bytes.Buffer), snapshot.Options{BytesMax: 500})
	require.ErrorIs(t, err, snapshot.ErrTooLarge)
	_, err = snaptext.Export(bytes.NewReader(image), new(bytes.Buffer), snapshot.Options{BytesMax: 1 << 20})
	require.NoError(t, err)
	for at := range image {
		_, err := snaptext.Export(bytes.NewReader(image[:at]), new(bytes.Buffer), snapshot.Options{})
		require.Error(t, err)
	}
}

// tryText makes a snapshot of text, if it is one, and text of that.
func tryText(t testing.TB, text []byte) bool {
	var image, again bytes.Buffer
	o := snapshot.Options{BytesMax: 1 << 22, Workers: 1}
	if _, err := snaptext.Import(bytes.NewReader(text), &image, o); err != nil {
		require.Empty(t, image.Bytes())
		return false
	}
	_, err := snapshot.Verify(bytes.NewReader(image.Bytes()))
	require.NoError(t, err)
	try(t, image.Bytes())
	if _, err := snaptext.Export(bytes.NewReader(image.Bytes()), &again, o); err == nil {
		made := bytes.Clone(image.Bytes())
		image.Reset()
		_, err := snaptext.Import(&again, &image, snapshot.Options{Workers: 1})
		require.NoError(t, err)
		require.Equal(t, made, image.Bytes())
	}
	return true
}

// TestTextAltered changes letters of texts: what is made of them is refused, or a snapshot.
func TestTextAltered(t *testing.T) {
	dice := rand.New(rand.NewPCG(7, 7))
	text := []byte(asText(t, newPond().live().save(t, snapshot.None)))
	made := 0
	for range 4000 / step(4) {
		changed := bytes.Clone(text)
		for range 1 + dice.IntN(3) {
			changed[dice.IntN(len(changed))] = "0123456789\"{}[],:-eNx\n"[dice.IntN(22)]
		}
		if tryText(t, changed) {
			made++
		}
	}
	require.NotZero(t, made)
}

// FuzzImport makes snapshots of any text.
func FuzzImport(f *testing.F) {
	text := asText(f, newPond().live().save(f, snapshot.None))
	f.Add([]byte(text))
	for _, line := range strings.SplitAfter(text, "\n") {
		f.Add([]byte(strings.Replace(text, line, "", 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) { tryText(t, text) })
}
