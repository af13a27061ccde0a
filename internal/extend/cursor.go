package extend

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Parts are written as numbers of variable length. Texts and lists follow their length, and lists
// of words are written as they are in memory.

// AppendNumber appends a number.
func AppendNumber[N ~int | ~uint32 | ~uint64 | ~uint8](dst []byte, n N) []byte {
	return binary.AppendUvarint(dst, uint64(n))
}

// AppendNumbers appends a list of numbers, which Cursor.Numbers reads.
func AppendNumbers(dst []byte, all []int) []byte {
	dst = AppendNumber(dst, len(all))
	for _, n := range all {
		dst = AppendNumber(dst, n)
	}
	return dst
}

// AppendText appends a text, after its length.
func AppendText[B ~string | ~[]byte](dst []byte, s B) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// AppendWords appends a list of words, which WordsOf reads.
func AppendWords[W uint32 | uint64 | handle.Handle](dst []byte, words []W) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(words)))
	return append(dst, mem.BytesOf(words)...)
}

// AppendSet appends a set of rows, as words of bits, without the empty words at its end.
func AppendSet(dst []byte, words []uint64) []byte {
	for len(words) > 0 && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	return AppendWords(dst, words)
}

// FlagsOf packs answers into a number, the first into its lowest bit.
func FlagsOf(all ...bool) (n int) {
	for i, is := range all {
		if is {
			n |= 1 << i
		}
	}
	return n
}

// ErrBody is the error for a part that is not what its length and counts say.
var ErrBody = errors.New("it ends too soon, or a number in it is too large")

// ErrMemory is the error for a part that would take more memory than Cursor.Most.
var ErrMemory = errors.New("what it lists takes more memory than it may")

// Cursor reads a part. After an error it returns zeroes, and no list.
type Cursor struct {
	Rest []byte
	Err  error
	// Most limits the memory of the lists that are read from the part; 0 means no limit. A list may
	// take a hundred times the bytes that it has in the part.
	Most int64
	took int64
}

// fail ends the reading with ErrBody.
func (c *Cursor) fail() { c.failBy(ErrBody) }

// failBy ends the reading with an error, unless it has ended.
func (c *Cursor) failBy(err error) {
	if c.Err == nil {
		c.Err = err
	}
	c.Rest = nil
}

// Takes counts the memory that n values of a size are about to take, and reports whether there may
// be so much. If not, the reading ends with ErrMemory.
func (c *Cursor) Takes(n, size int) bool {
	c.took += int64(n) * int64(size)
	if c.Most > 0 && c.took > c.Most {
		c.failBy(ErrMemory)
	}
	return c.Err == nil
}

// ListOf reads the length of a list and makes the list, with zeros for the caller to fill in. Each
// element has least bytes or more in the part.
func ListOf[T any](c *Cursor, least int) []T {
	n := c.Count(least)
	if !c.Takes(n, int(reflect.TypeFor[T]().Size())) {
		return nil
	}
	return make([]T, n)
}

// Number reads what AppendNumber wrote. If that is not there, the reading ends with ErrBody.
func (c *Cursor) Number() uint64 {
	n, size := binary.Uvarint(c.Rest)
	if size <= 0 {
		c.fail()
		return 0
	}
	c.Rest = c.Rest[size:]
	return n
}

// Below reads a number below a bound. Another one ends the reading with ErrBody.
func (c *Cursor) Below(bound uint64) uint64 {
	n := c.Number()
	if n >= bound {
		c.fail()
		return 0
	}
	return n
}

// Int reads a number that is an int on any machine.
func (c *Cursor) Int() int { return int(c.Below(math.MaxInt32)) }

// Word reads a number of up to 32 bits.
func (c *Cursor) Word() uint32 { return uint32(c.Below(1 << 32)) }

// Word64 reads 8 bytes, little endian.
func (c *Cursor) Word64() uint64 {
	if part := c.Take(8); part != nil {
		return binary.LittleEndian.Uint64(part)
	}
	return 0
}

// Handle reads a handle, which AppendNumber wrote.
func (c *Cursor) Handle() handle.Handle { return handle.Handle(c.Number()) }

// Count reads the length of a list whose elements have least bytes or more each.
func (c *Cursor) Count(least int) int { return int(c.Below(uint64(len(c.Rest)/least) + 1)) }

// Take takes n bytes, in place. If there are fewer, the reading ends with ErrBody.
func (c *Cursor) Take(n int) []byte {
	if n < 0 || n > len(c.Rest) {
		c.fail()
		return nil
	}
	part := c.Rest[:n:n]
	c.Rest = c.Rest[n:]
	return part
}

// Numbers reads what AppendNumbers wrote.
func (c *Cursor) Numbers() []int {
	all := ListOf[int](c, 1)
	for i := range all {
		all[i] = c.Int()
	}
	return all
}

// Bytes reads what AppendText wrote, in place.
func (c *Cursor) Bytes() []byte { return c.Take(c.Count(1)) }

// Text reads what AppendText wrote.
func (c *Cursor) Text() string { return string(c.Bytes()) }

// Flags reads what FlagsOf packed into so many bits.
func (c *Cursor) Flags(bits int) (n uint64) { return c.Below(1 << bits) }

// WordsOf reads a list of words, which AppendWords wrote.
func WordsOf[W uint32 | uint64 | handle.Handle](c *Cursor) []W {
	var size = len(mem.BytesOf(make([]W, 1)))
	words := make([]W, c.Count(size))
	copy(mem.BytesOf(words), c.Take(len(words)*size))
	if len(words) == 0 {
		return nil
	}
	return words
}

// End returns the error that ended the reading, or another unless all was read.
func (c *Cursor) End() error {
	if c.Err == nil && len(c.Rest) > 0 {
		c.Err = errors.New("there is more data after it")
	}
	return c.Err
}
