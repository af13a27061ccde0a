package engine

import (
	"errors"
	"fmt"
)

// What a world does while its ticks are sealed; see refresh.Engine.Seal.

// commit seals the refresh, unless its tick has, and waits for the log. It returns false if that
// closes the world.
func (w *World) commit() bool {
	w.engine.Seal()
	err := w.engine.Commit()
	if err != nil {
		w.lose(err)
	}
	return err == nil
}

// lose closes a world whose log does not have what the refresh would apply, without that refresh:
// nobody sees what may be lost.
//
// Ownership: as fail.
func (w *World) lose(cause error) {
	err := fmt.Errorf("%w, because its log is not written: %w", ErrClosed, cause)
	w.lost.Store(&err)
	w.end(err, w.engine.Lose)
}

// Touched notes that the idle world was changed, or is about to be. An extension calls it for
// whatever it changes by a *world.World, or when Acts returns ByWorld. It panics where ticks are
// sealed.
func (w *World) Touched() {
	w.refuseSealed()
	w.touched = true
}

// MayTouch panics where Touched does. An extension calls it before it changes anything.
func (w *World) MayTouch() { w.refuseSealed() }

// refuseSealed panics if the idle world is about to be changed, and its ticks are sealed: everybody
// sees the idle world, and no log has the change.
func (w *World) refuseSealed() {
	if w.seals {
		w.refuseChange()
	}
}

// refuseChange is a function of its own so that refuseSealed inlines.
func (w *World) refuseChange() {
	if w.phase.Load() == phaseIdle && !w.lenient {
		panic("world: the idle World cannot be changed while ticks are sealed, because its log would lack that; let a Port or a system request it, with world.RegisterTransaction for one, or use durable.Options.New")
	}
}

// refuseChanges makes changes of the idle world panic, or ends that.
func (w *World) refuseChanges(on bool) {
	w.seals, w.space.Refuse = on, nil
	if on {
		w.space.Refuse = w.refuseSealed
	}
}

// changedSealed closes a world that was changed although its ticks are sealed: no log has it.
func (w *World) changedSealed() {
	w.lose(errors.New("the idle world was changed while its ticks were sealed; let a Port or a system request that"))
}

// Lose closes the idle world because no log has what its next tick would show: the last one has
// ended, and another could not begin.
func (w *World) Lose(cause error) {
	if w.Err() == nil {
		w.lose(cause)
	}
}
