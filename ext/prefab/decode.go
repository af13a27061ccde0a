package prefab

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/number"
)

// decoder reads values of components. It is strict and knows the names of entities. Package
// encoding/json would accept members in another case, unknown ones, and ones that come twice.
type decoder struct {
	*file
	names map[string]int
}

var handleType = reflect.TypeFor[handle.Handle]()

// into reads v. Members that an object lacks keep their values. It never writes memory behind
// pointers, slices and maps, because that may be another prefab's.
func (d *decoder) into(to reflect.Value, v *value, path *path) error {
	wants := func(what string) error {
		return d.errorf(v.from, path, "want %s for a %v, not %s", what, to.Type(), v.kind())
	}
	if to.Type() == handleType {
		return d.handle(to, v, path)
	}
	if done, err := d.byMethod(to, v, path); done {
		return err
	}
	if v.is == nil {
		switch to.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			to.SetZero()
			return nil
		}
	}
	switch to.Kind() {
	case reflect.Bool:
		is, ok := v.is.(bool)
		if !ok {
			return wants("true or false")
		}
		to.SetBool(is)
	case reflect.String:
		text, ok := v.is.(string)
		if !ok {
			return wants("a string")
		}
		to.SetString(text)
	case reflect.Struct:
		return d.object(to, v, path)
	case reflect.Slice, reflect.Array:
		return d.list(to, v, path)
	case reflect.Map:
		return d.mapping(to, v, path)
	case reflect.Pointer:
		p := reflect.New(to.Type().Elem())
		if !to.IsNil() {
			p.Elem().Set(to.Elem())
		}
		if err := d.into(p.Elem(), v, path); err != nil {
			return err
		}
		to.Set(p)
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return d.errorf(v.from, path, "a %v is not read from JSON; give its type UnmarshalJSON", to.Type())
	default:
		text, ok := v.is.(json.Number)
		if !ok {
			return wants("a number")
		}
		if err := setNumber(to, text.String()); err != nil {
			return d.errorf(v.from, path, "%w", err)
		}
	}
	return nil
}

// setNumber stores a number of any kind.
func setNumber(to reflect.Value, text string) error {
	err := number.Set(to, text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s does not fit in %v", short(text), to.Type())
	case err != nil:
		return fmt.Errorf("want a whole number for a %v, not %s", to.Type(), short(text))
	}
	return nil
}

// handle reads "$axe", which stands for an entity of the prefab, or a handle's own text.
func (d *decoder) handle(to reflect.Value, v *value, path *path) error {
	h := handle.None
	text, ok := v.is.(string)
	switch name, local := strings.CutPrefix(text, "$"); {
	case v.is == nil:
	case !ok:
		return d.errorf(v.from, path, `want "$" and the name of an entity, or a handle, not %s`, v.kind())
	case local:
		i, ok := d.names[name]
		if !ok {
			return d.errorf(v.from, path, "no entity of the prefab has the name %q", name)
		}
		h = Local(i)
	default:
		var err error
		if h, err = handle.Parse(text); err != nil {
			return d.errorf(v.from, path, "%w", err)
		}
	}
	to.SetUint(uint64(h))
	return nil
}

// byMethod reads a value by the methods that its type has for JSON or text.
func (d *decoder) byMethod(to reflect.Value, v *value, path *path) (done bool, err error) {
	fresh := reflect.New(to.Type())
	switch x := fresh.Interface().(type) {
	case json.Unmarshaler:
		err = x.UnmarshalJSON(d.data[v.from:v.to])
	case encoding.TextUnmarshaler:
		text, ok := v.is.(string)
		if !ok {
			return true, d.errorf(v.from, path, "want a string for a %v, not %s", to.Type(), v.kind())
		}
		err = x.UnmarshalText([]byte(text))
	default:
		return false, nil
	}
	if err != nil {
		return true, d.errorf(v.from, path, "%w", err)
	}
	to.Set(fresh.Elem())
	return true, nil
}

// object reads a struct.
func (d *decoder) object(to reflect.Value, v *value, path *path) error {
	all, ok := v.is.([]member)
	if !ok {
		return d.errorf(v.from, path, "want an object for a %v, not %s", to.Type(), v.kind())
	}
	for i := range all {
		m := &all[i]
		at := fieldNamed(to.Type(), m.name)
		if at < 0 {
			return d.errorf(m.at, path, "%v has no field %q that is exported", to.Type(), m.name)
		}
		if err := d.into(to.Field(at), &m.value, path.member(m.name)); err != nil {
			return err
		}
	}
	return nil
}

