package text

import (
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// This file shows saved values, by the description of their types in a snapshot.

// shownMost is how many bytes of a codec's output are shown.
const shownMost = 32

// text shows the value of a field.
func (f fieldValue) text() string {
	switch f.How {
	case shape.AsText:
		return strconv.Quote(string(f.bytes))
	case shape.AsCBOR:
		text, _ := showCBOR(f.bytes, 0)
		return text
	case shape.ByCodec:
		return "0x" + hex.EncodeToString(f.bytes[:min(len(f.bytes), shownMost)]) + strings.Repeat("…", min(1, len(f.bytes)/(shownMost+1)))
	}
	return show(f.bytes, f.Shape)
}

// show shows memory as a value.
func show(src []byte, s *shape.Shape) string {
	switch {
	case s.Size == 0:
		return "{}"
	case s.Kind == reflect.Array:
		var all []string
		for i := range s.Len {
			all = append(all, show(src[i*s.Elem.Size:], s.Elem))
		}
		return "[" + strings.Join(all, " ") + "]"
	case s.Kind == reflect.Struct:
		var all []string
		for _, f := range s.Fields {
			all = append(all, f.Name+":"+show(src[f.At:], f.Shape))
		}
		return "{" + strings.Join(all, " ") + "}"
	case s.Kind == reflect.Bool:
		return strconv.FormatBool(src[0]&1 != 0)
	case s.Kind == reflect.Complex64 || s.Kind == reflect.Complex128:
		half := halfOf(s)
		return show(src, half) + "," + show(src[half.Size:], half) + "i"
	}
	var number [1]uint64
	shape.Numbers(number[:], s.Kind, src, 0)
	switch _, signed := shape.Exact(s.Kind); {
	case s.Handle:
		return handle.Handle(number[0]).String()
	case s.Kind == reflect.Float32:
		return strconv.FormatFloat(math.Float64frombits(number[0]), 'g', -1, 32)
	case s.Kind == reflect.Float64:
		return strconv.FormatFloat(math.Float64frombits(number[0]), 'g', -1, 64)
	case signed:
		return strconv.FormatInt(int64(number[0]), 10)
	}
	return strconv.FormatUint(number[0], 10)
}

// showCBOR shows the first value of CBOR, and returns the bytes after it.
func showCBOR(src []byte, depth int) (text string, rest []byte) {
	major, n, rest, err := cbor.Head(src)
	if err != nil || depth > shape.NestedMost || major >= cbor.Bytes && major <= cbor.Text && n > uint64(len(rest)) {
		return "?", nil
	}
	switch major {
	case 0:
		return strconv.FormatUint(n, 10), rest
	case 1:
		return strconv.FormatInt(-1-int64(n), 10), rest
	case cbor.Bytes:
		return "0x" + hex.EncodeToString(rest[:n]), rest[n:]
	case cbor.Text:
		return strconv.Quote(string(rest[:n])), rest[n:]
	case cbor.Tag:
		text, rest = showCBOR(rest, depth+1)
		return fmt.Sprintf("%d(%s)", n, text), rest
	case cbor.Array, cbor.Map:
		var all []string
		for ; n > 0 && len(rest) > 0; n-- {
			if text, rest = showCBOR(rest, depth+1); major == cbor.Map {
				key := text
				text, rest = showCBOR(rest, depth+1)
				text = strings.Trim(key, `"`) + ":" + text
			}
			all = append(all, text)
		}
		return map[byte]string{cbor.Array: "[", cbor.Map: "{"}[major] + strings.Join(all, " ") + map[byte]string{cbor.Array: "]", cbor.Map: "}"}[major], rest
	}
	switch src[0] {
	case cbor.False, cbor.True:
		return strconv.FormatBool(src[0] == cbor.True), rest
	case cbor.Null:
		return "nil", rest
	case cbor.Float32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(n))), 'g', -1, 32), rest
	case cbor.Float64:
		return strconv.FormatFloat(math.Float64frombits(n), 'g', -1, 64), rest
	}
	return "?", rest
}
