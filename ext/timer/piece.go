package timer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/wheel"
)

// coded is what shows the state of Timers. It is a form.Holder and a form.Insertable.
type coded[M any] struct {
	wheel.Saved[M]
	t *Timers[M]
}

// entry is a timer of an entity of a piece.
type entry[M any] struct {
	place        int
	left, period uint64 // ticks
	armed        uint64 // while a piece is made
	body         M
}

// AppendExcerpt appends the timers of the entities of a piece, with the ticks that are left: those that
// are due first, and of these those that were set first. It looks at all timers.
func (c coded[M]) AppendExcerpt(dst []byte, of *extend.Excerpt) (excerpt []byte, n int) {
	var all []entry[M]
	now := c.t.w.Tick()
	for i := range c.t.wheels {
		w := &c.t.wheels[i]
		if w.Count() == 0 {
			continue
		}
		w.Each(i, func(index int, id wheel.ID) {
			x := w.At(index)
			if place, ok := of.Place(x.To); ok {
				all = append(all, entry[M]{place, x.Due() - now, x.Period, x.Armed(), *w.Body(index)})
			}
		})
	}
	slices.SortStableFunc(all, func(a, b entry[M]) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.armed, b.armed))
	})
	for i := range all {
		x := &all[i]
		dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, x.place), x.left), x.period)
		dst = c.Form.Append(dst, mem.CellOf(&x.body))
	}
	return dst, len(all)
}

// PlanInsert returns a function that sets the timers of an excerpt, as if they were set now.
func (c coded[M]) PlanInsert(src []byte, now []handle.Handle, by form.Form, rewrite func(mem.Cells) error) (insert func(), err error) {
	t := c.t
	var all []entry[M]
	from, added := extend.Cursor{Rest: src}, make([]int, len(t.wheels))
	for len(from.Rest) > 0 {
		x := entry[M]{place: int(from.Below(uint64(len(now)))), left: from.Number(), period: from.Number()}
		switch {
		case from.Err != nil:
			return nil, from.Err
		case x.left == 0 || x.left > math.MaxInt64 || x.period > math.MaxInt64:
			return nil, fmt.Errorf("timer: %q: a timer is due in %d ticks, each %d (%w)", t.name, x.left, x.period, extend.ErrImage)
		}
		home := t.homeOf(now[x.place])
		if added[home]++; t.wheels[home].Count()+added[home] > t.options.Max {
			return nil, fmt.Errorf("%w: %q has Max %d", ErrMax, t.name, t.options.Max)
		}
		body := mem.CellOf(&x.body)
		if from.Rest, err = by.Read(from.Rest, body); err == nil {
			err = rewrite(body)
		}
		if err != nil {
			return nil, fmt.Errorf("timer: %q: %w", t.name, err)
		}
		all = append(all, x)
	}
	return func() {
		tick := t.w.Tick()
		for i := range all {
			x := &all[i]
			_, _ = t.set(t.homeOf(now[x.place]), now[x.place], tick+x.left, x.period, x.body) // there is room
		}
	}, from.Err
}

// homeOf returns the home in which the idle world sets timers for an entity that is new there.
func (t *Timers[M]) homeOf(h handle.Handle) int {
	return t.engine.Space().FirstOf(t.engine.Space().OwnerOfHome(int(h.Home())))
}
