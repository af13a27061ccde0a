package interest

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// ColumnsMax is how many columns Clients can have, at most.
const ColumnsMax = 32

// Column is a component that packets have. See Encode.
type Column struct{ of column }

// Encode makes a component a column. encode appends a value to dst, in the form that clients read,
// and returns the extended slice. An Update calls it once for each entity that is seen, on several
// goroutines at once, with a value of a frame, which it must not change or keep. Equal bytes count
// as unchanged, so round what clients need not know exactly.
func Encode[C any](encode func(dst []byte, v *C) []byte) Column {
	if encode == nil {
		panic(fmt.Sprintf("interest: Encode of %v with a nil function; pass one that appends a value", reflect.TypeFor[C]()))
	}
	return Column{columnOf[C](encode)}
}

// column is a columnOf without its type.
type column interface {
	component() reflect.Type
	// touch reads from rows ahead of append, so that append waits less. See store.Touch.
	touch(v store.View, rows []slots.Loc) uint64
	// append appends the values of rows to dst, and notes in ends where each value ends. For a row
	// without the component it notes the end of the value before, and that the value is absent.
	append(dst []byte, v store.View, rows []slots.Loc, ends []end) []byte
}

// end is where a value ends.
type end struct {
	at     uint32
	absent bool
}

type columnOf[C any] func(dst []byte, v *C) []byte

func (c columnOf[C]) component() reflect.Type { return reflect.TypeFor[C]() }

func (c columnOf[C]) touch(v store.View, rows []slots.Loc) uint64 {
	return store.Touch[C](&v, rows)
}

// append encodes the rows one after the other. It panics if the function of Encode did not append.
func (c columnOf[C]) append(dst []byte, v store.View, rows []slots.Loc, ends []end) []byte {
	for i, l := range rows {
		row := store.At[C](&v, l)
		if row != nil {
			was := dst
			if dst = c(dst, row); len(dst) < len(was) || cap(dst) != cap(was) && !grown(dst, was) {
				panic(fmt.Sprintf("interest: the function of Encode of %v did not append to dst; return dst with the bytes of the value behind it", c.component()))
			}
		}
		ends[i] = end{uint32(len(dst)), row == nil}
	}
	return dst
}

// grown reports whether b may be a larger copy of another slice, with more bytes after it.
func grown(b, of []byte) bool { return cap(b) > cap(of) && bytes.Equal(b[:len(of)], of) }
