package form

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/extend"
)

// A byte of CBOR can be an element of a slice, which takes as much memory as its type has, before
// anything of it was read. So who reads what others have written counts beforehand how much memory
// slices, maps and pointers will take.

// Budget is how much memory the slices, maps and pointers of values may take that are read as CBOR.
// What codecs of the user take is theirs to bound.
//
// Ownership: Reset belongs to who reads, before others read; any goroutines may read at once.
type Budget struct {
	each int64 // that a byte may take besides
	left atomic.Int64
}

// Reset lets the values take so many bytes from now on, and in addition so many for each byte that
// is read.
func (b *Budget) Reset(most, each int64) {
	b.each = each
	b.left.Store(most)
}

// Take takes a part of the budget. The error is extend.ErrMemory.
func (b *Budget) Take(bytes int64) error {
	if b.left.Add(-bytes) < 0 {
		return extend.ErrMemory
	}
	return nil
}

// Left returns what is left.
func (b *Budget) Left() int64 { return b.left.Load() }

// Within returns codecs, as they are now, whose forms keep to a budget. It changes nothing.
func (c *Codecs) Within(b *Budget) *Codecs {
	x := &Codecs{budget: b}
	if c != nil {
		x.byType, x.enums = c.byType, c.enums
	}
	return x
}

// limit returns the budget of the codecs, or nil.
func (c *Codecs) limit() *Budget {
	if c == nil {
		return nil
	}
	return c.budget
}

// take takes what a value will take that is read.
func (b *Budget) take(c *cost, src []byte) error {
	if c == nil || c.worst <= b.each {
		return nil
	}
	var x counting
	rest := x.value(src, c, 0)
	if x.malformed || len(rest) > 0 {
		return errCBOR
	}
	return b.Take(x.bytes - b.each*int64(len(src)))
}

// errCBOR is for bytes that are no CBOR.
var errCBOR = errors.New("it is malformed, or there is more behind it")

// cost says what memory a value of a type takes besides itself when it is read. It is nil for one
// that takes none, or no more than it has bytes.
//
// Ownership: immutable.
type cost struct {
	each   int64            // for each element, entry, or value behind a pointer
	some   int64            // for each map
	in     *cost            // of an element, an entry's value, or the value behind a pointer
	behind bool             // it is a pointer: null takes nothing
	named  map[string]*cost // of a struct, by the names of fields
	listed []*cost          // of one that is written as an array
	worst  int64            // that a byte can take
}

// costOf finds the cost of a type, once for a codec.
func costOf(t reflect.Type) *cost {
	if marshals(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice:
		return newCost(cost{each: int64(t.Elem().Size()), in: costOf(t.Elem())})
	case reflect.Array:
		return newCost(cost{in: costOf(t.Elem())})
	case reflect.Pointer:
		return newCost(cost{each: max(int64(t.Elem().Size()), 16), in: costOf(t.Elem()), behind: true})
	case reflect.Map:
		// Go makes room for 8 entries, and up to twice as many as there are. Keys and values of more
		// than 128 bytes are kept elsewhere.
		k, v := int64(t.Key().Size()), int64(t.Elem().Size())
		slot := 8 + min(k, 128) + min(v, 128)
		return newCost(cost{each: 2*slot + k + v, some: 64 + 8*slot, in: costOf(t.Elem())})
	case reflect.Struct:
		c := cost{named: map[string]*cost{}}
		c.fields(t)
		if writtenAsArray(t) {
			c.named = nil
		} else {
			c.listed = nil
		}
		return newCost(c)
	}
	return nil
}

// newCost returns a cost, or nil if there is none.
func newCost(c cost) *cost {
	c.worst = max(c.each, c.some)
	all := append([]*cost{c.in}, c.listed...)
	for _, x := range c.named {
		all = append(all, x)
	}
	for _, x := range all {
		if x != nil {
			c.worst = max(c.worst, x.worst)
		}
	}
	if c.worst <= 1 {
		return nil
	}
	return &c
}

// fields adds the costs of the fields of a struct, and of those that are embedded in it.
func (c *cost) fields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, inner := nameInCBOR(f)
		switch {
		case f.Name == "_":
		case inner:
			c.fields(f.Type)
		default:
			x := costOf(f.Type)
			c.named[name], c.listed = x, append(c.listed, x)
		}
	}
}

