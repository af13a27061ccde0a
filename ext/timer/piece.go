package timer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
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

// entrySteps is what a timer of a piece counts as steps of a transaction.
const entrySteps = 256

// AppendExcerpt appends the timers of the entities of a piece, with the ticks that are left: those that
// are due first, and of these those that were set in an earlier tick, by the places of their entities.
func (c coded[M]) AppendExcerpt(tx *engine.Tx, dst []byte, of *extend.Excerpt) (excerpt []byte, n int) {
	all, now, pending := []entry[M](nil), c.t.w.Tick(), c.t.pending()
	c.t.eachOf(of, func(home, index, place int) bool {
		w := &c.t.wheels[home]
		x := w.At(index)
		due, armed := x.Due(), x.Armed()
		if p, ok := pending[ID(w.IDAt(home, index))]; !ok {
		} else if due, armed = p.due, p.armed; due == 0 {
			return true
		}
		all = append(all, entry[M]{place, due - now, x.Period, armed, *w.Body(index)})
		return tx == nil || tx.Work(entrySteps) == nil
	})
	slices.SortStableFunc(all, func(a, b entry[M]) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.armed, b.armed), cmp.Compare(a.place, b.place))
	})
	for i := range all {
		x := &all[i]
		dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, x.place), x.left), x.period)
		dst = c.Form.Append(dst, mem.CellOf(&x.body))
	}
	return dst, len(all)
}

// eachOf calls f with the timers of entities, until it returns false. f may cancel the timer.
func (t *Timers[M]) eachOf(of *extend.Excerpt, f func(home, index, place int) bool) {
	for home := range t.wheels {
		w := &t.wheels[home]
		if w.Count() == 0 {
			continue
		}
		for place, h := range of.Handles {
			for index := w.FirstOf(h); index >= 0; {
				next := w.NextOf(index)
				if !f(home, index, place) {
					return
				}
				index = next
			}
		}
	}
}

// pending returns what systems have asked for in this tick about timers of other homes, and what the
// refresh has not done yet: by ID, the last, or that it is cancelled.
func (t *Timers[M]) pending() (by map[ID]change) {
	n := 0
	for i := range t.wheels {
		n += len(t.wheels[i].changes)
	}
	switch key := [2]uint64{t.w.Tick(), uint64(n)}; {
	case n == 0:
		return nil
	case t.ahead.by != nil && t.ahead.of == key:
		return t.ahead.by
	default:
		by = make(map[ID]change, n)
		t.ahead.by, t.ahead.of = by, key
	}
	for i := range t.wheels {
		for _, c := range t.wheels[i].changes {
			if was, ok := by[c.id]; !ok || was.due != 0 {
				by[c.id] = c
			}
		}
	}
	return by
}

// Take cancels the timers of entities by a transaction.
func (c coded[M]) Take(tx *engine.Tx, of *extend.Excerpt) {
	c.t.eachOf(of, func(home, index, _ int) bool {
		return c.t.changeIn(tx, "Timers.Cancel", change{id: ID(c.t.wheels[home].IDAt(home, index))}) == nil
	})
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
		}
		if from.Rest, err = by.Read(from.Rest, mem.CellOf(&x.body)); err != nil {
			return nil, fmt.Errorf("timer: %q: %w", c.t.name, err)
		}
		all = append(all, x)
	}
	return all, from.Err
}

// PlanInsert returns a function that sets the timers of an excerpt, as if they were set now. Those that
// come back may be more than Max: others were set meanwhile.
func (c coded[M]) PlanInsert(tx *engine.Tx, read any, now []handle.Handle, back bool, rewrite func(mem.Cells) error) (insert func(), err error) {
	t, all := c.t, read.([]entry[M])
	added := make([]int, len(t.wheels))
	for i := range all {
		home := t.homeOf(tx, now[all[i].place])
		if added[home]++; !back && t.wheels[home].Count()+added[home] > t.options.Max {
			return nil, fmt.Errorf("%w: %q has Max %d", ErrMax, t.name, t.options.Max)
		}
		if err := rewrite(mem.CellOf(&all[i].body)); err != nil {
			return nil, fmt.Errorf("timer: %q: %w", t.name, err)
		}
	}
	return func() { // there is room
		tick := t.w.Tick()
		for i := range all {
			x := &all[i]
			if h := now[x.place]; tx != nil {
				_, _ = t.startIn(tx, "Timers.After", h, math.MaxInt, tick+x.left, x.period, x.body) // or the transaction fails
			} else {
				t.set(t.homeOf(nil, h), h, tick+x.left, x.period, x.body)
			}
		}
	}, nil
}

// homeOf returns the home in which timers are set for an entity, which may be about to be created.
func (t *Timers[M]) homeOf(tx *engine.Tx, h handle.Handle) int {
	if tx != nil {
		if shard, ok := tx.Owner(h); ok {
			return t.engine.Space().FirstOf(shard)
		}
	}
	return t.engine.Space().FirstOf(t.engine.Space().OwnerOfHome(int(h.Home())))
}
