package form

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"go/token"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// ErrNoCodec is state.ErrNoCodec.
var ErrNoCodec = errors.New("state: no codec")

// Codecs is a state.Codecs.
//
// Ownership: one goroutine at a time.
type Codecs struct {
	byType map[reflect.Type]Codec
	enums  enums
	budget *Budget // of what is read as CBOR, or nil
}

// Codec writes values of one type, and reads them if CanRead says so. See state.Codec.
type Codec interface {
	Append(dst []byte, v mem.Pointer) []byte
	Read(src []byte, v mem.Pointer) error
	CanRead() bool
}

// funcs is the Codec of T by two functions.
//
// Ownership: immutable. It calls the user's functions on the goroutine of its caller.
type funcs[T any] struct {
	write func(dst []byte, v *T) []byte
	scan  func(src []byte, v *T) error
}

// Register is state.Register: it adds a codec by two functions. It panics if write is missing or
// the type has a codec already; nothing has changed then.
func Register[T any](to *Codecs, write func(dst []byte, v *T) []byte, scan func(src []byte, v *T) error) {
	t := reflect.TypeFor[T]()
	if write == nil {
		panic(fmt.Sprintf("state: the codec of %v has no Append", t))
	}
	if to.byType[t] != nil || to.enums[t] != nil {
		panic(fmt.Sprintf("state: %v has a codec or an enum already; register one for each type", t))
	}
	if to.byType == nil {
		to.byType = map[reflect.Type]Codec{}
	}
	to.byType[t] = funcs[T]{write, scan}
}

// Append calls the user's function.
func (f funcs[T]) Append(dst []byte, v mem.Pointer) []byte { return f.write(dst, mem.As[T](v)) }

// Read calls the user's function. After an error v may hold a part of the value.
func (f funcs[T]) Read(src []byte, v mem.Pointer) error { return f.scan(src, mem.As[T](v)) }

// CanRead reports whether the user has given a function to read.
func (f funcs[T]) CanRead() bool { return f.scan != nil }

// Len returns how many codecs and enums there are. None is ever removed or changed.
func (c *Codecs) Len() int {
	if c == nil {
		return 0
	}
	return len(c.byType) + len(c.enums)
}

// Of returns the codec of a type, or nil. It changes nothing.
func (c *Codecs) Of(t reflect.Type) Codec {
	if c == nil {
		return nil
	}
	return c.byType[t]
}

// cborCodec is the codec of a type without a registered one: CBOR, whose bytes depend on the
// value alone.
//
// Ownership: immutable.
type cborCodec struct {
	typ reflect.Type
	as  reflect.Type // the type that is written and read, with the same memory
	// exact is read instead where there may be a signalling float32: cborReader would make it quiet.
	exact  reflect.Type
	budget *Budget // or nil: the bytes are the program's own
	cost   *cost   // counted with a budget
}

// newCBORCodec returns the codec of a type that byCBOR has found to lose nothing. budget may be nil.
func newCBORCodec(t reflect.Type, budget *Budget) cborCodec {
	as := others.within(t)
	c := cborCodec{typ: t, as: as, exact: exactOthers.within(as), budget: budget}
	if budget != nil {
		c.cost = costOf(as)
	}
	return c
}

var cborWriter = must(cbor.EncOptions{
	Sort: cbor.SortCoreDeterministic, ShortestFloat: cbor.ShortestFloatNone, NaNConvert: cbor.NaNConvertNone,
	InfConvert: cbor.InfConvertNone, NilContainers: cbor.NilContainerAsNull,
}.UserBufferEncMode())

var cborReader = must(cbor.DecOptions{
	DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxNestedLevels: 256, MaxArrayElements: 1<<31 - 1, MaxMapPairs: 1<<31 - 1,
	IndefLength: cbor.IndefLengthForbidden, UTF8: cbor.UTF8DecodeInvalid, FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
	ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
}.DecMode())

// must returns a mode whose options are known to be right.
func must[M any](mode M, err error) M {
	if err != nil {
		panic(err)
	}
	return mode
}

var cborBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Append writes a value as CBOR. If a user's method returns an error, it panics with a *CodecError,
// which AsError makes an error again. Any goroutine may call it.
func (c cborCodec) Append(dst []byte, v mem.Pointer) []byte {
	b := cborBuffers.Get().(*bytes.Buffer)
	defer cborBuffers.Put(b)
	b.Reset()
	if err := cborWriter.MarshalToBuffer(reflect.NewAt(c.as, v.Address).Interface(), b); err != nil {
		panic(&CodecError{Err: fmt.Errorf("state: a %v as CBOR: %w", c.typ, err)})
	}
	return append(dst, b.Bytes()...)
}

// Read reads a value from CBOR, which must hold nothing else. Any goroutine may call it. After an
// error v may hold a part of the value. It wraps extend.ErrMemory, and nothing was read, for what is
// beyond the budget.
func (c cborCodec) Read(src []byte, v mem.Pointer) error {
	if c.budget != nil {
		if err := c.budget.take(c.cost, src); err != nil {
			return fmt.Errorf("state: a %v as CBOR: %w", c.typ, err)
		}
	}
	as := c.as
	if c.exact != as && maySignal(src) {
		as = c.exact
	}
	if err := cborReader.Unmarshal(src, reflect.NewAt(as, v.Address).Interface()); err != nil {
		return fmt.Errorf("state: a %v as CBOR: %w", c.typ, err)
	}
	return nil
}

// CanRead implements Codec: it reads all that it writes.
func (c cborCodec) CanRead() bool { return true }

// deep describes how CBOR writes a type, for the shape of a form: all its structs, with the names
// by which their fields are written. A type that writes itself is named in quotes, and an enum of e
// is followed by its constants.
func deep(t reflect.Type, e enums) string {
	switch {
	case marshals(t):
	case t.Kind() == reflect.Slice:
		return "[]" + deep(t.Elem(), e)
	case t.Kind() == reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), deep(t.Elem(), e))
	case t.Kind() == reflect.Pointer:
		return "*" + deep(t.Elem(), e)
	case t.Kind() == reflect.Map:
		return fmt.Sprintf("map[%s]%s", deep(t.Key(), e), deep(t.Elem(), e))
	case t.Kind() == reflect.Struct:
		if listed := deepFields(t, e); !writtenAsArray(t) {
			return "{" + listed + "}"
		} else {
			return strconv.Quote(t.String() + " as an array of " + listed)
		}
	default:
		return t.Kind().String() + e.suffix(t)
	}
	return strconv.Quote(t.String())
}

// deepFields is deep for the fields of a struct, and of those that are embedded in it.
func deepFields(t reflect.Type, e enums) (text string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, inner := nameInCBOR(f)
		switch {
		case f.Name == "_":
			continue
		case inner:
			text += deepFields(f.Type, e)
			continue
		case !token.IsIdentifier(name):
			name = strconv.Quote(name)
		}
		text += name + " " + deep(f.Type, e) + ";"
	}
	return text
}

// tagOf returns the name and the options of the tag that CBOR uses for a field.
func tagOf(f reflect.StructField) (name string, options []string) {
	tag := f.Tag.Get("cbor")
	if tag == "" {
		tag = f.Tag.Get("json")
	}
	all := strings.Split(tag, ",")
	return all[0], all[1:]
}

// nameInCBOR returns the name by which a field is written, and whether the field is embedded, so
// that its fields are those of the struct. A name that is a number has a suffix.
func nameInCBOR(f reflect.StructField) (name string, inner bool) {
	name, options := tagOf(f)
	inner = f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct
	if name == "" {
		name = f.Name
	}
	if slices.Contains(options, "keyasint") {
		if n, err := strconv.Atoi(name); err == nil {
			name = strconv.Itoa(n) // 01 is 1
		}
		name += keyAsInt
	}
	return name, inner
}

// writtenAsArray reports whether a struct's tag makes it an array, without names of fields.
func writtenAsArray(t reflect.Type) bool {
	f, ok := t.FieldByName("_")
	return ok && slices.Contains(strings.Split(f.Tag.Get("cbor"), ","), "toarray")
}

