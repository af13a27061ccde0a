package text_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/world"
)

type (
	exampleHealth struct{ Points int64 }
	exampleBag    struct{ Items []string }
	exampleUnit   struct {
		exampleHealth
		exampleBag
	}
)

// exampleWorld makes a world as a program does each time it starts.
func exampleWorld() (*world.World, *world.Bundle[exampleUnit]) {
	w := world.MustNew(world.Options{})
	world.Register[exampleHealth](w, "health")
	world.Register[exampleBag](w, "bag")
	return w, world.NewBundle[exampleUnit](w)
}

// exampleSaved returns a snapshot of a world with one entity.
func exampleSaved(points int64) []byte {
	w, units := exampleWorld()
	_, _ = units.Create(w, exampleUnit{exampleHealth{points}, exampleBag{}})
	var file bytes.Buffer
	_ = snapshot.Write(&file, w, snapshot.Options{})
	return file.Bytes()
}

// The text has an object in each line; that of an entity has its components.
func ExampleExport() {
	w, units := exampleWorld()
	_, _ = units.Create(w, exampleUnit{exampleHealth{7}, exampleBag{[]string{"rope"}}})
	var file, lines bytes.Buffer
	_ = snapshot.Write(&file, w, snapshot.Options{})
	info, err := text.Export(&file, &lines, snapshot.Options{})
	fmt.Println(info.Entities, err)
	for line := range strings.Lines(lines.String()) {
		if strings.HasPrefix(line, `{"entity":`) {
			fmt.Print(line)
		}
	}
	// Output:
	// 1 <nil>
	// {"entity":"0:0@1","components":{"health":{"Points":7},"bag":{"Items":["rope"]}}}
}

// What was changed in the text is in the snapshot, and what does not fit is refused.
func ExampleImport() {
	w, units := exampleWorld()
	h, _ := units.Create(w, exampleUnit{exampleHealth{7}, exampleBag{}})
	var file, lines, again bytes.Buffer
	_ = snapshot.Write(&file, w, snapshot.Options{})
	_, _ = text.Export(&file, &lines, snapshot.Options{})

	better := strings.Replace(lines.String(), `"Points":7`, `"Points":9`, 1)
	_, err := text.Import(strings.NewReader(better), &again, snapshot.Options{})
	next, _ := exampleWorld()
	fmt.Println(err, snapshot.Load(&again, next, snapshot.Options{}), world.Read[exampleHealth](next).Get(h).Points)

	worse := strings.Replace(lines.String(), `"Points":7`, `"Points":"many"`, 1)
	_, err = text.Import(strings.NewReader(worse), io.Discard, snapshot.Options{})
	fmt.Println(err)
	// Output:
	// <nil> <nil> 9
	// snapshot: altered: line 6: entity 0:0@1: health.Points: "many" is no whole number of type int64
}

// What differs between two snapshots is told with values.
func ExampleCompare() {
	old, now := exampleSaved(7), exampleSaved(8)
	x, _ := text.Compare(bytes.NewReader(old), bytes.NewReader(now), 0)
	for _, d := range x.Differences[1:] { // the first is the hash
		fmt.Println(d)
	}
	// Output: entity "0:0@1", field health.Points (7 → 8): changed
}

// Two saves of one state do not differ.
func ExampleComparison() {
	file := exampleSaved(7)
	x, _ := text.Compare(bytes.NewReader(file), bytes.NewReader(file), 0)
	fmt.Println(x.Equal())
	// Output: true
}
