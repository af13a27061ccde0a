package state

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/internal/extend"
)

// learn makes writers for types that are new.
func (h *Hasher) learn(what string, all []extend.Named) error {
	var errs []error
	for _, x := range all {
		if h.writers[x.Type] != nil {
			continue
		}
		c := h.codecs.of(x.Type)
		if c != nil {
			h.writers[x.Type] = &writer{codec: c}
			continue
		}
		if l, err := layoutOf(x.Type, x.Type.String()); err == nil {
			h.writers[x.Type] = &writer{layout: l}
			continue
		}
		f, err := h.codecs.newForm(x.Type, false)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w for %s %q: %v", ErrNoCodec, what, x.Name, err))
			continue
		}
		h.writers[x.Type] = &writer{form: f}
	}
	return errors.Join(errs...)
}

// stateful returns the extensions as Stateful. It refuses those that are not.
func (h *Hasher) stateful(extensions []any) (all []Stateful, err error) {
	for i, e := range extensions {
		s, err := h.statefulOf(e, i)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// statefulOf returns the i-th extension as Stateful.
func (h *Hasher) statefulOf(e any, i int) (Stateful, error) {
	x, err := extend.StateOf(e, h.codecs, false)
	if err != nil {
		return nil, fmt.Errorf("extension %q: %w", extend.NameOf(e, i), err)
	}
	s, ok := x.(Stateful)
	if !ok {
		return nil, fmt.Errorf("%w: extension %d of the world, a %T, has no AppendState", ErrNoCodec, i, e)
	}
	return s, nil
}
