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

// ReadExcerpt reads the timers of an excerpt.
func (c coded[M]) ReadExcerpt(src []byte, entities int, by form.Form) (read any, err error) {
	var all []entry[M]
	from := extend.Cursor{Rest: src}
	for len(from.Rest) > 0 {
		x := entry[M]{place: int(from.Below(uint64(entities))), left: from.Number(), period: from.Number()}
		switch {
		case from.Err != nil:
			return nil, from.Err
		case x.left == 0 || x.left > math.MaxInt64 || x.period > math.MaxInt64:
			return nil, fmt.Errorf("timer: %q: a timer is due in %d ticks, each %d (%w)", c.t.name, x.left, x.period, extend.ErrImage)
		case len(all) == c.t.options.Max*c.t.w.Shards():
			return nil, fmt.Errorf("%w: %q has Max %d", ErrMax, c.t.name, c.t.options.Max)
		}
		if from.Rest, err = by.Read(from.Rest, mem.CellOf(&x.body)); err != nil {
			return nil, fmt.Errorf("timer: %q: %w", c.t.name, err)
		}
		all = append(all, x)
	}
	return all, from.Err
}

// PlanInsert returns a function that sets the timers of an excerpt, as if they were set now.
func (c coded[M]) PlanInsert(read any, now []handle.Handle, rewrite func(mem.Cells) error) (insert func(), err error) {
	t, all := c.t, read.([]entry[M])
	added := make([]int, len(t.wheels))
	for i := range all {
		home := t.homeOf(now[all[i].place])
		if added[home]++; t.wheels[home].Count()+added[home] > t.options.Max {
			return nil, fmt.Errorf("%w: %q has Max %d", ErrMax, t.name, t.options.Max)
		}
		if err := rewrite(mem.CellOf(&all[i].body)); err != nil {
			return nil, fmt.Errorf("timer: %q: %w", t.name, err)
		}
	}
	return func() {
		tick := t.w.Tick()
		for i := range all {
			x := &all[i]
			_, _ = t.set(t.homeOf(now[x.place]), now[x.place], tick+x.left, x.period, x.body) // there is room
		}
	}, nil
}

// homeOf returns the home in which the idle world sets timers for an entity that is new there.
func (t *Timers[M]) homeOf(h handle.Handle) int {
	return t.engine.Space().FirstOf(t.engine.Space().OwnerOfHome(int(h.Home())))
}
