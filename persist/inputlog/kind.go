package inputlog

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/state"
)

// kind is how requests of one kind are recorded.
type kind struct {
	store.Description
	form  extend.Form // of its value; nil: it has none, or is not recorded
	whole *mem.Type   // of its value, if the form is the value's memory; nil otherwise
	shape string      // compared to find out whether two worlds have the same
}

// learn appends the kinds of the world that all does not have. If some cannot be recorded,
// it returns an error that names them.
func learn(all []kind, kinds store.Kinds, codecs *state.Codecs) ([]kind, error) {
	var errs []error
	for i := len(all); i < kinds.Len(); i++ {
		d, t := kinds.Describe(i)
		k := kind{Description: d, shape: d.Name}
		if t != nil && !d.Asks {
			form, err := extend.FormOf(codecs, t, true)
			if err != nil {
				errs = append(errs, fmt.Errorf("inputlog: %s cannot be recorded: %w", d.Name, err))
				continue
			}
			k.form = form
			if form.Whole() {
				k.whole = kinds.Memory(i)
			}
			// The name of a type says nothing more. A generic type's name has import paths, which
			// differ between a program and the tests of its package main.
			k.shape = fmt.Sprintf("%s, as%s", d.Name, form.Shape())
		}
		all = append(all, k)
	}
	return all, errors.Join(errs...)
}
