package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/atoll-sim/atoll/persist/snapshot"
)

// The second snapshot of a chain has what has changed since the first.
func ExampleChain() {
	w, units, _ := exampleWorld()
	_ = units.CreateN(w, 10_000, nil)
	var chain snapshot.Chain
	var first, second bytes.Buffer
	for _, file := range []*bytes.Buffer{&first, &second} {
		captured, _ := snapshot.Capture(w, snapshot.Options{Compression: snapshot.None})
		fmt.Println(chain.Write(file, captured))
		captured.Release()
		_, _ = units.Create(w, exampleUnit{})
		w.Refresh()
	}
	fmt.Println(second.Len() < first.Len()/20)
	// Output:
	// <nil>
	// <nil>
	// true
}

// What a chain makes is loaded as one snapshot, and written as one.
func ExampleMerge() {
	w, units, _ := exampleWorld()
	var chain snapshot.Chain
	var base, increment bytes.Buffer
	for _, file := range []*bytes.Buffer{&base, &increment} {
		_ = units.CreateN(w, 5, nil)
		captured, _ := snapshot.Capture(w, snapshot.Options{})
		_ = chain.Write(file, captured)
		captured.Release()
	}
	_, err := snapshot.Verify(bytes.NewReader(increment.Bytes()))
	fmt.Println(errors.Is(err, snapshot.ErrBase))
	again, _, _ := exampleWorld()
	fmt.Println(snapshot.Load(snapshot.Merge(&base, &increment), again, snapshot.Options{}), again.Count())
	// Output:
	// true
	// <nil> 10
}

// Between two whole files are increments; the newest is loaded with what it is based on.
func ExampleDir_Open() {
	path, _ := os.MkdirTemp("", "atoll")
	defer func() { _ = os.RemoveAll(path) }()
	dir := snapshot.Dir{Path: path, Increments: 5}

	w, units, _ := exampleWorld()
	var last string
	for range 3 {
		_ = units.CreateN(w, 5, nil)
		last, _ = dir.Save(w, snapshot.Options{})
	}
	file, err := dir.Open(last)
	info, _ := snapshot.Inspect(file)
	fmt.Println(info.Entities, err, file.Close())
	// Output: 15 <nil> <nil>
}
