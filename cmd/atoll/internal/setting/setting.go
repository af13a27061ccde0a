// Package setting has the ranges of what a run can be told.
package setting

import (
	"errors"
	"fmt"
)

// Range is the range of a setting, both ends included.
type Range struct{ Min, Max int }

// Has reports whether a value is in the range.
func (r Range) Has(value int) bool { return value >= r.Min && value <= r.Max }

// Value is the value of a setting, which should be in its range.
type Value struct {
	Name  string
	Value int
	Range
}

// Check names each setting that is out of its range. of is the package of the settings.
func Check(of string, all ...Value) error {
	var errs []error
	for _, v := range all {
		if !v.Has(v.Value) {
			errs = append(errs, fmt.Errorf("%s: %s is %d, want %d to %d", of, v.Name, v.Value, v.Min, v.Max))
		}
	}
	return errors.Join(errs...)
}
