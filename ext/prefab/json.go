package prefab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// file is a file of prefabs. Its values know their offsets; package encoding/json gives those only
// with errors.
type file struct {
	name string
	data []byte
}

// errorf returns an error about what is at an offset. It shortens texts of the file.
func (f *file) errorf(offset int, at *path, format string, args ...any) error {
	line := 1 + bytes.Count(f.data[:max(0, min(offset, len(f.data)))], []byte("\n"))
	for i, x := range args {
		if text, ok := x.(string); ok {
			args[i] = short(text)
		}
	}
	where := at.String()
	if where != "" {
		where += ": "
	}
	return fmt.Errorf("prefab: %s:%d: %s%w", f.name, line, where, fmt.Errorf(format, args...))
}

// value is a JSON value.
type value struct {
	from, to int // in the data
	is       any // string, json.Number, bool, nil; []value; []member
}

// member is a member of an object.
type member struct {
	name    string
	at, end int // where the name is
	value
}

// depthMost is how deep values may be nested.
const depthMost = 100

// parse reads the whole file.
func (f *file) parse() (value, error) {
	if at := invalidAt(f.data); at >= 0 {
		return value{}, f.errorf(at, nil, "it is not UTF-8")
	}
	var raw json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(f.data, &raw); errors.As(err, &syntax) {
		return value{}, f.errorf(int(syntax.Offset)-1, nil, "%w", err)
	} else if err != nil {
		return value{}, f.errorf(0, nil, "%w", err)
	}
	d := json.NewDecoder(bytes.NewReader(f.data))
	d.UseNumber()
	return f.value(d, nil, depthMost)
}

// invalidAt returns where data stops being UTF-8, or -1.
func invalidAt(data []byte) int {
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// next returns the next token, and where it is. The data is valid JSON.
func (f *file) next(d *json.Decoder) (token json.Token, from, to int) {
	from = int(d.InputOffset())
	for from < len(f.data) && bytes.IndexByte([]byte(" \t\r\n,:"), f.data[from]) >= 0 {
		from++
	}
	token, err := d.Token()
	if err != nil {
		panic(fmt.Sprintf("prefab: JSON that was valid is not: %v", err))
	}
	return token, from, int(d.InputOffset())
}

func (f *file) value(d *json.Decoder, at *path, depth int) (v value, err error) {
	token, from, to := f.next(d)
	v = value{from, to, token}
	if depth == 0 {
		return v, f.errorf(from, at, "it is nested more than %d deep", depthMost)
	}
	switch token {
	case json.Delim('['):
		all := []value{}
		for d.More() {
			one, err := f.value(d, at.element(len(all)), depth-1)
			if err != nil {
				return v, err
			}
			all = append(all, one)
		}
		v.is = all
	case json.Delim('{'):
		if v.is, err = f.members(d, at, depth); err != nil {
			return v, err
		}
	default:
		return v, nil
	}
	_, _, v.to = f.next(d)
	return v, nil
}

// members reads the members of an object. Two with the same name are an error.
func (f *file) members(d *json.Decoder, in *path, depth int) (all []member, err error) {
	all, seen := []member{}, map[string]bool{}
	for d.More() {
		token, at, end := f.next(d)
		name := token.(string)
		if seen[name] {
			return nil, f.errorf(at, in, "%q is there twice", name)
		}
		seen[name] = true
		v, err := f.value(d, in.member(name), depth-1)
		if err != nil {
			return nil, err
		}
		all = append(all, member{name, at, end, v})
	}
	return all, nil
}

// kind says what a value is, for errors.
func (v *value) kind() string {
	switch v.is.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a bool"
	case []value:
		return "a list"
	case []member:
		return "an object"
	}
	return "null"
}
