package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"go/token"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/world"
)

// form is a extend.Form.
type form struct {
	parts   []formPart
	shape   string
	trail   string  // names on the way to the field that is being added; without the type, which may be renamed
	size    uintptr // of a value
	byCodec bool
}

// formPart is a run of a value's memory.
type formPart struct {
	path   string
	typ    reflect.Type
	offset uintptr
	size   uintptr
	codec  appender // nil if the layout writes it
	*layout
}

// textCodec is the codec of strings without a registered one.
type textCodec struct{ Codec[string] }

var text = textCodec{Codec[string]{
	Append: func(dst []byte, s *string) []byte { return append(dst, *s...) },
	Read: func(src []byte, s *string) error {
		*s = string(src)
		return nil
	},
}}

func init() {
	extend.FormOf = func(codecs any, t reflect.Type, toRead bool) (extend.Form, error) {
		return codecs.(*Codecs).form(t, toRead)
	}
}

// form returns the form of a type; see extend.FormOf.
func (c *Codecs) form(t reflect.Type, toRead bool) (*form, error) {
	f, err := c.newForm(t, toRead)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoCodec, err)
	}
	return f, nil
}

// newForm is form. Its error only says what is wrong with the type.
func (c *Codecs) newForm(t reflect.Type, toRead bool) (*form, error) {
	f := &form{size: t.Size()}
	user := t
	if wraps(t) {
		user = t.Field(0).Type
	}
	if err := f.add(c, naming{user.PkgPath(), user}, t, 0, t.String(), toRead); err != nil {
		return nil, err
	}
	return f, nil
}

// naming finds the type for which an error should ask the user to register a codec.
type naming struct {
	pkg string       // the user's package, which can name its own types
	in  reflect.Type // the innermost type around a field that the user can name
}

// can reports whether the user can name a type.
func (n naming) can(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		if t.Name() == "" {
			return n.can(t.Elem())
		}
	case reflect.Map:
		if t.Name() == "" {
			return n.can(t.Key()) && n.can(t.Elem())
		}
	}
	return t.PkgPath() == "" || t.PkgPath() == n.pkg || token.IsExported(t.Name())
}

// wraps reports whether a type is one of package world that contains the user's.
func wraps(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() > 0 && t.PkgPath() == reflect.TypeFor[world.World]().PkgPath() && !token.IsExported(t.Name())
}

// add adds a part of a value: the part has type t, within the type of the naming.
func (f *form) add(c *Codecs, n naming, t reflect.Type, at uintptr, path string, toRead bool) error {
	if x := c.of(t); x != nil {
		if toRead && !x.canRead() {
			return fmt.Errorf("the codec of %s, a %v, has no Read", path, t)
		}
		f.byCodec = true
		f.encoded(x, t, at, path, fmt.Sprintf("codec(%v)", t))
		return nil
	}
	if t.Kind() == reflect.String {
		f.encoded(text, t, at, path, "text")
		return nil
	}
	l, err := layoutOf(t, path)
	if err == nil {
		f.parts = append(f.parts, formPart{path: path, typ: t, offset: at, size: t.Size(), layout: l})
		f.shape += fmt.Sprintf(" %s%s@%d", f.trail, shapeOf(t, ""), at)
		return nil
	}
	if t.Kind() != reflect.Struct || marshals(t) {
		if err = byCBOR(t, path, nil); err == nil {
			f.encoded(newCBORCodec(t), t, at, path, fmt.Sprintf("cbor(%s)", deep(t)))
			return nil
		}
		if n.in != t && n.can(t) {
			return fmt.Errorf("%w; register a state.Codec[%v], or one of a type that has it: state.Codec[%v]", err, t, n.in)
		}
		return fmt.Errorf("%w; register a state.Codec[%v]", err, n.in)
	}
	if toRead && mem.IsUnique(t) {
		return fmt.Errorf("%s is a %v, which only unique.Make can make; register a state.Codec[%v]", path, t, t)
	}
	within, wrapper := n, wraps(t)
	if !wrapper && n.can(t) {
		within.in = t
	}
	for i := range t.NumField() {
		if x := t.Field(i); x.Name != "_" {
			name, trail := path+"."+x.Name, f.trail
			if wrapper {
				name = x.Type.String()
			} else {
				f.trail += x.Name + " "
			}
			if err := f.add(c, within, x.Type, at+x.Offset, name, toRead); err != nil {
				return err
			}
			f.trail = trail
		}
	}
	return nil
}

// encoded adds a part that a codec writes.
func (f *form) encoded(x appender, t reflect.Type, at uintptr, path, shape string) {
	f.parts = append(f.parts, formPart{path: path, typ: t, offset: at, codec: x})
	f.shape += fmt.Sprintf(" %s%s@%d", f.trail, shape, at)
}

// shapeOf describes the layout of a type without pointers: where the fields of structs are, and
// then how large the struct is. handles is the name for handles; if it is empty, they are described
// as numbers.
func shapeOf(t reflect.Type, handles string) string {
	switch t.Kind() {
	case reflect.Uint64:
		if handles != "" && t == reflect.TypeFor[handle.Handle]() {
			return handles
		}
	case reflect.Struct:
		s := "{"
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				s += fmt.Sprintf("%s %s@%d;", f.Name, shapeOf(f.Type, handles), f.Offset)
			}
		}
		return fmt.Sprintf("%s%d}", s, t.Size())
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), shapeOf(t.Elem(), handles))
	}
	return t.Kind().String()
}

func (f *form) Shape() string { return f.shape }

func (f *form) Append(dst []byte, value mem.Cells) []byte {
	for i := range f.parts {
		p := &f.parts[i]
		switch {
		case p.codec != nil:
			at := len(dst)
			dst = p.codec.append(append(dst, make([]byte, lengthBytes)...), value.Part(p.offset))
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-lengthBytes))
		case p.whole:
			dst = append(dst, value.PartBytes(p.offset, p.size)...)
		case p.size > 0:
			at := len(dst)
			memory := value.PartBytes(p.offset, p.size)
			dst = append(dst, memory...)
			p.masked(dst[at:], memory)
		}
	}
	return dst
}

// lengthBytes is the size of the length before the bytes of a codec.
const lengthBytes = 4

// errShort is for bytes that end too soon.
var errShort = errors.New("a value ends before its last field")

func (f *form) Read(src []byte, value mem.Cells) (rest []byte, err error) {
	for i := range f.parts {
		p := &f.parts[i]
		n := uint64(p.size)
		if p.codec != nil {
			if len(src) < lengthBytes {
				return nil, errShort
			}
			n = uint64(binary.LittleEndian.Uint32(src))
			src = src[lengthBytes:]
		}
		if uint64(len(src)) < n {
			return nil, errShort
		}
		if p.codec != nil {
			err = p.codec.read(src[:n:n], value.Part(p.offset))
		} else {
			p.read(value.PartBytes(p.offset, p.size), src[:n])
		}
		if err != nil {
			return nil, err
		}
		src = src[n:]
	}
	return src, nil
}
