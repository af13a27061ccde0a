package inspect

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/atoll-sim/atoll/handle"
)

// Limits of a value that is shown. An ellipsis stands for what is left out.
const (
	valueMax    = 16 << 10 // bytes of JSON, about
	valueDepth  = 8
	elementsMax = 256
	textMax     = 4 << 10
	wholeMost   = 1 << 53 // the largest integer that all readers of JSON keep exactly
)

var handleType = reflect.TypeFor[handle.Handle]()

// encoder writes a value as JSON. NaN, infinities and large integers become text. Invalid UTF-8
// is repaired. Cycles are cut.
//
// Ownership: the goroutine that writes an answer.
type encoder struct {
	dst     []byte
	end     int  // of the bytes that it may write, about
	methods bool // call MarshalJSON and MarshalText of the value's types
}

// appendValue appends a value as JSON. With methods, it calls MarshalJSON and MarshalText of users'
// types: then the value must be a copy that shares nothing with the world.
func appendValue(dst []byte, v reflect.Value, methods bool) []byte {
	e := encoder{dst, len(dst) + valueMax, methods}
	e.value(v, 0)
	return e.dst
}

// text writes a string, cut if it is long.
func (e *encoder) text(s string) {
	if len(s) > textMax {
		cut := textMax
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	e.dst = appendText(e.dst, s)
}

// appendComma separates a value, or a member, from the one before, if there is one.
func appendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last != '{' && last != '[' {
		dst = append(dst, ',')
	}
	return dst
}

// appendText appends a string as JSON.
func appendText(dst []byte, s string) []byte {
	text, _ := json.Marshal(s) // of a string
	return append(dst, text...)
}

// appendWhole appends an integer to an answer, as text if readers of JSON may not keep it exactly.
func appendWhole(dst []byte, v reflect.Value) []byte {
	if v.CanInt() {
		if n := v.Int(); n > wholeMost || n < -wholeMost {
			return fmt.Appendf(dst, `"%d"`, n)
		}
		return strconv.AppendInt(dst, v.Int(), 10)
	}
	if n := v.Uint(); n > wholeMost {
		return fmt.Appendf(dst, `"%d"`, n)
	}
	return strconv.AppendUint(dst, v.Uint(), 10)
}

// appendFloat appends a float, as text if it is NaN or infinite.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(strconv.AppendFloat(append(dst, '"'), f, 'g', -1, bits), '"')
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

// value writes a value inside of depth others.
func (e *encoder) value(v reflect.Value, depth int) {
	switch {
	case !v.IsValid():
		e.dst = append(e.dst, "null"...)
		return
	case v.Type() == handleType:
		e.text(handle.Handle(v.Uint()).String())
		return
	case len(e.dst) > e.end || depth > valueDepth:
		e.dst = append(e.dst, `"…"`...)
		return
	case e.methods && e.byMethod(v):
		return
	}
	switch k := v.Kind(); k {
	case reflect.Bool:
		e.dst = strconv.AppendBool(e.dst, v.Bool())
	case reflect.String:
		e.text(v.String())
	case reflect.Float32, reflect.Float64:
		e.dst = appendFloat(e.dst, v.Float(), v.Type().Bits())
	case reflect.Complex64, reflect.Complex128:
		e.text(fmt.Sprint(v.Complex()))
	case reflect.Struct:
		e.dst = append(e.dst, '{')
		for i := range v.NumField() {
			if t := v.Type().Field(i); t.Name != "_" {
				e.member(t.Name)
				e.value(v.Field(i), depth+1)
			}
		}
		e.dst = append(e.dst, '}')
	case reflect.Array, reflect.Slice:
		e.list(v, depth)
	case reflect.Map:
		e.mapping(v, depth)
	case reflect.Pointer, reflect.Interface:
		e.value(v.Elem(), depth+1)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		e.text(v.Type().String())
	default:
		e.dst = appendWhole(e.dst, v)
	}
}

// member begins a member of an object.
func (e *encoder) member(name string) {
	e.dst = appendComma(e.dst)
	e.text(name)
	e.dst = append(e.dst, ':')
}

// list writes an array or a slice, or the beginning of a long one.
func (e *encoder) list(v reflect.Value, depth int) {
	if v.Kind() == reflect.Slice {
		if v.IsNil() {
			e.dst = append(e.dst, "null"...)
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			e.text(base64.StdEncoding.EncodeToString(v.Bytes()[:min(v.Len(), textMax/2)]))
			return
		}
	}
	e.dst = append(e.dst, '[')
	for i := range v.Len() {
		e.dst = appendComma(e.dst)
		if i == elementsMax || len(e.dst) > e.end {
			e.text(fmt.Sprintf("… %d more", v.Len()-i))
			break
		}
		e.value(v.Index(i), depth+1)
	}
	e.dst = append(e.dst, ']')
}

// mapping writes a map, or a part of a large one.
func (e *encoder) mapping(v reflect.Value, depth int) {
	if v.IsNil() {
		e.dst = append(e.dst, "null"...)
		return
	}
	some := map[string]reflect.Value{}
	for all := v.MapRange(); all.Next() && len(some) < elementsMax; {
		some[e.key(all.Key())] = all.Value()
	}
	e.dst = append(e.dst, '{')
	for _, key := range slices.Sorted(maps.Keys(some)) {
		e.member(key)
		e.value(some[key], depth+1)
	}
	if more := v.Len() - len(some); more > 0 {
		e.member("…")
		e.text(fmt.Sprintf("%d more", more))
	}
	e.dst = append(e.dst, '}')
}

// key returns a key of a map as text.
func (e *encoder) key(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return v.String()
	}
	return string(appendValue(nil, v, e.methods))
}

// byMethod writes a value by its type's method for that. If the method fails or panics, it writes a
// text that says so. It does nothing, and returns false, for types without one.
func (e *encoder) byMethod(v reflect.Value) (done bool) {
	if !v.CanInterface() || v.Kind() == reflect.Pointer && v.IsNil() {
		return false
	}
	x := v.Interface()
	if v.CanAddr() {
		x = v.Addr().Interface()
	}
	defer func() {
		if p := recover(); p != nil {
			e.text(fmt.Sprintf("%v panicked as it was written: %v", v.Type(), p))
			done = true
		}
	}()
	var text []byte
	var err error
	switch x := x.(type) {
	case json.Marshaler:
		if text, err = json.Marshal(x); err == nil && len(text) > valueMax {
			err = fmt.Errorf("%d bytes are too many to show", len(text))
		}
		if err == nil {
			e.dst = append(e.dst, text...)
			return true
		}
	case encoding.TextMarshaler:
		if text, err = x.MarshalText(); err == nil {
			e.text(string(text))
			return true
		}
	default:
		return false
	}
	e.text(fmt.Sprintf("%v: %v", v.Type(), err))
	return true
}
