// Package number reads a number as text into a value whose type the compiler does not know.
package number

import (
	"reflect"
	"strconv"
)

// Set parses text and stores the number in to, which must be settable and an integer or a float of
// any kind. The error is that of package strconv, with strconv.ErrRange for a number outside of the
// type's range. After an error to is unchanged.
func Set(to reflect.Value, text string) error {
	bits := to.Type().Bits()
	switch {
	case to.CanInt():
		n, err := strconv.ParseInt(text, 10, bits)
		if err == nil {
			to.SetInt(n)
		}
		return err
	case to.CanUint():
		n, err := strconv.ParseUint(text, 10, bits)
		if err == nil {
			to.SetUint(n)
		}
		return err
	}
	n, err := strconv.ParseFloat(text, bits)
	if err == nil {
		to.SetFloat(n)
	}
	return err
}
