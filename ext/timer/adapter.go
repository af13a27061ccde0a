package timer

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/wheel"
)

// adapter is Timers as the world sees them. It keeps its methods out of the exported ones of
// Timers.
type adapter[M any] struct{ *Timers[M] }

// Name returns the name.
func (a adapter[M]) Name() string { return a.name }

// Arrange makes a wheel for each home.
func (a adapter[M]) Arrange() {
	a.wheels, a.away = nil, nil
	for range a.engine.Space().Homes() {
		a.wheels, a.away = append(a.wheels, home[M]{Of: wheel.New[M]()}), append(a.away, false)
	}
}

// merged are a shard's timers that are due, of several wheels.
//
// Ownership: the shard's owner, in a refresh.
type merged struct {
	all []wheel.Fired
	_   [64]byte
}

// Due returns how many timers are in the slots of a tick, and how many changes are to be made. It
// hands each change to the wheel that it is about, in the order of the homes that asked.
func (a adapter[M]) Due(tick uint64) (n int) {
	for i := range a.wheels {
		w := &a.wheels[i]
		n += w.InSlot(tick) + len(w.changes)
		for _, c := range w.changes {
			if home := c.id.home(); home < len(a.wheels) {
				a.wheels[home].asked = append(a.wheels[home].asked, c)
			}
		}
		w.changes = w.changes[:0]
	}
	return n
}

// Collect makes the changes to a wheel that others have asked for, and finds the timers that are
// due.
func (a adapter[M]) Collect(home int) {
	w := &a.wheels[home]
	for _, c := range w.asked {
		a.apply(c)
	}
	w.asked = w.asked[:0]
	w.Collect(home, a.w.Tick(), a.owner)
	away, own := false, int32(a.engine.Space().OwnerOfHome(home))
	for i := range w.Fired {
		if x := &w.Fired[i]; x.Owner != own {
			if away = true; x.Owner == wheel.Gone {
				*w.Body(x.ID.Index()) = *new(M)
			}
		}
	}
	a.away[home] = away
	if away {
		slices.SortStableFunc(w.Fired, func(x, y wheel.Fired) int { return byOwner(x, y.Owner) })
	}
}

func byOwner(x wheel.Fired, owner int32) int { return cmp.Compare(x.Owner, owner) }

// Deliver delivers the due timers of a shard's entities.
func (a adapter[M]) Deliver(shard int) {
	m := &a.merged[shard]
	wheels := 0
	for i, away := range a.away {
		if !away && a.engine.Space().OwnerOfHome(i) != shard {
			continue
		}
		all := a.wheels[i].Fired
		from, _ := slices.BinarySearchFunc(all, int32(shard), byOwner)
		to, _ := slices.BinarySearchFunc(all, int32(shard)+1, byOwner)
		if m.all = append(m.all, all[from:to]...); from < to {
			wheels++
		}
	}
	if wheels > 1 {
		slices.SortStableFunc(m.all, func(x, y wheel.Fired) int { return cmp.Compare(x.Armed, y.Armed) })
	}
	for _, x := range m.all {
		body := a.wheels[x.ID.Home()].Body(x.ID.Index())
		a.deliver(shard, x.To, mem.PointerTo(body))
		if x.Last {
			*body = *new(M)
		}
	}
	m.all = m.all[:0]
}

// Measure reports how many timers are set.
func (a adapter[M]) Measure(add func(extend.Measured)) {
	add(extend.Measured{Name: "atoll_timers", Help: "Timers that are set.", Of: a.name, Value: float64(a.Len())})
}

// Coded returns what shows the state, with the messages by codecs.
func (a adapter[M]) Coded(codecs *form.Codecs, toRead bool) (any, error) {
	form, err := codecs.Form(reflect.TypeFor[M](), toRead)
	return wheel.Saved[M]{
		Package: "timer", Extension: a.name, Entries: "timers", Form: form,
		Limits: fmt.Sprintf("Max %d", a.options.Max), Homes: func() int { return len(a.wheels) }, Tick: a.w.Tick,
		Wheel: func(home int) *wheel.Of[M] { return &a.wheels[home].Of },
	}, err
}