// fieldNamed returns the field of a struct that has a name in JSON, or -1.
func fieldNamed(t reflect.Type, name string) int {
	for i := range t.NumField() {
		f := t.Field(i)
		called, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if called == "" {
			called = f.Name
		}
		if f.IsExported() && called == name && f.Tag.Get("json") != "-" {
			return i
		}
	}
	return -1
}

// list reads a slice or array. A slice of bytes is a string in base64.
func (d *decoder) list(to reflect.Value, v *value, path *path) error {
	if text, ok := v.is.(string); ok && to.Kind() == reflect.Slice && to.Type().Elem().Kind() == reflect.Uint8 {
		bytes, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return d.errorf(v.from, path, "%w", err)
		}
		to.SetBytes(bytes)
		return nil
	}
	all, ok := v.is.([]value)
	if !ok {
		return d.errorf(v.from, path, "want a list for a %v, not %s", to.Type(), v.kind())
	}
	if to.Kind() == reflect.Slice {
		to.Set(reflect.MakeSlice(to.Type(), len(all), len(all)))
	} else if len(all) != to.Len() {
		return d.errorf(v.from, path, "want %d elements for a %v, not %d", to.Len(), to.Type(), len(all))
	}
	for i := range all {
		if err := d.into(to.Index(i), &all[i], path.element(i)); err != nil {
			return err
		}
	}
	return nil
}

// mapping reads a map, whose keys are strings, or numbers, or have UnmarshalText.
func (d *decoder) mapping(to reflect.Value, v *value, path *path) error {
	all, ok := v.is.([]member)
	if !ok {
		return d.errorf(v.from, path, "want an object for a %v, not %s", to.Type(), v.kind())
	}
	made := reflect.MakeMapWithSize(to.Type(), len(all))
	for i := range all {
		m := &all[i]
		key, elem := reflect.New(to.Type().Key()).Elem(), reflect.New(to.Type().Elem()).Elem()
		k := value{m.at, m.end, m.name}
		if key.CanInt() || key.CanUint() && key.Type() != handleType {
			if err := setNumber(key, m.name); err != nil {
				return d.errorf(m.at, path, "%w", err)
			}
		} else if err := d.into(key, &k, path); err != nil {
			return err
		}
		if made.MapIndex(key).IsValid() {
			return d.errorf(m.at, path, "%q is there twice", m.name)
		}
		if err := d.into(elem, &m.value, path.member(m.name)); err != nil {
			return err
		}
		made.SetMapIndex(key, elem)
	}
	to.Set(made)
	return nil
}

// path is the way to a value in a file; it becomes text only in an error. nil is the path of the
// whole file.
type path struct {
	in   *path
	name string // of a member
	at   int    // in a list; -1: it is a member
}

func (p *path) member(name string) *path { return &path{p, name, -1} }

func (p *path) element(at int) *path { return &path{p, "", at} }

// String returns the path as `orc.children[2].place`, with the middle cut out if it is long.
func (p *path) String() string {
	text := string(p.append(nil))
	if len(text) <= 2*shortMost {
		return text
	}
	from := len(text) - shortMost
	for !utf8.RuneStart(text[from]) {
		from++
	}
	return short(text) + text[from:]
}

// append appends the text. A path has at most depthMost parts, and a few more that Load itself
// names.
func (p *path) append(dst []byte) []byte {
	switch {
	case p == nil:
		return dst
	case p.at >= 0:
		return append(strconv.AppendInt(append(p.in.append(dst), '['), int64(p.at), 10), ']')
	}
	if dst = p.in.append(dst); len(dst) > 0 {
		dst = append(dst, '.')
	}
	return append(dst, short(p.name)...)
}

// shortMost is how many bytes of a text of a file an error shows.
const shortMost = 80

// short cuts a text.
func short(text string) string {
	if len(text) <= shortMost {
		return text
	}
	to := shortMost
	for !utf8.RuneStart(text[to]) {
		to--
	}
	return text[:to] + "…"
}
