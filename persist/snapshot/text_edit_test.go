package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/world"
)

// program is one whose snapshots are edited: it makes new worlds, all alike.
type program struct {
	text string
	new  func() (*world.World, snapshot.Options, func() error) // with what uses the world and looks at it
}

// Stamp has what a text can name wrongly.
type Stamp struct {
	At   time.Time
	By   map[int8]time.Duration
	Who  []handle.Handle
	Also *time.Time
}

// seaProgram has something of everything, and requests, messages and marks under way.
func seaProgram(t *testing.T, seed uint64) *program {
	dice := rand.New(rand.NewPCG(seed, 2))
	x := newSea(t, options(), 2)
	x.openPorts()
	for range 3 {
		x.send(dice, 40)
		x.meddle(dice, 20)
		x.step()
	}
	x.send(dice, 20)
	x.closePorts()
	x.meddle(dice, 30)
	return &program{text: asText(t, x.save()), new: func() (*world.World, snapshot.Options, func() error) {
		y := newSea(t, options(), 2)
		return y.World, y.options, func() error {
			for range 2 {
				if err := y.scheduler.Step(context.Background()); err != nil && !errors.Is(err, errFragile) {
					return err
				}
			}
			for _, r := range []*hierarchy.Relation{y.kin, y.refs} {
				if err := r.Load(r.Save(nil)); err != nil {
					return err
				}
			}
			return namesAgree(y.World, y.names)
		}
	}}
}

func namesAgree[K names.Name](w *world.World, all *names.Names[K]) error {
	n := 0
	for h, name := range all.All() {
		n++
		if back, ok := all.Lookup(name); !ok || back != h || !w.Alive(h) {
			return fmt.Errorf("%v is called %v, which is the name of %v", h, name, back)
		}
	}
	if n != all.Len() {
		return fmt.Errorf("there are %d names, and Len is %d", n, all.Len())
	}
	return nil
}

// stampProgram has times, short names, few indexes and a second incarnation.
func stampProgram(t *testing.T, seed uint64) *program {
	make := func() (*world.World, *world.Component[Stamp], *names.Names[string]) {
		w := world.MustNew(world.Options{Shards: 2, IndexMax: 30, VersionsEach: 4, VersionMax: 20, ChunkRowsFirst: 2, ChunkRowsMax: 4})
		c := world.Register[Stamp](w, "stamp")
		world.Register[serial](w, "serial")
		return w, c, names.New[string](w, "titles", names.Options{LengthMax: 5})
	}
	w, stamps, titles := make()
	dice := rand.New(rand.NewPCG(seed, 3))
	var all []handle.Handle
	for n := range uint32(2) {
		require.NoError(t, w.Reincarnate(n+1))
		for i := range 12 {
			h := create(w, serial{uint64(i)})
			all = append(all, h)
			at := time.Unix(int64(dice.IntN(1e9)), 5).UTC()
			require.NoError(t, stamps.Add(w, h, Stamp{At: at, By: map[int8]time.Duration{3: time.Second}, Who: all[:i%3], Also: &at}))
			_ = titles.Bind(w, h, fmt.Sprint("t", i))
		}
		for range 6 {
			w.Destroy(all[dice.IntN(len(all))])
		}
		w.Refresh()
	}
	var b bytes.Buffer
	require.NoError(t, snapshot.Write(&b, w, snapshot.Options{}))
	return &program{text: asText(t, b.Bytes()), new: func() (*world.World, snapshot.Options, func() error) {
		w, _, titles := make()
		return w, snapshot.Options{}, func() error { return namesAgree(w, titles) }
	}}
}

var (
	numberInText = regexp.MustCompile(`\d+`)
	stringInText = regexp.MustCompile(`"[^"]*"`)
)

