package state_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/state"
)

// Codecs say how what holds more than numbers is written, and read again.
func ExampleCodecs() {
	codecs := new(state.Codecs)
	state.Register(codecs, state.Codec[Title]{
		Append: func(dst []byte, v *Title) []byte { return append(dst, v.Text...) },
		Read:   func(src []byte, v *Title) error { v.Text = string(src); return nil },
	})
	_, err := codecs.Form(reflect.TypeFor[Title](), true)
	fmt.Println(err)
	_, err = codecs.Form(reflect.TypeFor[Bag](), true)
	fmt.Println(err)
	// Output:
	// <nil>
	// state: no codec: state_test.Bag.Items is a slice; register a state.Codec[state_test.Bag]
}

// A Form writes a value whose fields have codecs, or need none.
func ExampleForm() {
	type knight struct {
		Title Title
		Age   uint8
		Wins  uint16
	}
	codecs := new(state.Codecs)
	state.Register(codecs, state.Codec[Title]{
		Append: func(dst []byte, v *Title) []byte { return append(dst, strings.ToUpper(v.Text)...) },
		Read:   func(src []byte, v *Title) error { v.Text = string(src); return nil },
	})
	form, _ := codecs.Form(reflect.TypeFor[knight](), true)
	fmt.Println(form.Shape())
	bytes := form.Append(nil, shard.CellOf(&knight{Title{"Sir"}, 40, 7}))

	var again knight
	rest, err := form.Read(bytes, shard.CellOf(&again))
	fmt.Println(again, len(rest), err)
	// Output:
	// codec(state_test.Title)@0 uint8@16 uint16@18
	// {{SIR} 40 7} 0 <nil>
}
