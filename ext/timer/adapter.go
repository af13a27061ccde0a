package timer

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/wheel"
)

// adapter is Timers as the world sees them. It keeps its methods out of the exported ones of
// Timers.
type adapter[M any] struct{ *Timers[M] }

// Name returns the label.
func (t adapter[M]) Name() string { return t.label }

// merged are a shard's timers that are due, of several wheels.
//
// Ownership: the shard's owner, in a refresh.
type merged struct {
	all []of
	_   [64]byte
}

// of is a timer that is due, and its wheel.
type of struct {
	wheel.Fired
	home int32
}

// Due returns how many timers are in the slots of a tick, and how many changes are to be made. It
// hands each change to the wheel that it is about, in the order of the homes that asked.
func (t adapter[M]) Due(tick uint64) (n int) {
	for i := range t.wheels {
		w := &t.wheels[i]
		n += w.InSlot(tick) + len(w.changes)
		for _, c := range w.changes {
			if home := c.id.home(); home < len(t.wheels) {
				t.wheels[home].asked = append(t.wheels[home].asked, c)
			}
		}
		w.changes = w.changes[:0]
	}
	return n
}

// Collect makes the changes to a wheel that others have asked for, and finds the timers that are
// due.
func (t adapter[M]) Collect(home int) {
	w := &t.wheels[home]
	for _, c := range w.asked {
		t.apply(c)
	}
	w.asked = w.asked[:0]
	w.Collect(home, t.w.Tick(), t.owner)
	away := false
	for i := range w.Fired {
		if x := &w.Fired[i]; x.Owner != int32(home) {
			if away = true; x.Owner == wheel.Gone {
				*t.bodies[home].At(x.ID.Index()) = *new(M)
			}
		}
	}
	t.away[home] = away
	if away {
		slices.SortStableFunc(w.Fired, func(a, b wheel.Fired) int { return cmp.Compare(a.Owner, b.Owner) })
	}
}

// Deliver delivers the due timers of a shard's entities.
func (t adapter[M]) Deliver(shard int) {
	m := &t.merged[shard]
	wheels := 0
	for i, away := range t.away {
		if i != shard && !away {
			continue
		}
		all := t.wheels[i].Fired
		from, _ := slices.BinarySearchFunc(all, int32(shard), func(x wheel.Fired, owner int32) int { return cmp.Compare(x.Owner, owner) })
		before := len(m.all)
		for _, x := range all[from:] {
			if x.Owner != int32(shard) {
				break
			}
			m.all = append(m.all, of{x, int32(i)})
		}
		if len(m.all) > before {
			wheels++
		}
	}
	if wheels > 1 {
		slices.SortStableFunc(m.all, func(a, b of) int { return cmp.Compare(a.Armed, b.Armed) })
	}
	for _, x := range m.all {
		body := t.bodies[x.home].At(x.ID.Index())
		t.deliver(shard, x.To, mem.PointerTo(body))
		if x.Last {
			*body = *new(M)
		}
	}
	m.all = m.all[:0]
}

// Measure reports how many timers are set.
func (t adapter[M]) Measure(add func(drive.Measured)) {
	add(drive.Measured{Name: "atoll_timers", Help: "Timers that are set.", Of: t.label, Value: float64(t.Len())})
}

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
