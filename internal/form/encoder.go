package form

import (
	"encoding/binary"
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/world"
)

// Encoder is the Form of a type by Codecs.
//
// Ownership: immutable once it is made. Any goroutine may use it, as far as the codecs allow that.
type Encoder struct {
	typ     reflect.Type
	parts   []formPart
	shape   string
	trail   string  // names on the way to the field that is being added; without the type, which may be renamed
	size    uintptr // of a value
	byCodec bool
	budget  *Budget // or nil
	enums   enums   // of which parts are described, and the shape says nothing

	describe  sync.Once
	described []Part
}

// encoders are for types that no Codecs decide: a program has so many types, and asks for each at
// each snapshot.
var encoders sync.Map // from encoderKey to *Encoder

type encoderKey struct {
	typ    reflect.Type
	toRead bool
}

// formPart is a run of a value's memory.
type formPart struct {
	path   string
	typ    reflect.Type
	offset uintptr
	size   uintptr
	codec  Codec // nil if the layout writes it
	*Layout
}

// text is the codec of strings without a registered one.
var text = textCodec{funcs[string]{
	write: func(dst []byte, s *string) []byte { return append(dst, *s...) },
	scan: func(src []byte, s *string) error {
		*s = string(src)
		return nil
	},
}}

// textCodec tells text from a registered codec of strings.
type textCodec struct{ funcs[string] }

// Form returns the form of a type. Callers make it once, when they learn the types of a world or of
// a file. The error is ErrNoCodec, and names the field, if a codec is missing or, with toRead set,
// has no Read.
func (c *Codecs) Form(t reflect.Type, toRead bool) (Form, error) {
	f, err := c.Encoder(t, toRead)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoCodec, err)
	}
	return f, nil
}

// Encoder is Form. Its error only says what is wrong with the type.
func (c *Codecs) Encoder(t reflect.Type, toRead bool) (*Encoder, error) {
	if c.Len() > 0 || c.limit() != nil {
		return c.encoder(t, toRead)
	}
	key := encoderKey{t, toRead}
	if f, ok := encoders.Load(key); ok {
		return f.(*Encoder), nil
	}
	f, err := c.encoder(t, toRead)
	if err == nil {
		encoders.Store(key, f)
	}
	return f, err
}

func (c *Codecs) encoder(t reflect.Type, toRead bool) (*Encoder, error) {
	f := &Encoder{typ: t, size: t.Size(), budget: c.limit()}
	if c != nil {
		f.enums = c.enums
	}
	user := Wrapped(t)
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

// can reports whether the user can name a type: otherwise an error suggests the type around it.
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

// Wrapped returns the user's type in a type of package world, or the type itself.
func Wrapped(t reflect.Type) reflect.Type {
	if wraps(t) {
		return t.Field(0).Type
	}
	return t
}

// add adds a part of a value: the part has type t, at an offset, within the type of the naming. A
// struct that can be written neither as memory nor as CBOR is added field by field. After an error
// the encoder is of no use.
func (e *Encoder) add(c *Codecs, n naming, t reflect.Type, at uintptr, path string, toRead bool) error {
	if x := c.Of(t); x != nil {
		if toRead && !x.CanRead() {
			return fmt.Errorf("the codec of %s, a %v, has no Read", path, t)
		}
		e.byCodec = true
		e.encoded(x, t, at, path, fmt.Sprintf("codec(%v)", t))
		return nil
	}
	if t.Kind() == reflect.String {
		e.encoded(text, t, at, path, "text")
		return nil
	}
	l, err := LayoutOf(t, path)
	if err == nil {
		e.parts = append(e.parts, formPart{path: path, typ: t, offset: at, size: t.Size(), Layout: l})
		e.shape += fmt.Sprintf(" %s%s@%d", e.trail, shapeOf(t, "", nil), at)
		return nil
	}
	if t.Kind() != reflect.Struct || marshals(t) {
		if err = byCBOR(t, path, nil); err == nil {
			e.encoded(newCBORCodec(t, c.limit()), t, at, path, fmt.Sprintf("cbor(%s)", deep(t, nil)))
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
			name, trail := path+"."+x.Name, e.trail
			if wrapper {
				name = x.Type.String()
			} else {
				e.trail += x.Name + " "
			}
			if err := e.add(c, within, x.Type, at+x.Offset, name, toRead); err != nil {
				return err
			}
			e.trail = trail
		}
	}
	return nil
}

// encoded adds a part that a codec writes.
func (e *Encoder) encoded(x Codec, t reflect.Type, at uintptr, path, shape string) {
	e.parts = append(e.parts, formPart{path: path, typ: t, offset: at, codec: x})
	e.shape += fmt.Sprintf(" %s%s@%d", e.trail, shape, at)
}

// shapeOf describes the layout of a type without pointers: where the fields of structs are, and
// then how large the struct is. handles is the name for handles; if it is empty, they are described
// as numbers. An enum of e is followed by its constants.
func shapeOf(t reflect.Type, handles string, e enums) string {
	switch t.Kind() {
	case reflect.Uint64:
		if handles != "" && t == reflect.TypeFor[handle.Handle]() {
			return handles
		}
	case reflect.Struct:
		s := "{"
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				s += fmt.Sprintf("%s %s@%d;", f.Name, shapeOf(f.Type, handles, e), f.Offset)
			}
		}
		return fmt.Sprintf("%s%d}", s, t.Size())
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), shapeOf(t.Elem(), handles, e))
	}
	return t.Kind().String() + e.suffix(t)
}

