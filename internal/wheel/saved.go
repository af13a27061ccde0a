package wheel

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Form writes and reads bodies, as a form.Form.
type Form interface {
	Shape() string
	Append(dst []byte, value mem.Cells) []byte
	Read(src []byte, value mem.Cells) (rest []byte, err error)
}

// Saved shows the wheels of an extension as state of the world, as form.Coded wants it.
type Saved[M any] struct {
	Package, Extension string     // for errors
	What, Bodies       string     // "timers of", "messages"
	Limits             string     // the options that may differ
	Form               Form       // of the bodies
	Homes              func() int // how many the world has now
	Of                 func(home int) *Of[M]
	Tick               func() uint64
}

// SavedOptions describes the limits, and the bodies, which must be the same. A save and a load call
// it.
func (s Saved[M]) SavedOptions() (all, same string) {
	same = s.What + " " + s.Form.Shape()
	return same + ", " + s.Limits, same
}

// AppendState appends all that decides what the wheels do next: of each its generations, the order
// of free places, and the entries that are set. The world is idle, or in a step in which no wheel
// changes. It may run codecs of the user.
func (s Saved[M]) AppendState(dst []byte) []byte {
	homes := s.Homes()
	dst = extend.AppendNumber(dst, homes)
	for i := range homes {
		dst = s.Of(i).appendState(dst, s.Form)
	}
	return dst
}

// AppendSaved appends the state for LoadSaved, after the shape of the bodies. The world is idle.
func (s Saved[M]) AppendSaved(dst []byte) []byte {
	return s.AppendState(extend.AppendText(dst, s.Form.Shape()))
}

// LoadSaved gives the wheels of a new world what AppendSaved wrote. The world is idle. After an
// error some wheels hold a part of that: load the former state, or use the world no more.
func (s Saved[M]) LoadSaved(src []byte) error {
	from := extend.Cursor{Rest: src}
	if shape := from.Text(); from.Err == nil && shape != s.Form.Shape() {
		return fmt.Errorf("%s: the %s of %q were saved as %s, and are %s now; keep their type as it was", s.Package, s.Bodies, s.Extension, shape, s.Form.Shape())
	}
	homes := from.Int() // there may be more now, in a world that has more shards
	if most := s.Homes(); from.Err == nil && homes > most {
		return fmt.Errorf("%s: %q has %d wheels, and was saved with %d (%w)", s.Package, s.Extension, most, homes, extend.ErrImage)
	}
	for i := range homes {
		if err := s.Of(i).load(&from, s.Tick(), s.Form); err != nil {
			return fmt.Errorf("%s: %q, wheel %d: %w", s.Package, s.Extension, i, err)
		}
	}
	return from.End()
}
