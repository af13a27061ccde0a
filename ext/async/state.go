package async

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/wheel"
)

// coded shows the state of a Call.
type coded[A, R any] struct {
	*Call[A, R]
	form drive.Form // of the arguments
}

// Coded returns what shows the state, with the arguments by a *state.Codecs.
func (c adapter[A, R]) Coded(codecs any, toRead bool) (any, error) {
	form, err := drive.FormOf(codecs, reflect.TypeFor[A](), toRead)
	return coded[A, R]{c.Call, form}, err
}

// SavedOptions describes the limits, and the arguments, which must be the same.
func (c coded[A, R]) SavedOptions() (all, same string) {
	same = "asks with " + c.form.Shape()
	return fmt.Sprintf("%s, Pending %d, Ticks %d", same, c.options.Pending, c.options.Ticks), same
}

// AppendState appends all asks that are under way, and what decides the next IDs.
func (c coded[A, R]) AppendState(dst []byte) []byte {
	dst = drive.AppendNumber(dst, len(c.homes))
	for i := range c.homes {
		h := &c.homes[i]
		dst = h.AppendState(dst, func(dst []byte, index int) []byte {
			return c.form.Append(dst, mem.CellOf(h.args.At(index)))
		})
	}
	return dst
}

// AppendSaved appends the state for LoadSaved, after the shape of the arguments.
func (c coded[A, R]) AppendSaved(dst []byte) []byte {
	return c.AppendState(drive.AppendText(dst, c.form.Shape()))
}

// LoadSaved gives a new world's Call what AppendSaved wrote. The world must have no Pool, which
// would not know of it.
func (c coded[A, R]) LoadSaved(src []byte) error {
	if c.pool != nil && !c.pool.isClosed() {
		return fmt.Errorf("async: %q has a Pool already; close the Pool, and attach one after the load", c.label)
	}
	x := drive.Cursor{Rest: src}
	if shape := x.Text(); x.Err == nil && shape != c.form.Shape() {
		return fmt.Errorf("async: the arguments of %q were saved as %s, and are %s now; keep their type as it was", c.label, shape, c.form.Shape())
	}
	if homes := x.Int(); x.Err == nil && homes != len(c.homes) {
		return fmt.Errorf("async: %q has %d wheels, and was saved with %d (%w)", c.label, len(c.homes), homes, drive.ErrImage)
	}
	for i := range c.homes {
		h := &c.homes[i]
		err := h.Load(&x, c.w.Tick(), func(src []byte, index int) ([]byte, error) {
			return c.form.Read(src, mem.CellOf(h.args.At(index)))
		})
		if err != nil {
			return fmt.Errorf("async: %q, wheel %d: %w", c.label, i, err)
		}
		h.fresh = h.fresh[:0]
		h.Each(i, func(index int, id wheel.ID) {
			if h.At(index).Armed() == c.w.Tick() { // asked by the idle world
				h.fresh = append(h.fresh, id)
			}
			if h.At(index).Period != 0 {
				x.Err = fmt.Errorf("async: %q, wheel %d: an ask is there that repeats (%w)", c.label, i, drive.ErrImage)
			}
		})
	}
	return x.End()
}
