package timer

import (
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/wheel"
	"github.com/atoll-sim/atoll/world"
)

// A transaction sets timers at once: nobody else looks at them in that time. If it fails, that is
// undone.

// undone is a change of one timer, to be undone.
type undone[M any] struct {
	home, index int
	wheel       wheel.Undo
	body        M
}

// undos is Timers as a transaction sees it.
type undos[M any] Timers[M]

// undoneBytes is about what undoes a change, besides the body.
const undoneBytes = 64

// charge counts what undoes a change.
func (t *Timers[M]) charge(x *engine.Tx) error {
	return x.Charge(undoneBytes + reflect.TypeFor[M]().Size())
}

// startIn sets a timer by a transaction, if there are fewer than most then.
func (t *Timers[M]) startIn(x *engine.Tx, call string, to handle.Handle, most int, due, period uint64, body M) (ID, error) {
	if err := x.Write(call, (*undos[M])(t)); err != nil {
		return None, err
	}
	shard, ok := x.Owner(to)
	if !ok || !x.Living(to) {
		return None, world.ErrStale
	}
	home := t.engine.Space().FirstOf(shard)
	w := &t.wheels[home]
	if w.Count() >= most {
		return None, ErrMax
	}
	if err := t.charge(x); err != nil {
		return None, err
	}
	w.Still = true
	u := undone[M]{home: home, wheel: w.BeforeAdd()}
	id := t.set(home, to, due, period, body)
	u.index = wheel.ID(id).Index()
	t.undo = append(t.undo, u)
	return id, nil
}

// changeIn changes a timer by a transaction.
func (t *Timers[M]) changeIn(x *engine.Tx, call string, c change) error {
	if err := x.Write(call, (*undos[M])(t)); err != nil {
		return err
	}
	home, found := c.id.home(), false
	if home < len(t.wheels) {
		w := &t.wheels[home]
		if index, ok := w.Find(wheel.ID(c.id)); ok {
			if err := t.charge(x); err != nil {
				return err
			}
			w.Still, found = true, true
			t.undo = append(t.undo, undone[M]{home, index, w.Before(index), *w.Body(index)})
			t.apply(c)
		}
	}
	if !found && c.due != 0 {
		return ErrGone
	}
	return nil
}

// Commit forgets what undoes the changes.
func (u *undos[M]) Commit() {
	for _, x := range u.undo {
		if w := &u.wheels[x.home]; w.Still {
			w.Calm()
		}
	}
	clear(u.undo)
	u.undo = u.undo[:0]
}

// Drop undoes the changes.
func (u *undos[M]) Drop() {
	for i := len(u.undo) - 1; i >= 0; i-- {
		x := &u.undo[i]
		u.wheels[x.home].Undo(x.wheel)
		*u.wheels[x.home].Body(x.index) = x.body
	}
	u.Commit()
}
