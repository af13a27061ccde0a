package snapshot

import (
	"bytes"
	"errors"
	"fmt"
)

// undoing returns a function that makes the world new again.
func (l *loading) undoing() func() error {
	var saved [][]byte
	var system []byte
	for _, x := range l.own.extensions {
		saved = append(saved, x.saved.AppendSaved(nil))
	}
	if l.o.Scheduler != nil {
		system = l.o.Scheduler.AppendState(nil)
	}
	return func() error {
		errs := []error{l.into.Undo()}
		for i, x := range l.own.extensions {
			if errs = append(errs, x.saved.LoadSaved(saved[i])); !bytes.Equal(saved[i], x.saved.AppendSaved(nil)) {
				errs = append(errs, fmt.Errorf("extension %q is not as it was before", x.name))
			}
		}
		if l.o.Scheduler != nil {
			errs = append(errs, l.o.Scheduler.LoadState(system))
		}
		return errors.Join(errs...)
	}
}
