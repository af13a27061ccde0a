package handle_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

func Example() {
	h := handle.New(3, 1047, 5)
	fmt.Println(h)
	fmt.Println("home", h.Home(), "index", h.Index(), "version", h.Version())

	// A handle is a plain value: compare it, use it as a key, keep it.
	seen := map[handle.Handle]string{h: "a creature"}
	fmt.Println(seen[handle.New(3, 1047, 5)])

	// The next entity in the same slot is another one.
	fmt.Println(h == handle.New(3, 1047, 6))
	// Output:
	// 3:1047@5
	// home 3 index 1047 version 5
	// a creature
	// false
}

func ExampleHandle_IsNone() {
	var target handle.Handle
	fmt.Println(target, target.IsNone())
	// Output: none true
}

func ExampleHandle_Compare() {
	hs := []handle.Handle{handle.New(1, 0, 1), handle.New(0, 7, 2), handle.New(0, 7, 1), handle.None}
	slices.SortFunc(hs, handle.Handle.Compare)
	fmt.Println(hs)
	// Output: [none 0:7@1 0:7@2 1:0@1]
}

func ExampleHandle_AppendText() {
	line := []byte("attack target=")
	line, err := handle.New(3, 1047, 5).AppendText(line)
	fmt.Println(string(line), err)
	// Output: attack target=3:1047@5 <nil>
}

func ExampleHandle_MarshalJSON() {
	data, err := json.Marshal(map[string]handle.Handle{
		"from":   handle.New(3, 1047, 5),
		"target": handle.None,
	})
	fmt.Println(string(data), err)
	// Output: {"from":"3:1047@5","target":"none"} <nil>
}

func ExampleHandle_UnmarshalJSON() {
	var h handle.Handle
	err := json.Unmarshal([]byte(`"3:1047@5"`), &h)
	fmt.Println(h, err)

	err = json.Unmarshal([]byte(`844424930131973`), &h)
	fmt.Println(err)
	// Output:
	// 3:1047@5 <nil>
	// handle: bad syntax: want a JSON string such as "\"3:1047@5\"", found "844424930131973", a number
}
