package timer

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
)

// coded shows the state of Timers.
type coded[M any] struct {
	*Timers[M]
	form drive.Form // of the messages
}

// Coded returns what shows the state, with the messages by a *state.Codecs.
func (t adapter[M]) Coded(codecs any, toRead bool) (any, error) {
	form, err := drive.FormOf(codecs, reflect.TypeFor[M](), toRead)
	return coded[M]{t.Timers, form}, err
}

// SavedOptions describes the limit, and the messages, which must be the same.
func (t coded[M]) SavedOptions() (all, same string) {
	same = "timers of " + t.form.Shape()
	return fmt.Sprintf("%s, Max %d", same, t.options.Max), same
}

// AppendState appends all that decides what the timers do next: of each wheel its generations, the
// order of free places, and the timers that are set.
func (t coded[M]) AppendState(dst []byte) []byte {
	dst = drive.AppendNumber(dst, len(t.wheels))
	for i := range t.wheels {
		dst = t.wheels[i].AppendState(dst, func(dst []byte, index int) []byte {
			return t.form.Append(dst, mem.CellOf(t.bodies[i].At(index)))
		})
	}
	return dst
}

// AppendSaved appends the state for LoadSaved, after the shape of the messages.
func (t coded[M]) AppendSaved(dst []byte) []byte {
	shape := t.form.Shape()
	return t.AppendState(append(drive.AppendNumber(dst, len(shape)), shape...))
}

// LoadSaved gives a new world's timers what AppendSaved wrote.
func (t coded[M]) LoadSaved(src []byte) error {
	c := drive.Cursor{Rest: src}
	if shape := c.Text(); c.Err == nil && shape != t.form.Shape() {
		return fmt.Errorf("timer: the messages of %q were saved as %s, and are %s now; keep their type as it was", t.label, shape, t.form.Shape())
	}
	if homes := c.Int(); c.Err == nil && homes != len(t.wheels) {
		return fmt.Errorf("timer: %q has %d wheels, and was saved with %d (%w)", t.label, len(t.wheels), homes, drive.ErrImage)
	}
	for i := range t.wheels {
		err := t.wheels[i].Load(&c, t.w.Tick(), func(src []byte, index int) ([]byte, error) {
			return t.form.Read(src, mem.CellOf(t.bodies[i].At(index)))
		})
		if err != nil {
			return fmt.Errorf("timer: %q, wheel %d: %w", t.label, i, err)
		}
	}
	return c.End()
}
