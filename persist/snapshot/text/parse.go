package text

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// This file reads values from JSON.

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
	all, err := objectOf(v)
	if err != nil {
		return err
	}
	for i := range tree {
		b := &tree[i]
		inner, ok := all[b.name]
		if !ok {
			return inField(b.name, errMissing)
		}
		if values[b.leaf] = inner; b.inner != nil {
			if err := pick(values, b.inner, inner); err != nil {
				return inField(b.name, err)
			}
		}
	}
	if len(all) > len(tree) {
		var names []string
		for i := range tree {
			names = append(names, tree[i].name)
		}
		return unknown(all, names)
	}
	return nil
}

var errMissing = errors.New("it is missing: write it as a value, 0 for nothing")

func unknown(all map[string]any, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(known, name) {
			return inField(name, fmt.Errorf("there is no such field; there are %q", known))
		}
	}
	return nil
}

// fieldError is an error with the path of its field.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// inField puts a name in front of the path of an error.
func inField(name string, err error) error {
	if name == "" {
		return err
	}
	if e, ok := err.(*fieldError); ok {
		if !strings.HasPrefix(e.path, "[") {
			name += "."
		}
		return &fieldError{name + e.path, e.err}
	}
	return &fieldError{name, err}
}

func objectOf(v any) (map[string]any, error) {
	all, ok := v.(map[string]any)
	if !ok {
		return nil, wants("an object", v)
	}
	return all, nil
}

func listOf(v any) ([]any, error) {
	all, ok := v.([]any)
	if !ok {
		return nil, wants("a list", v)
	}
	return all, nil
}

// shownOf is how much of a wrong value an error shows.
const shownOf = 60

func wants(what string, v any) error {
	text, _ := json.Marshal(v) // of JSON
	if len(text) > shownOf {
		text = append(text[:shownOf:shownOf], "…"...)
	}
	return fmt.Errorf("%s is no %s", text, strings.TrimPrefix(strings.TrimPrefix(what, "a "), "an "))
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
		return parseStruct(dst, v, s)
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

// parseStruct sets the memory of a struct.
func parseStruct(dst []byte, v any, s *shape.Shape) error {
	all, err := objectOf(v)
	if err != nil {
		return err
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		inner, ok := all[f.Name]
		err := errMissing
		if ok {
			err = parseMemory(dst[f.At:f.At+f.Size], inner, f.Shape)
		}
		if err != nil {
			return inField(f.Name, err)
		}
	}
	if len(all) > len(s.Fields) {
		return unknown(all, fieldNames(s))
	}
	return nil
}

// fieldNames returns the names of the fields of a struct.
func fieldNames(s *shape.Shape) (all []string) {
	for i := range s.Fields {
		all = append(all, s.Fields[i].Name)
	}
	return all
}

// parseWhole reads an integer of a kind, or a handle.
func parseWhole(v any, s *shape.Shape) (n uint64, err error) {
	text, ok := v.(string)
	if number, is := v.(json.Number); is {
		text, ok = number.String(), true
	}
	if !ok {
		return 0, wants("a number", v)
	}
	if s.Handle && (strings.Contains(text, ":") || text == handle.None.String()) {
		h, err := handle.Parse(text)
		return uint64(h), err
	}
	if width := shape.SizeOf(s.Kind) * 8; s.Kind <= reflect.Int64 {
		var signed int64
		signed, err = strconv.ParseInt(text, 10, width)
		n = uint64(signed)
	} else {
		n, err = strconv.ParseUint(text, 10, width)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s does not fit in %s", text, s.Kind)
	case err != nil && s.Handle:
		return 0, wants("a handle, as in 3:1047@5 or none", v)
	case err != nil:
		return 0, wants("a whole number of type "+s.Kind.String(), v)
	}
	return n, nil
}

// parseFloat reads the bits of a float.
func parseFloat(v any, size int) (bits uint64, err error) {
	text, ok := v.(string)
	if number, is := v.(json.Number); is {
		text, ok = number.String(), true
	} else if digits, is := strings.CutPrefix(text, "NaN 0x"); is {
		bits, err = strconv.ParseUint(digits, 16, size*8)
		f := math.Float64frombits(bits)
		if size == 4 {
			f = float64(math.Float32frombits(uint32(bits)))
		}
		if err != nil || !math.IsNaN(f) {
			return 0, wants("a NaN", v)
		}
		return bits, nil
	}
	if !ok {
		return 0, wants("a number", v)
	}
	f, err := strconv.ParseFloat(text, size*8)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s does not fit in float%d", text, size*8)
	case err != nil:
		return 0, wants("a number", v)
	case math.IsNaN(f):
		return notANumber[size], nil
	case size == 4:
		return uint64(math.Float32bits(float32(f))), nil
	}
	return math.Float64bits(f), nil
}

// parseText appends what appendText wrote.
func parseText(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return append(dst, v...), nil
	case map[string]any:
		if coded, ok := v["base64"].(string); ok && len(v) == 1 {
			return parse64(dst, coded)
		}
	}
	return nil, wants(`a text, or {"base64":"…"}`, v)
}

func parse64(dst []byte, coded string) ([]byte, error) {
	dst, err := base64.StdEncoding.Strict().AppendDecode(dst, []byte(coded))
	if err != nil {
		return nil, fmt.Errorf("it is no base64: %w", err)
	}
	return dst, nil
}
