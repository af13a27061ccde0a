package text

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"go/token"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// This file writes values as JSON and reads them, by the description of their types in a snapshot.

// valueText is the format of something's values in JSON.
type valueText struct {
	valueForm
	tree []branch // the fields of the object; nil if a value is a single leaf
}

// branch is a field of an object: a leaf, or an object.
type branch struct {
	name  string
	leaf  int
	inner []branch // nil for a leaf
}

// textOf returns how values are written.
func textOf(n *format.Named) (*valueText, error) {
	form, err := formOf(n)
	t, leaves := &valueText{valueForm: form, tree: []branch{}}, form.leaves
	if err != nil {
		return t, err
	}
	if len(leaves) == 1 && leaves[0].Path == "" {
		t.tree = nil
		return t, nil
	}
	for i := range leaves {
		path := strings.Split(leaves[i].Path, ".")
		if slices.ContainsFunc(path, func(name string) bool { return !token.IsIdentifier(name) }) {
			path = []string{leaves[i].Path}
		}
		if !plant(&t.tree, path, i) {
			return t, fmt.Errorf("the field %s is among others", leaves[i].Path)
		}
	}
	return t, nil
}

// plant adds a leaf. It returns false if its place is taken by something that is no object, or is
// in an object that was left.
func plant(tree *[]branch, path []string, leaf int) bool {
	at := slices.IndexFunc(*tree, func(b branch) bool { return b.name == path[0] })
	switch {
	case at < 0:
		*tree = append(*tree, branch{name: path[0], leaf: leaf})
		if len(path) == 1 {
			return true
		}
		at = len(*tree) - 1
		(*tree)[at].inner = []branch{}
	case at != len(*tree)-1 || len(path) == 1 || (*tree)[at].inner == nil:
		return false
	}
	return plant(&(*tree)[at].inner, path[1:], leaf)
}

// append appends a value as JSON.
func (t *valueText) append(dst, value []byte) []byte {
	fields := fieldsOf(&t.valueForm, value)
	if t.tree == nil {
		return fields[0].appendJSON(dst)
	}
	return appendTree(dst, t.tree, fields)
}

// appendTree appends the fields of a value as an object.
func appendTree(dst []byte, tree []branch, fields []fieldValue) []byte {
	dst = append(dst, '{')
	for i := range tree {
		b := &tree[i]
		dst = appendName(dst, b.name, i)
		if b.inner != nil {
			dst = appendTree(dst, b.inner, fields)
		} else {
			dst = fields[b.leaf].appendJSON(dst)
		}
	}
	return append(dst, '}')
}

// appendName appends the name of the i-th field of an object.
func appendName(dst []byte, name string, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return append(appendString(dst, name), ':')
}

// appendJSON appends a field in the way in which it is written.
func (f *fieldValue) appendJSON(dst []byte) []byte {
	switch f.How {
	case shape.AsText:
		return appendText(dst, f.bytes)
	case shape.ByCodec:
		return appendBytes(dst, f.bytes)
	case shape.AsCBOR:
		return appendCBORText(dst, f.bytes, f.Shape)
	}
	return appendMemory(dst, f.bytes, f.Shape)
}

// appendMemory appends what was written as memory.
func appendMemory(dst, src []byte, s *shape.Shape) []byte {
	switch {
	case s.Kind == reflect.Array:
		n := s.Len
		if s.Elem.Size == 0 {
			n = 0 // omitted, as there may be any number of them
		}
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendMemory(dst, src[i*s.Elem.Size:], s.Elem)
		}
		return append(dst, ']')
	case s.Kind == reflect.Struct:
		dst = append(dst, '{')
		for i := range s.Fields {
			f := &s.Fields[i]
			dst = appendMemory(appendName(dst, f.Name, i), src[f.At:], f.Shape)
		}
		return append(dst, '}')
	case s.Kind == reflect.Bool:
		return strconv.AppendBool(dst, src[0]&1 != 0)
	case s.Kind == reflect.Complex64, s.Kind == reflect.Complex128:
		half := halfOf(s)
		dst = appendMemory(append(dst, '['), src, half)
		return append(appendMemory(append(dst, ','), src[half.Size:], half), ']')
	case shape.IsFloat(s.Kind):
		return appendFloat(dst, bitsOf(src, s.Size), s.Size)
	}
	var number [1]uint64
	shape.Numbers(number[:], s.Kind, src, 0)
	if s.Handle {
		return appendHandle(dst, handle.Handle(number[0]))
	}
	return appendWhole(dst, number[0], s.Kind <= reflect.Int64)
}