// edit changes one line of a text, any kind of lines as often as any other: it takes it out,
// doubles, swaps or empties it, or changes a number or a text in it.
func edit(dice *rand.Rand, text string) (edited, change string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	kinds := map[string][]int{}
	var order []string
	for i, l := range lines {
		kind := strings.Trim(strings.SplitN(l, ":", 2)[0], `{"`)
		if kind == "words" || kind == "handles" || kind == "registered" || kind == "bytes" {
			kind = strings.SplitN(l, ",", 2)[0]
		}
		if kinds[kind] == nil {
			order = append(order, kind)
		}
		kinds[kind] = append(kinds[kind], i)
	}
	of := kinds[order[dice.IntN(len(order))]]
	at := of[dice.IntN(len(of))]
	was := lines[at]
	exchange := func(what *regexp.Regexp, by ...string) {
		if all := what.FindAllStringIndex(was, -1); len(all) > 0 {
			one := all[dice.IntN(len(all))]
			lines[at] = was[:one[0]] + by[dice.IntN(len(by))] + was[one[1]:]
		}
	}
	switch dice.IntN(9) {
	case 0:
		lines[at] = ""
	case 1:
		lines[at] = was + "\n" + was
	case 2:
		other := of[dice.IntN(len(of))]
		lines[at], lines[other] = lines[other], was
	case 3:
		lines[at] = was[:strings.Index(was, ":")+1] + `{}}`
	case 4, 5, 6:
		exchange(numberInText, "0", "1", "2", "3", "7", "64", "-1", "255", "4096", "65536", "4294967295", "9007199254740993", "18446744073709551615", fmt.Sprint(dice.IntN(100)))
	default:
		some := lines[dice.IntN(len(lines))]
		exchange(stringInText, `""`, `"none"`, `"0:1@1"`, `"1:2@3"`, `"name that is longer than others"`, `"2020-01-01"`, `"-5"`, `null`, `[]`, stringInText.FindString(some))
	}
	return strings.Join(lines, "\n") + "\n", was + "\nin line " + fmt.Sprint(at+1) + " has become\n" + lines[at]
}

// ofWorld are the lines that only the world that loads can judge: what is registered there, its
// options and limits, and bytes that others have saved.
var ofWorld = []string{`{"registered"`, `{"options"`, `{"bytes"`, `{"names"`}

// TestTextEditedAnywhere changes a line of a text: what Import takes Load takes, too, and the world
// can be used.
func TestTextEditedAnywhere(t *testing.T) {
	seed := seed.Of(t)
	dice := rand.New(rand.NewPCG(seed, 1))
	for _, p := range []*program{seaProgram(t, seed), stampProgram(t, seed)} {
		made := 0
		for range 100 * *seeds / step(4) {
			text, line := edit(dice, p.text)
			var image bytes.Buffer
			if _, err := snaptext.Import(strings.NewReader(text), &image, snapshot.Options{Workers: 1}); err != nil {
				require.Empty(t, image.Bytes())
				continue
			}
			w, o, use := p.new()
			err := snapshot.Load(&image, w, o)
			if err == nil {
				require.NoError(t, use(), line)
				made++
				continue
			}
			if strings.Contains(line, `"Code"`) && !errors.Is(err, slots.ErrImage) {
				continue // its codec alone can read it
			}
			require.True(t, slices.ContainsFunc(ofWorld, func(kind string) bool { return strings.HasPrefix(line, kind) }), "%v\n%s", err, line)
			require.NoError(t, w.Err(), "%v\n%s", err, line)
		}
		require.NotZero(t, made)
	}
}