// Shape is the method of Form.
func (e *Encoder) Shape() string { return e.shape }

// Append appends the parts of a value, with the length of what a codec writes. It may run code of
// the user, on the caller's goroutine.
func (e *Encoder) Append(dst []byte, value mem.Cells) []byte {
	for i := range e.parts {
		p := &e.parts[i]
		switch {
		case p.codec != nil:
			at := len(dst)
			dst = p.codec.Append(append(dst, make([]byte, lengthBytes)...), value.Part(p.offset))
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-lengthBytes))
		case p.Whole:
			dst = append(dst, value.PartBytes(p.offset, p.size)...)
		case p.size > 0:
			at := len(dst)
			memory := value.PartBytes(p.offset, p.size)
			dst = append(dst, memory...)
			p.Masked(dst[at:], memory)
		}
	}
	return dst
}

// lengthBytes is the size of the length before the bytes of a codec.
const lengthBytes = 4

// errShort is for bytes that end too soon.
var errShort = errors.New("a value ends before its last field")

// Read reads the parts of a value as Append wrote them, and returns the bytes after it. It may run
// code of the user, on the caller's goroutine. After an error some parts may have been read.
func (e *Encoder) Read(src []byte, value mem.Cells) (rest []byte, err error) {
	for i := range e.parts {
		p := &e.parts[i]
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
			err = p.codec.Read(src[:n:n], value.Part(p.offset))
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

// flat returns the layout of a form for values of numbers alone, or nil.
func (e *Encoder) flat() *Layout {
	if len(e.parts) == 1 && e.parts[0].codec == nil && e.parts[0].size == e.size {
		return e.parts[0].Layout
	}
	return nil
}

// AppendAll appends all values, at once if they are numbers alone.
func (e *Encoder) AppendAll(dst []byte, values mem.Cells) []byte {
	l := e.flat()
	switch {
	case l == nil:
		for i := range values.Len {
			dst = e.Append(dst, values.At(i))
		}
		return dst
	case l.Whole || l.Size == 0:
		return append(dst, values.Bytes...)
	}
	at := len(dst)
	dst = slices.Grow(dst, len(values.Bytes))[:at+len(values.Bytes)]
	l.Masked(dst[at:], values.Bytes)
	return dst
}

// ReadAll reads all values, at once if they are numbers alone. After an error some values may have
// been read.
func (e *Encoder) ReadAll(src []byte, values mem.Cells) (rest []byte, err error) {
	l := e.flat()
	if l == nil {
		for i := range values.Len {
			if src, err = e.Read(src, values.At(i)); err != nil {
				return nil, err
			}
		}
		return src, nil
	}
	n := len(values.Bytes)
	if len(src) < n {
		return nil, errShort
	}
	if l.Whole || l.Size == 0 {
		copy(values.Bytes, src)
	} else {
		l.Masked(values.Bytes, src[:n])
	}
	for _, at := range l.bools {
		for ; at < n; at += l.Size {
			values.Bytes[at] &= 1
		}
	}
	return src[n:], nil
}

// Whole is the method of Form.
func (e *Encoder) Whole() bool {
	l := e.flat()
	return l != nil && l.Whole
}

// Least is the method of Form: codecs may write nothing but a length.
func (e *Encoder) Least() (n int) {
	for i := range e.parts {
		if e.parts[i].codec != nil {
			n += lengthBytes
		} else {
			n += int(e.parts[i].size)
		}
	}
	return n
}

// Take is the method of Form.
func (e *Encoder) Take(memory uintptr, bytes int) error {
	if e.budget == nil {
		return nil
	}
	return e.budget.Take(int64(memory) - e.budget.each*int64(bytes))
}

// ByCodec is the method of Form.
func (e *Encoder) ByCodec() bool { return e.byCodec }

// Parts describes the parts of the form for those who do not have the type. It must not be written.
func (e *Encoder) Parts() []Part {
	e.describe.Do(func() { e.described = e.describeParts() })
	return e.described
}

func (e *Encoder) describeParts() (all []Part) {
	for _, p := range e.parts {
		p.path = e.pathOf(p.path)
		x := Part{Offset: int(p.offset), Size: int(p.size), ByCodec: p.codec != nil}
		if p.codec != nil {
			how := fmt.Sprintf("%v, by a codec", p.typ)
			switch p.codec.(type) {
			case cborCodec:
				how = deep(p.typ, e.enums) + ", as CBOR"
			case textCodec:
				how = "string"
			}
			x.Fields = []Field{{Path: p.path, Type: how, Offset: int(p.offset)}}
		} else {
			x.Fields = appendFields(nil, p.typ, p.path, p.offset, e.enums)
		}
		all = append(all, x)
	}
	return all
}

// pathOf returns a path that begins with the type, as fields of memory have it, also for one that
// began with the type of a field for the sake of errors.
func (e *Encoder) pathOf(path string) string {
	if !wraps(e.typ) {
		return path
	}
	for i := range e.typ.NumField() {
		f := e.typ.Field(i)
		if rest, ok := strings.CutPrefix(path, f.Type.String()); ok && (rest == "" || rest[0] == '.') {
			return e.typ.String() + "." + f.Name + rest
		}
	}
	return path
}

// ReadPart is the method of Form: it calls the part's codec, which may be code of the user.
func (e *Encoder) ReadPart(part int, src []byte, value mem.Cells) error {
	p := &e.parts[part]
	return p.codec.Read(src, value.Part(p.offset))
}

// appendFields appends the fields of a type of numbers, for Parts.
func appendFields(all []Field, t reflect.Type, path string, at uintptr, e enums) []Field {
	if t.Kind() != reflect.Struct {
		return append(all, Field{Path: path, Type: shapeOf(t, "handle", e), Offset: int(at)})
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "_" {
			all = appendFields(all, f.Type, path+"."+f.Name, at+f.Offset, e)
		}
	}
	return all
}

// Layout says which bytes of a type without pointers are part of its value. A row
// is hashed as its memory with all other bytes zeroed. So floats count by their
// bits: -0 is not 0, and a NaN equals only one with the same bits.
//
//	struct { A uint8; B uint32; C uint8 }
//
//	memory  A . . . B B B B C . . .
//	mask    1 0 0 0 1 1 1 1 1 0 0 0
//
// Immutable.
type Layout struct {
	Size  int
	Whole bool     // every byte counts
	Mask  []uint64 // little endian; for whole rows that end at a multiple of 8 bytes, and at least maskBytes long
	bools []int    // offsets of those in a row
}

// maskBytes is the least length of a mask: shorter loops cost more.
const maskBytes = 512

// layouts has the layouts of all types that were asked for: the hash of each new world asks again.
var layouts sync.Map // from reflect.Type to *Layout

// LayoutOf returns the layout of a type. path is its name in errors. The error says which part of the
// type is not a number.
func LayoutOf(t reflect.Type, path string) (*Layout, error) {
	if l, ok := layouts.Load(t); ok {
		return l.(*Layout), nil
	}
	l, err := layoutOf(t, path)
	if err == nil {
		layouts.Store(t, l)
	}
	return l, err
}

func layoutOf(t reflect.Type, path string) (*Layout, error) {
	counts := make([]coverage, t.Size())
	if err := cover(counts, t, 0, path); err != nil {
		return nil, err
	}
	l := &Layout{Size: len(counts), Whole: true}
	for i, c := range counts {
		l.Whole = l.Whole && c != empty
		if c == truth {
			l.bools = append(l.bools, i)
		}
	}
	if l.Whole || l.Size == 0 {
		return l, nil
	}
	length := l.Size
	for length%8 != 0 || length < maskBytes {
		length += l.Size
	}
	bytes := make([]byte, length)
	for i := range bytes {
		if counts[i%l.Size] != empty {
			bytes[i] = 0xff
		}
	}
	for i := 0; i < length; i += 8 {
		l.Mask = append(l.Mask, binary.LittleEndian.Uint64(bytes[i:]))
	}
	return l, nil
}

// coverage says what a byte holds.
type coverage uint8

const (
	empty coverage = iota
	digit          // part of a number
	truth          // a bool
)

// cover marks the bytes of a value of type t at an offset that are part of the value. It
// returns an error if they are not numbers. Fields named _ are not a part.
func cover(counts []coverage, t reflect.Type, at uintptr, path string) error {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				continue
			}
			if err := cover(counts, f.Type, at+f.Offset, path+"."+f.Name); err != nil {
				return err
			}
		}
		return nil
	case reflect.Array:
		if t.Len() == 0 {
			return nil
		}
		if err := cover(counts, t.Elem(), at, path+"[0]"); err != nil {
			return err
		}
		size := t.Elem().Size()
		for i := size; i < t.Size(); i++ { // like the first element
			counts[at+i] = counts[at+i-size]
		}
		return nil
	case reflect.Bool:
		counts[at] = truth
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		for i := range t.Size() {
			counts[at+i] = digit
		}
		return nil
	}
	return fmt.Errorf("%s is a %s", path, kindName(t))
}

