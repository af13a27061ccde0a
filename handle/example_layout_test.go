//go:build !atollwide

package handle_test

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// Examples whose output shows the limits of the layout.

func ExampleNew() {
	fmt.Println(handle.New(0, 0, 1))
	fmt.Println(handle.New(handle.HomeMax, handle.IndexMax, handle.VersionMax))

	defer func() { fmt.Println(recover()) }()
	handle.New(handle.HomeMax+1, 0, 1)
	// Output:
	// 0:0@1
	// 4095:16777215@268435455
	// handle: home 4096 is out of range: the largest is HomeMax, 4095
}

func ExampleParse() {
	h, err := handle.Parse("3:1047@5")
	fmt.Println(h, h.Index(), err)

	_, err = handle.Parse("3:01047@5")
	fmt.Println(errors.Is(err, handle.ErrSyntax), err)

	_, err = handle.Parse("4096:1047@5")
	fmt.Println(errors.Is(err, handle.ErrRange), err)
	// Output:
	// 3:1047@5 1047 <nil>
	// true handle: bad syntax: "3:01047@5", byte 2: the index has a leading zero
	// true handle: out of range: "4096:1047@5", byte 0: the home is above its limit, 4095
}

func ExampleHandle_MarshalBinary() {
	data, err := handle.New(3, 1047, 5).MarshalBinary()
	fmt.Printf("%x %v\n", data, err)
	// Output: 0030004170000005 <nil>
}
