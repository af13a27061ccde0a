package text

import (
	"encoding/binary"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"

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

// parse appends the value of a JSON value.
func (t *valueText) parse(dst []byte, v any) (out []byte, err error) {
	values := make([]any, len(t.leaves))
	if t.tree == nil {
		values[0] = v
	} else if err := pick(values, t.tree, v); err != nil {
		return nil, err
	}
	at := 0
	for i := range t.Parts {
		p := &t.Parts[i]
		from := len(dst)
		if p.ByCodec {
			dst = append(dst, 0, 0, 0, 0)
		} else {
			dst = append(dst, make([]byte, p.Size)...)
		}
		for ; at < len(t.leaves) && t.leaves[at].Part == i; at++ {
			f := &t.leaves[at]
			switch f.How {
			case shape.AsMemory:
				err = parseMemory(dst[from+f.At:from+f.At+f.Size], values[at], f.Shape)
			case shape.AsCBOR:
				dst, err = parseCBORText(dst, values[at], f.Shape)
			default:
				dst, err = parseText(dst, values[at])
			}
			if err != nil {
				for _, name := range slices.Backward(strings.Split(f.Path, ".")) {
					err = inField(name, err)
				}
				return nil, err
			}
		}
		if p.ByCodec {
			binary.LittleEndian.PutUint32(dst[from:], uint32(len(dst)-from-4))
		}
	}
	return dst, nil
}

// pick finds the leaves of an object.
func pick(values []any, tree []branch, v any) error {
	return eachField(v, len(tree), func(i int) string { return tree[i].name }, func(i int, inner any) error {
		b := &tree[i]
		if values[b.leaf] = inner; b.inner == nil {
			return nil
		}
		return pick(values, b.inner, inner)
	})
}

// eachField calls f for the n fields of an object, which must be those with the names.
func eachField(v any, n int, name func(i int) string, f func(i int, inner any) error) error {
	all, err := objectOf(v)
	if err != nil {
		return err
	}
	for i := range n {
		inner, ok := all[name(i)]
		err := errMissing
		if ok {
			err = f(i, inner)
		}
		if err != nil {
			return inField(name(i), err)
		}
	}
	if len(all) == n {
		return nil
	}
	var known []string
	for i := range n {
		known = append(known, name(i))
	}
	return unknown(all, known)
}

// parseMemory sets memory, which is zero, to a JSON value.
func parseMemory(dst []byte, v any, s *shape.Shape) error {
	switch {
	case s.Kind == reflect.Array:
		all, err := listOf(v)
		if err != nil || s.Elem.Size == 0 {
			return err
		}
		if len(all) != s.Len {
			return fmt.Errorf("it has %d elements, want %d", len(all), s.Len)
		}
		for i, x := range all {
			if err := parseMemory(dst[i*s.Elem.Size:(i+1)*s.Elem.Size], x, s.Elem); err != nil {
				return inField(fmt.Sprintf("[%d]", i), err)
			}
		}
		return nil
	case s.Kind == reflect.Struct:
		return eachField(v, len(s.Fields), func(i int) string { return s.Fields[i].Name }, func(i int, inner any) error {
			f := &s.Fields[i]
			return parseMemory(dst[f.At:f.At+f.Size], inner, f.Shape)
		})
	case s.Kind == reflect.Bool:
		is, ok := v.(bool)
		if !ok {
			return wants("a bool: write true or false", v)
		}
		if is {
			dst[0] = 1
		}
		return nil
	case s.Kind == reflect.Complex64, s.Kind == reflect.Complex128:
		return parseMemory(dst, v, &shape.Shape{Kind: reflect.Array, Len: 2, Elem: halfOf(s)})
	case shape.IsFloat(s.Kind):
		bits, err := parseFloat(v, s.Size)
		if s.Size == 4 {
			binary.NativeEndian.PutUint32(dst, uint32(bits))
		} else {
			binary.NativeEndian.PutUint64(dst, bits)
		}
		return err
	}
	n, err := parseWhole(v, s)
	shape.PutNumbers([]uint64{n}, s.Kind, dst, 0)
	return err
}

// fieldNames returns the names of the fields of a struct.
func fieldNames(s *shape.Shape) (all []string) {
	for i := range s.Fields {
		all = append(all, s.Fields[i].Name)
	}
	return all
}
