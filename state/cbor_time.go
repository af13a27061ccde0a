package state

import (
	"fmt"
	"reflect"
	"time"
)

// moment is a time.Time that is read as the same moment, with the same offset from UTC. The CBOR of
// time.Time itself has no seconds of an offset and no years of five digits, and the zero time is nil.
type moment time.Time

// MarshalCBOR writes text, or where that cannot tell the year or the offset, seconds since 1970,
// nanoseconds and the offset.
func (m moment) MarshalCBOR() ([]byte, error) {
	t := time.Time(m)
	_, offset := t.Zone()
	const day = 24 * 60 * 60
	if year := t.Year(); year < 0 || year > 9999 || offset <= -day || offset >= day || offset%60 != 0 {
		return cborWriter.Marshal([]int64{t.Unix(), int64(t.Nanosecond()), int64(offset)})
	}
	return cborWriter.Marshal(t.Format(time.RFC3339Nano))
}

// UnmarshalCBOR reads what MarshalCBOR writes.
func (m *moment) UnmarshalCBOR(src []byte) error {
	var parts []int64
	if cborReader.Unmarshal(src, &parts) == nil {
		if len(parts) != 3 || parts[1] < 0 || parts[1] >= int64(time.Second) || int64(int32(parts[2])) != parts[2] {
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

// within returns a time with an offset, and not with the zone of this machine.
func within(t time.Time, offset int) time.Time {
	if offset == 0 {
		return t.UTC()
	}
	return t.In(time.FixedZone("", offset))
}

// withMoments returns a type of the same memory, in which each time.Time is a moment.
func withMoments(t reflect.Type) reflect.Type {
	if t == reflect.TypeFor[time.Time]() {
		return reflect.TypeFor[moment]()
	}
	if marshals(t) || !holdsTime(t) {
		return t
	}
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(withMoments(t.Elem()))
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), withMoments(t.Elem()))
	case reflect.Pointer:
		return reflect.PointerTo(withMoments(t.Elem()))
	case reflect.Map:
		return reflect.MapOf(t.Key(), withMoments(t.Elem()))
	}
	return structWithMoments(t)
}

// structWithMoments is withMoments for a struct. What it embeds has no methods there, for
// reflect.StructOf takes none.
func structWithMoments(t reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		_, inner := nameInCBOR(f)
		if f.Anonymous = inner; inner {
			f.Type = structWithMoments(f.Type)
		} else if f.Name != "_" {
			f.Type = withMoments(f.Type)
		}
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// holdsTime reports whether there is a time.Time in a type that does not write itself.
func holdsTime(t reflect.Type) bool {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return true
	case marshals(t):
		return false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
		return holdsTime(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" && holdsTime(f.Type) {
				return true
			}
		}
	}
	return false
}