// AsError makes a panic of Append an error, and repeats other panics. A function that writes values
// defers it.
func AsError(err *error) {
	if v := recover(); v != nil {
		e, ok := v.(error)
		var failed *CodecError
		if !ok || !errors.As(e, &failed) {
			panic(v)
		}
		*err = e
	}
}

// What follows finds what CBOR would lose of a type, so that no field is left out silently.

// marshals reports whether a type has methods to write and read itself. Methods for CBOR take
// precedence over those for bytes.
func marshals(t reflect.Type) bool {
	is := reflect.PointerTo(t).Implements
	write, read := is(reflect.TypeFor[cbor.Marshaler]()), is(reflect.TypeFor[cbor.Unmarshaler]())
	if write || read {
		return write && read
	}
	return is(reflect.TypeFor[encoding.BinaryMarshaler]()) && is(reflect.TypeFor[encoding.BinaryUnmarshaler]())
}

// marshalsHalf reports whether a type has some of the methods to write and read itself.
func marshalsHalf(t reflect.Type) bool { return hasMethods(reflect.PointerTo(t)) }

// hasMethods reports whether a type itself has some of these methods: those that only a pointer to it
// has do not count.
func hasMethods(t reflect.Type) bool {
	return slices.ContainsFunc([]reflect.Type{
		reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.BinaryUnmarshaler](),
		reflect.TypeFor[cbor.Marshaler](), reflect.TypeFor[cbor.Unmarshaler](),
	}, t.Implements)
}

// byCBOR returns an error that says what CBOR would lose of a type. It runs once for a type, when a
// form is made. within has the types that path goes through.
func byCBOR(t reflect.Type, path string, within []reflect.Type) error {
	switch {
	case marshals(t):
		return promoted(t, path)
	case marshalsHalf(t):
		return fmt.Errorf("%s is a %v, which has a method to be written or to be read, and not both", path, t)
	case t.Name() != "" && slices.Contains(within, t):
		return fmt.Errorf("%s is a %v, which may hold itself", path, t)
	}
	within = append(within[:len(within):len(within)], t)
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return nil
	case reflect.Slice, reflect.Array:
		return byCBOR(t.Elem(), path+"[0]", within)
	case reflect.Pointer:
		if k := t.Elem().Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map {
			return fmt.Errorf("%s is a pointer to a %v, which may be nil as well", path, k)
		}
		return byCBOR(t.Elem(), path, within)
	case reflect.Map:
		switch k := t.Key().Kind(); {
		case marshalsHalf(t.Key()), k != reflect.String && (k < reflect.Bool || k > reflect.Uint64):
			return fmt.Errorf("%s has keys that are no strings or integers", path)
		}
		return byCBOR(t.Elem(), path+"[]", within)
	case reflect.Struct:
		return structByCBOR(t, path, within, map[string]bool{})
	}
	return fmt.Errorf("%s is a %s", path, kindName(t))
}

// kindName describes, for errors, a type that cannot be hashed by itself.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer, reflect.UnsafePointer:
		return "pointer"
	case reflect.Func:
		return "function"
	case reflect.Chan:
		return "channel"
	}
	return t.Kind().String()
}

// promoted returns an error if the methods by which a struct writes itself may be those of an
// embedded field, which do not write the other fields. reflect cannot tell whether they are.
func promoted(t reflect.Type, path string) error {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		alone := t.NumField() == 1 && f.Type.Kind() != reflect.Pointer && f.Type.Kind() != reflect.Interface
		if f.Anonymous && !alone && (marshalsHalf(f.Type) || hasMethods(f.Type)) {
			return fmt.Errorf("%s is a %v, which may be written by the methods of what it embeds, %s; do not embed that", path, t, f.Name)
		}
	}
	return nil
}

