package timer

import (
	"fmt"
	"math"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
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

// SavedOptions tells of the limit, and of the messages, which must be the same.
func (t coded[M]) SavedOptions() (all, same string) {
	same = "timers of " + t.form.Shape()
	return fmt.Sprintf("%s, Max %d", same, t.options.Max), same
}

// AppendState appends all that decides what the timers do next: of each wheel its generations, the
// order of what is free, and of what is set.
func (t coded[M]) AppendState(dst []byte) []byte {
	dst = drive.AppendNumber(dst, len(t.wheels))
	for i := range t.wheels {
		w := &t.wheels[i]
		dst = drive.AppendNumber(drive.AppendNumber(dst, len(w.slots)), w.used)
		for k := range w.used {
			dst = drive.AppendNumber(dst, w.at(k).generation-1)
		}
		dst = drive.AppendNumber(dst, w.free.len)
		for at := w.free.first; at != 0; at = w.at(int(at - 1)).next {
			dst = drive.AppendNumber(dst, at-1)
		}
		for _, l := range w.slots {
			for at := l.first; at != 0; {
				x := w.at(int(at - 1))
				for _, n := range [...]uint64{uint64(at - 1), uint64(x.to), x.due, x.armed, x.period} {
					dst = drive.AppendNumber(dst, n)
				}
				dst = t.form.Append(dst, mem.CellOf(t.bodies[i].at(int(at-1))))
				at = x.next
			}
		}
	}
	return dst
}

// AppendSaved appends the state for LoadSaved, behind the shape of the messages.
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
		if err := t.load(&c, i); err != nil {
			return fmt.Errorf("timer: %q, wheel %d: %w", t.label, i, err)
		}
	}
	return c.End()
}

// load reads a wheel.
func (t coded[M]) load(c *drive.Cursor, home int) error {
	w := &t.wheels[home]
	slots, used := c.Int(), c.Count(1)
	switch {
	case c.Err != nil:
		return c.Err
	case slots < slotsFirst || slots > slotsMost || slots&(slots-1) != 0:
		return fmt.Errorf("it has %d slots (%w)", slots, drive.ErrImage)
	case used > maxMost:
		return fmt.Errorf("it has had %d timers, and %d is the most (%w)", used, maxMost, drive.ErrImage)
	}
	w.slots = make([]list, slots)
	for range used {
		w.at(w.take()).generation = 1 + uint32(c.Below(generationMost))
	}
	w.count = 0
	free, seen := int(c.Below(uint64(used)+1)), make([]bool, used)
	next := func() (index int, ok bool) {
		if index = int(c.Below(uint64(used))); c.Err != nil || seen[index] {
			return 0, false
		}
		seen[index] = true
		return index, true
	}
	for range free {
		index, ok := next()
		if !ok {
			return t.wrong(c)
		}
		w.append(&w.free, index)
	}
	now := t.w.Tick()
	for range used - free {
		index, ok := next()
		to, due, armed, period := handle.Handle(c.Number()), c.Number(), c.Number(), c.Number()
		if !ok || c.Err != nil || due <= now || armed > now || period > math.MaxInt64 {
			return t.wrong(c)
		}
		rest, err := t.form.Read(c.Rest, mem.CellOf(t.bodies[home].at(index)))
		if err != nil {
			return err
		}
		c.Rest = rest
		x := w.at(index)
		x.to, x.period = to, period
		w.set(index, due, armed)
		w.count++
	}
	return nil
}

func (t coded[M]) wrong(c *drive.Cursor) error {
	if c.Err != nil {
		return c.Err
	}
	return fmt.Errorf("a timer is where none can be (%w)", drive.ErrImage)
}