// The major types of CBOR. All others are numbers and the like.
const (
	cborBytes = 2
	cborText  = 3
	cborArray = 4
	cborMap   = 5
	cborTag   = 6
	cborNull  = 0xf6
)

// nestedMost is how deep values may be nested, as much as cborReader takes and more.
const nestedMost = 512

// counting counts what values take. It trusts no byte.
type counting struct {
	bytes     int64
	malformed bool
}

// head reads what a value begins with. Of an array or a map, n is at most the length of the rest.
func (x *counting) head(src []byte) (major byte, n uint64, rest []byte) {
	if len(src) == 0 {
		x.malformed = true
		return 0, 0, nil
	}
	major, n, rest = src[0]>>5, uint64(src[0]&31), src[1:]
	if n >= 24 {
		size := 1 << (n - 24)
		if n > 27 || len(rest) < size {
			x.malformed = true
			return 0, 0, nil
		}
		var word [8]byte
		copy(word[8-size:], rest[:size])
		n, rest = binary.BigEndian.Uint64(word[:]), rest[size:]
	}
	if major >= cborBytes && major <= cborMap && n > uint64(len(rest)) {
		x.malformed = true
		return 0, 0, nil
	}
	return major, n, rest
}

// value counts what a value takes, and returns what is behind it.
func (x *counting) value(src []byte, c *cost, depth int) (rest []byte) {
	if c == nil {
		return x.skip(src)
	}
	if depth > nestedMost {
		x.malformed = true
		return nil
	}
	if c.behind {
		if len(src) > 0 && src[0] != cborNull {
			x.add(c.each, 1)
		}
		if c.in == nil || len(src) > 0 && src[0] == cborNull {
			return x.skip(src)
		}
		return x.value(src, c.in, depth+1)
	}
	major, n, rest := x.head(src)
	switch major {
	case cborTag:
		return x.value(rest, c, depth+1)
	case cborArray:
		if len(c.listed) == 0 {
			x.add(c.each, n)
		}
		for i := uint64(0); i < n && !x.malformed; i++ {
			in := c.in
			if i < uint64(len(c.listed)) {
				in = c.listed[i]
			}
			rest = x.value(rest, in, depth+1)
		}
		return rest
	case cborMap:
		x.add(c.some, 1)
		x.add(c.each, n)
		for i := uint64(0); i < n && !x.malformed; i++ {
			in, key := c.in, rest
			rest = x.skip(rest)
			if c.named != nil && !x.malformed {
				in = c.field(key)
			}
			rest = x.value(rest, in, depth+1)
		}
		return rest
	}
	if major == cborBytes {
		x.add(c.each, n)
	}
	return x.skip(src)
}

// add adds so many bytes n times, but no more than can be.
func (x *counting) add(bytes int64, n uint64) {
	if high, low := bits.Mul64(uint64(bytes), n); high == 0 && low < countMost && x.bytes < countMost {
		x.bytes += int64(low)
		return
	}
	x.bytes = countMost
}

// countMost is as much as is counted.
const countMost = math.MaxInt64 / 4

// field returns the cost of the field that a key names.
func (c *cost) field(key []byte) *cost {
	var x counting
	switch major, n, rest := x.head(key); major {
	case cborText:
		return c.named[string(rest[:n])]
	case 0:
		return c.named[strconv.FormatUint(n, 10)+keyAsInt]
	case 1:
		return c.named[strconv.FormatInt(-1-int64(n), 10)+keyAsInt]
	}
	return nil
}

// skip passes over a value.
func (x *counting) skip(src []byte) (rest []byte) {
	for todo := uint64(1); todo > 0 && !x.malformed; {
		major, n, rest := x.head(src)
		src = rest
		todo--
		switch major {
		case cborBytes, cborText:
			src = src[min(n, uint64(len(src))):]
		case cborArray:
			todo += n
		case cborMap:
			todo += 2 * n
		case cborTag:
			todo++
		}
		if todo > uint64(len(src)) {
			x.malformed = true
		}
	}
	return src
}

// keyAsInt follows the name of a field that is written as a number: see nameInCBOR.
const keyAsInt = ",keyasint"
