package timer

import (
	"cmp"
	"slices"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/wheel"
)

// adapter is Timers as the world sees them. It keeps its methods out of the exported ones of
// Timers.
type adapter[M any] struct{ *Timers[M] }

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

// Name returns the label.
func (t adapter[M]) Name() string { return t.label }

// Measure reports how many timers are set.
func (t adapter[M]) Measure(add func(drive.Measured)) {
	add(drive.Measured{Name: "atoll_timers", Help: "Timers that are set.", Of: t.label, Value: float64(t.Len())})
}
