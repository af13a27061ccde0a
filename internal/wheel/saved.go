package wheel

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
)

// Saved shows the wheels of an extension as state of the world, as form.Coded wants it. It is a
// form.Holder of the bodies.
type Saved[M any] struct {
	Package, Extension string // for errors
	Entries            string // "timers"
	Limits             string // the options
	Form               form.Form
	Homes              func() int // how many the world has now
	Wheel              func(home int) *Of[M]
	Tick               func() uint64
}

// SavedOptions describes the limits. A save and a load call it.
func (s Saved[M]) SavedOptions() (all, same string) { return s.Entries + ", " + s.Limits, s.Entries }

// SavedCount returns how many entries are set. The world is idle.
func (s Saved[M]) SavedCount() (n int) {
	for i := range s.Homes() {
		n += s.Wheel(i).Count()
	}
	return n
}

// Held returns the type of the bodies.
func (s Saved[M]) Held() reflect.Type { return reflect.TypeFor[M]() }

// AppendState appends all that decides what the wheels do next: of each its generations, the order
// of free places, and the entries that are set. The world is idle, or in a step in which no wheel
// changes. It may run codecs of the user.
func (s Saved[M]) AppendState(dst []byte) []byte {
	homes := s.Homes()
	dst = extend.AppendNumber(dst, homes)
	for i := range homes {
		dst = s.Wheel(i).appendState(dst, s.Form)
	}
	return dst
}

// AppendSaved appends the state for LoadSaved: what is hashed. The world is idle.
func (s Saved[M]) AppendSaved(dst []byte) []byte { return s.AppendState(dst) }

// LoadSaved is LoadHeld for bodies of the present form.
func (s Saved[M]) LoadSaved(src []byte) error { return s.LoadHeld(src, s.Form) }

// LoadHeld gives the wheels of a new world what AppendSaved wrote, with bodies that a form reads.
// The world is idle. After an error some wheels hold a part of that: load the former state, or use
// the world no more.
func (s Saved[M]) LoadHeld(src []byte, by form.Form) error {
	from := extend.Cursor{Rest: src}
	homes := from.Int() // there may be more now, in a world that has more shards
	if most := s.Homes(); from.Err == nil && homes > most {
		return fmt.Errorf("%s: %q has %d wheels, and was saved with %d (%w)", s.Package, s.Extension, most, homes, extend.ErrImage)
	}
	for i := range homes {
		if err := s.Wheel(i).load(&from, s.Tick(), by); err != nil {
			return fmt.Errorf("%s: %q, wheel %d: %w", s.Package, s.Extension, i, err)
		}
	}
	return from.End()
}
