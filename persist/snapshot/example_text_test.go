package snapshot_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// The text has an object in each line; that of an entity has its components.
func ExampleExport() {
	w, units, _ := exampleWorld()
	_, _ = units.Create(w, exampleUnit{exampleHealth{7}, exampleBag{[]string{"rope"}}})
	var file, text bytes.Buffer
	_ = snapshot.Save(&file, w, snapshot.Options{})
	info, err := snapshot.Export(&file, &text, snapshot.Options{})
	fmt.Println(info.Entities, err)
	for line := range strings.Lines(text.String()) {
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
	w, units, _ := exampleWorld()
	h, _ := units.Create(w, exampleUnit{exampleHealth{7}, exampleBag{}})
	var file, text, again bytes.Buffer
	_ = snapshot.Save(&file, w, snapshot.Options{})
	_, _ = snapshot.Export(&file, &text, snapshot.Options{})

	better := strings.Replace(text.String(), `"Points":7`, `"Points":9`, 1)
	_, err := snapshot.Import(strings.NewReader(better), &again, snapshot.Options{})
	next, _, _ := exampleWorld()
	fmt.Println(err, snapshot.Load(&again, next, snapshot.Options{}), world.Read[exampleHealth](next).Get(h).Points)

	worse := strings.Replace(text.String(), `"Points":7`, `"Points":"many"`, 1)
	_, err = snapshot.Import(strings.NewReader(worse), io.Discard, snapshot.Options{})
	fmt.Println(err)
	// Output:
	// <nil> <nil> 9
	// snapshot: altered: line 6: entity 0:0@1: health.Points: "many" is no whole number of type int64
}