// Masked writes rows to dst, which has the same length, with all bytes zeroed that are not
// part of a value.
func (l *Layout) Masked(dst, rows []byte) {
	for len(rows) >= 8*len(l.Mask) {
		n := 8 * len(l.Mask)
		maskWords(dst[:n], rows[:n], l.Mask)
		dst, rows = dst[n:], rows[n:]
	}
	whole := len(rows) / 8
	maskWords(dst[:8*whole], rows[:8*whole], l.Mask[:whole])
	if whole < len(l.Mask) {
		for i := 8 * whole; i < len(rows); i++ {
			dst[i] = rows[i] & byte(l.Mask[whole]>>(8*(i%8)))
		}
	}
}

// maskWords writes the words of src to dst, with the bits that the mask lacks set to zero.
func maskWords(dst, src []byte, mask []uint64) {
	for _, m := range mask {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src)&m)
		dst, src = dst[8:], src[8:]
	}
}

// read copies a row from src, to be used as a value. It zeroes bytes that are not part of the
// value, and makes bools 0 or 1.
func (l *Layout) read(row, src []byte) {
	if l.Whole {
		copy(row, src)
	} else if l.Size > 0 {
		l.Masked(row, src)
	}
	for _, at := range l.bools {
		row[at] &= 1
	}
}