// halfOf returns the shape of the parts of a complex number.
func halfOf(s *shape.Shape) *shape.Shape {
	return &shape.Shape{Kind: reflect.Float32 + (s.Kind - reflect.Complex64), Size: s.Size / 2, Text: "float"}
}

func bitsOf(src []byte, size int) uint64 {
	if size == 4 {
		return uint64(binary.NativeEndian.Uint32(src))
	}
	return binary.NativeEndian.Uint64(src)
}

// wholeMost is the largest integer that is written as a number. Floats of 64 bits hold all up to
// it, and so do all JSON tools.
const wholeMost = 1 << 53

// appendWhole appends an integer, as text if it is large.
func appendWhole(dst []byte, n uint64, signed bool) []byte {
	quoted := n > wholeMost
	if signed {
		quoted = int64(n) > wholeMost || int64(n) < -wholeMost
	}
	if quoted {
		dst = append(dst, '"')
	}
	if signed {
		dst = strconv.AppendInt(dst, int64(n), 10)
	} else {
		dst = strconv.AppendUint(dst, n, 10)
	}
	if quoted {
		dst = append(dst, '"')
	}
	return dst
}

// appendHandle appends a handle as text, or as a number if it is not a valid handle.
func appendHandle(dst []byte, h handle.Handle) []byte {
	if text, err := h.AppendText(append(dst, '"')); err == nil {
		return append(text, '"')
	}
	return appendWhole(dst, uint64(h), false)
}

// notANumber is Go's NaN. Others are written by their bits.
var notANumber = map[int]uint64{4: uint64(math.Float32bits(float32(math.NaN()))), 8: math.Float64bits(math.NaN())}

// appendFloat appends a float of 4 or 8 bytes, as text if JSON has no number for it.
func appendFloat(dst []byte, bits uint64, size int) []byte {
	f := math.Float64frombits(bits)
	if size == 4 {
		f = float64(math.Float32frombits(uint32(bits)))
	}
	switch {
	case math.IsNaN(f) && bits != notANumber[size]:
		return fmt.Appendf(dst, `"NaN %#x"`, bits)
	case math.IsNaN(f), math.IsInf(f, 0):
		return append(strconv.AppendFloat(append(dst, '"'), f, 'g', -1, 64), '"')
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, size*8)
}

// appendString appends a valid UTF-8 string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted := new(strings.Builder)
			e := json.NewEncoder(quoted)
			e.SetEscapeHTML(false)
			_ = e.Encode(s) // of a text
			return append(dst, strings.TrimSuffix(quoted.String(), "\n")...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// appendText appends a string, which need not be UTF-8.
func appendText(dst, bytes []byte) []byte {
	if utf8.Valid(bytes) {
		return appendString(dst, string(bytes))
	}
	return append(append64(append(dst, `{"base64":`...), bytes), '}')
}

// appendBytes is appendText for bytes. They are text only if they are letters and the like.
func appendBytes(dst, bytes []byte) []byte {
	for _, c := range bytes {
		if c < ' ' || c == 0x7f {
			return append(append64(append(dst, `{"base64":`...), bytes), '}')
		}
	}
	return appendText(dst, bytes)
}

func append64(dst, bytes []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), bytes), '"')
}
