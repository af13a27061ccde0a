package snapshot

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// This file shows saved values, by the description of their types in a snapshot.

// valueCells stands for a value that is skipped.
var valueCells = mem.Cells{Len: 1}

// fieldValue is a field of a value.
type fieldValue struct {
	*leaf
	bytes []byte
}

// fieldsOf returns the fields of a value that was written.
func fieldsOf(n *named, layout []leaf, value []byte) (all []fieldValue) {
	var parts [][]byte
	for _, p := range n.parts {
		size := p.Size
		if p.ByCodec {
			size = int(binary.LittleEndian.Uint32(value))
			value = value[4:]
		}
		parts = append(parts, value[:size])
		value = value[size:]
	}
	for i := range layout {
		f := fieldValue{&layout[i], parts[layout[i].part]}
		if f.how == asMemory {
			f.bytes = f.bytes[f.at : f.at+f.size]
		}
		all = append(all, f)
	}
	return all
}

// shownMost is how many bytes of a codec's output are shown.
const shownMost = 32

// text shows the value of a field.
func (f fieldValue) text() string {
	switch f.how {
	case asText:
		return strconv.Quote(string(f.bytes))
	case asCBOR:
		text, _ := showCBOR(f.bytes, 0)
		return text
	case byCodec:
		return "0x" + hex.EncodeToString(f.bytes[:min(len(f.bytes), shownMost)]) + strings.Repeat("…", min(1, len(f.bytes)/(shownMost+1)))
	}
	return f.shape.show(f.bytes)
}

// show shows memory as a value.
func (s *shape) show(src []byte) string {
	switch {
	case s.size == 0:
		return "{}"
	case s.kind == reflect.Array:
		var all []string
		for i := range s.n {
			all = append(all, s.elem.show(src[i*s.elem.size:]))
		}
		return "[" + strings.Join(all, " ") + "]"
	case s.kind == reflect.Struct:
		var all []string
		for _, f := range s.fields {
			all = append(all, f.name+":"+f.show(src[f.at:]))
		}
		return "{" + strings.Join(all, " ") + "}"
	case s.kind == reflect.Bool:
		return strconv.FormatBool(src[0]&1 != 0)
	case s.kind == reflect.Complex64 || s.kind == reflect.Complex128:
		half := &shape{kind: reflect.Float32 + (s.kind - reflect.Complex64), size: s.size / 2}
		return half.show(src) + "," + half.show(src[half.size:]) + "i"
	}
	var number [1]uint64
	getNumbers(number[:], s.kind, src, 0)
	switch _, signed := exact(s.kind); {
	case s.handle:
		return handle.Handle(number[0]).String()
	case s.kind == reflect.Float32:
		return strconv.FormatFloat(math.Float64frombits(number[0]), 'g', -1, 32)
	case s.kind == reflect.Float64:
		return strconv.FormatFloat(math.Float64frombits(number[0]), 'g', -1, 64)
	case signed:
		return strconv.FormatInt(int64(number[0]), 10)
	}
	return strconv.FormatUint(number[0], 10)
}

// showCBOR shows the first value of CBOR, and returns the bytes after it.
func showCBOR(src []byte, depth int) (text string, rest []byte) {
	major, n, rest, err := cborHead(src)
	if err != nil || depth > nestedMost || major >= cborBytes && major <= cborText && n > uint64(len(rest)) {
		return "?", nil
	}
	switch major {
	case 0:
		return strconv.FormatUint(n, 10), rest
	case 1:
		return strconv.FormatInt(-1-int64(n), 10), rest
	case cborBytes:
		return "0x" + hex.EncodeToString(rest[:n]), rest[n:]
	case cborText:
		return strconv.Quote(string(rest[:n])), rest[n:]
	case cborTag:
		text, rest = showCBOR(rest, depth+1)
		return fmt.Sprintf("%d(%s)", n, text), rest
	case cborArray, cborMap:
		var all []string
		for ; n > 0 && len(rest) > 0; n-- {
			if text, rest = showCBOR(rest, depth+1); major == cborMap {
				key := text
				text, rest = showCBOR(rest, depth+1)
				text = strings.Trim(key, `"`) + ":" + text
			}
			all = append(all, text)
		}
		return map[byte]string{cborArray: "[", cborMap: "{"}[major] + strings.Join(all, " ") + map[byte]string{cborArray: "]", cborMap: "}"}[major], rest
	}
	switch src[0] {
	case 0xf4, 0xf5:
		return strconv.FormatBool(src[0] == 0xf5), rest
	case 0xf6:
		return "nil", rest
	case 0xfa:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(n))), 'g', -1, 32), rest
	case 0xfb:
		return strconv.FormatFloat(math.Float64frombits(n), 'g', -1, 64), rest
	}
	return "?", rest
}