// structByCBOR is byCBOR for a struct, or one that is embedded in it: their fields have the same
// names. An error names the first field that CBOR would lose.
func structByCBOR(t reflect.Type, path string, within []reflect.Type, names map[string]bool) error {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue
		}
		at := path + "." + f.Name
		name, inner := nameInCBOR(f)
		if err := fieldByCBOR(f, at, name); err != nil {
			return err
		}
		if inner {
			if err := structByCBOR(f.Type, at, within, names); err != nil {
				return err
			}
			continue
		}
		if names[name] {
			return fmt.Errorf("%s has the name of another field, %q", at, name)
		}
		names[name] = true
		if err := byCBOR(f.Type, at, within); err != nil {
			return err
		}
	}
	return nil
}

// fieldByCBOR returns an error if CBOR would lose something because a field has a tag or is
// embedded. structByCBOR asks it for each field.
func fieldByCBOR(f reflect.StructField, at, name string) error {
	tag, options := tagOf(f)
	number, isNumber := strings.CutSuffix(name, keyAsInt)
	_, err := strconv.Atoi(number)
	embedded := f.Anonymous && tag == ""
	switch {
	case !f.IsExported():
		return fmt.Errorf("%s is not exported", at)
	case tag == "-" && len(options) == 0:
		return fmt.Errorf("%s is left out by its tag", at)
	case embedded && f.Type.Kind() == reflect.Struct && marshalsHalf(f.Type):
		return fmt.Errorf("%s is embedded, and has methods to be written or to be read: give it a name, as with the tag cbor:%q", at, f.Name)
	case embedded && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
		return fmt.Errorf("%s is an embedded pointer: give it a name, as with the tag cbor:%q", at, f.Name)
	case isNumber && err != nil:
		return fmt.Errorf("%s has the tag keyasint, and %q is no number", at, number)
	case omits(f.Type, options):
		return fmt.Errorf("%s is left out by omitempty or omitzero, and what is left out may not be zero", at)
	}
	return nil
}

// omits reports, for byCBOR, whether the options of a tag would leave out some values of a type
// that are not zero: an empty slice, or -0.
func omits(t reflect.Type, options []string) bool {
	k := t.Kind()
	plain := k == reflect.String || k == reflect.Pointer || k >= reflect.Bool && k <= reflect.Uint64
	if slices.Contains(options, "omitzero") {
		_, own := reflect.PointerTo(t).MethodByName("IsZero")
		_, inner := t.MethodByName("IsZero")
		return !plain || own || inner
	}
	return !plain && slices.Contains(options, "omitempty")
}

// otherTypes says which types are written and read as another type with the same memory. It returns
// nil for all types but these.
type otherTypes func(reflect.Type) reflect.Type

// others are the types whose own methods would lose or refuse values.
var others otherTypes = func(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[time.Time]():
		return reflect.TypeFor[moment]()
	case reflect.TypeFor[handle.Handle]():
		return reflect.TypeFor[anyHandle]()
	}
	return nil
}

// exactOthers are the types whose values a reader of CBOR would not keep bit by bit.
var exactOthers otherTypes = func(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Float32 && !marshals(t) {
		return reflect.TypeFor[float32Bits]()
	}
	return nil
}

// anyHandle is a handle.Handle that can be written even if it is not valid: components may hold any
// number.
type anyHandle handle.Handle

// MarshalBinary writes the bytes that a valid handle's method would.
func (a anyHandle) MarshalBinary() ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, uint64(a)), nil
}

// UnmarshalBinary reads what MarshalBinary writes. After an error the handle is unchanged.
func (a *anyHandle) UnmarshalBinary(src []byte) error {
	if len(src) != 8 {
		return fmt.Errorf("a handle of %d bytes, want 8", len(src))
	}
	*a = anyHandle(binary.BigEndian.Uint64(src))
	return nil
}

// within returns a type with the same memory as t, in which the other types stand for theirs. It is
// found once for a type, when its codec is made.
func (o otherTypes) within(t reflect.Type) reflect.Type {
	if other := o(t); other != nil {
		return other
	}
	if marshals(t) || !o.held(t) {
		return t
	}
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(o.within(t.Elem()))
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), o.within(t.Elem()))
	case reflect.Pointer:
		return reflect.PointerTo(o.within(t.Elem()))
	case reflect.Map:
		return reflect.MapOf(t.Key(), o.within(t.Elem()))
	}
	return o.withinStruct(t)
}