// TestTextOfNoWorld refuses texts of which no world could load the snapshot, with the line.
func TestTextOfNoWorld(t *testing.T) {
	text := stampProgram(t, 1).text
	find := func(begin string) (line string, at int) {
		from := strings.Index(text, begin)
		require.NotEqual(t, -1, from, begin)
		return text[from : from+strings.Index(text[from:], "\n")+1], strings.Count(text[:from], "\n") + 1
	}
	free, _ := find(`{"words":"free","shard":0`)
	tick, _ := find(`{"tick"`)
	is, state := find(`{"state"`)
	_, shard := find(`{"shard":0`)
	_, chunk := find(`{"chunk":0,"table":0,"shard":0`)
	first, entity := find(`{"entity"`)
	first = first[len(`{"entity":"`) : strings.Index(first, ",")-1]
	_, options := find(`{"options"`)
	_, limits := find(`{"names"`)
	for _, c := range []struct{ was, is, want string }{
		{free, "", fmt.Sprintf("the lines of shard 0, from line %d on: world: impossible state: home 0 has", shard)},
		{`{"words":"slots","shard":0,"from":0,"are":[`, `{"words":"slots","shard":0,"from":0,"are":[4026531840,`, fmt.Sprintf("shard 0, from line %d on: ", shard)},
		{`"room":2,"rows"`, `"room":3,"rows"`, fmt.Sprintf("line %d: room: 3 is no power of two up to 4096", chunk)},
		{`"room":2,"rows"`, `"room":8192,"rows"`, fmt.Sprintf("line %d: room: 8192 is no power of two", chunk)},
		{`"current":`, `"current":7`, fmt.Sprintf("shard 0, from line %d on: world: impossible state: chunk 7", shard)},
		{tick, "", "the line of the tick is missing"},
		{tick, tick + tick, "it is there twice, first in line 2"},
		{`"entities":`, `"entities":1`, "line 2: entities: it is 1"},
		{is, "", "the line of the state of the world is missing"},
		{is, is + is, fmt.Sprintf("line %d: it is there twice, first in line %d", state+1, state)},
		{`"incarnation":2`, `"incarnation":99`, fmt.Sprintf("the lines of the world, from line %d on: world: impossible state: world: out of versions", state)},
		{`"incarnation":2,"shard":0`, `"incarnation":2,"shard":2`, "the next entities are for shard 2"},
		{`"hooks":[]`, `"hooks":[[true,true]]`, fmt.Sprintf("line %d: hooks: there are 1, and 0 are registered", state)},
		{`"IndexMax":30`, `"IndexMax":10`, "with IndexMax = 10"},
		{`"VersionMax":20`, `"VersionMax":0`, fmt.Sprintf("line %d: options: one is 0", options)},
		{`"PortsMax":16384`, `"PortsMax":99999999`, fmt.Sprintf("line %d: options: world: PortsMax is 99999999", options)},
		{`"lengthMax":5`, `"lengthMax":0`, fmt.Sprintf("line %d: lengthMax: 0 is no limit of names", limits)},
		{`"At":"`, `"At":"x`, fmt.Sprintf("line %d: entity %s: stamp.At: \"x", entity, first)},
		{`"At":"`, `"At":"x`, "is no time, as in 2006-01-02T15:04:05Z"},
		{`"Also":"`, `"Also":"-`, fmt.Sprintf("line %d: entity %s: stamp.Also: \"-", entity, first)},
	} {
		require.Contains(t, text, c.was)
		var dst bytes.Buffer
		_, err := snaptext.Import(strings.NewReader(strings.Replace(text, c.was, c.is, 1)), &dst, snapshot.Options{})
		require.ErrorIs(t, err, snapshot.ErrAltered, c.want)
		require.ErrorContains(t, err, c.want)
		require.Empty(t, dst.Bytes())
	}
}

// TestTextOfAnotherKind refuses a request whose number is of other requests than its name.
func TestTextOfAnotherKind(t *testing.T) {
	p := seaProgram(t, 1)
	line := regexp.MustCompile(`(?m)^\{"request":"message [^\n]*?"kind":\d+`).FindString(p.text)
	require.NotEmpty(t, line)
	altered := line[:strings.LastIndex(line, ":")+1] + "0"
	var image bytes.Buffer
	_, err := snaptext.Import(strings.NewReader(strings.Replace(p.text, line, altered, 1)), &image, snapshot.Options{})
	require.ErrorIs(t, err, snapshot.ErrAltered)
	require.ErrorContains(t, err, "kind: 0 is move, and the request is message ")
	require.Empty(t, image.Bytes())
}