// withinStruct is within for a struct. Its embedded fields lose their methods, because
// reflect.StructOf does not support them. It runs once for a type.
func (o otherTypes) withinStruct(t reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		_, inner := nameInCBOR(f)
		if f.Anonymous = inner; inner {
			f.Type = o.withinStruct(f.Type)
		} else if f.Name != "_" {
			f.Type = o.within(f.Type)
		}
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// held reports whether a type that does not write itself contains a type that has another. It looks
// at the type alone, once for a codec.
func (o otherTypes) held(t reflect.Type) bool {
	switch {
	case o(t) != nil:
		return true
	case marshals(t):
		return false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
		return o.held(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" && o.held(f.Type) {
				return true
			}
		}
	}
	return false
}

// cborReader reads a float32 by way of a float64, which makes a signalling NaN quiet. The value that
// is read must be the one that was written, to the last bit: its hash is.

// float32InCBOR is the first byte of a float32; four follow.
const float32InCBOR = 0xfa

// maySignal reports whether CBOR may have a float32 that is a signalling NaN: cborCodec.Read then
// takes a slower way. The bytes may also be others, of a text.
func maySignal(src []byte) bool {
	for {
		at := bytes.IndexByte(src, float32InCBOR)
		if at < 0 || len(src) < at+5 {
			return false
		}
		src = src[at+1:]
		if n := binary.BigEndian.Uint32(src); n&0x7fc00000 == 0x7f800000 && n&0x3fffff != 0 {
			return true
		}
	}
}

// float32Bits is a float32 that is read bit by bit.
type float32Bits uint32

// UnmarshalCBOR reads what a float32 is written as. The reader of CBOR calls it. An error says that
// it is none.
func (f *float32Bits) UnmarshalCBOR(src []byte) error {
	if len(src) == 5 && src[0] == float32InCBOR {
		*f = float32Bits(binary.BigEndian.Uint32(src[1:]))
		return nil
	}
	var v float32
	err := cborReader.Unmarshal(src, &v)
	*f = float32Bits(math.Float32bits(v))
	return err
}

// moment is a time.Time that is read back as the same moment with the same offset from UTC. The
// CBOR of time.Time itself cannot have seconds in an offset or years of five digits, and writes the
// zero time as nil.
type moment time.Time

// MarshalCBOR writes text, for the writer of CBOR. If that cannot express the year or the offset,
// it writes seconds since 1970, nanoseconds and the offset.
func (m moment) MarshalCBOR() ([]byte, error) {
	t := time.Time(m)
	_, offset := t.Zone()
	const day = 24 * 60 * 60
	if year := t.Year(); year < 0 || year > 9999 || offset <= -day || offset >= day || offset%60 != 0 {
		return cborWriter.Marshal([]int64{t.Unix(), int64(t.Nanosecond()), int64(offset)})
	}
	return cborWriter.Marshal(t.Format(time.RFC3339Nano))
}

// UnmarshalCBOR reads what MarshalCBOR writes, for the reader of CBOR. After an error the moment is
// unchanged.
func (m *moment) UnmarshalCBOR(src []byte) error {
	var parts []int64
	if cborReader.Unmarshal(src, &parts) == nil {
		if len(parts) != 3 || parts[1] < 0 || parts[1] >= int64(time.Second) || int64(int(parts[2])) != parts[2] {
			return fmt.Errorf("%d are no seconds, nanoseconds and offset of a time", parts)
		}
		*m = moment(within(time.Unix(parts[0], parts[1]), int(parts[2])))
		return nil
	}
	var text string
	if err := cborReader.Unmarshal(src, &text); err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err == nil {
		_, offset := t.Zone()
		*m = moment(within(t, offset))
	}
	return err
}

// within returns a time with an offset instead of the zone of this machine.
func within(t time.Time, offset int) time.Time {
	if offset == 0 {
		return t.UTC()
	}
	return t.In(time.FixedZone("", offset))
}
