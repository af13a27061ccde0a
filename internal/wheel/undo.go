package wheel

// Undo can undo a change of one entry: an Add, a Release, or a Set to another tick. Changes are undone
// in the opposite order, in a Wheel that is Still since before the first. What is left is as before.
type Undo struct {
	index int
	was   Entry
	kin   link
	added bool // it was free before
	fresh bool // it had never been used
}

// BeforeAdd returns what undoes the next Add.
func (w *Wheel) BeforeAdd() Undo {
	if w.free.len == 0 {
		return Undo{index: w.used, added: true, fresh: true}
	}
	index := int(w.free.first - 1)
	return Undo{index: index, was: *w.At(index), added: true}
}

// Before returns what undoes the next change of the entry at an index, which is set.
func (w *Wheel) Before(index int) Undo {
	return Undo{index: index, was: *w.At(index), kin: w.linkOf(index)}
}

// Undo undoes the change.
func (w *Wheel) Undo(u Undo) {
	if w.kin != nil && w.kin.passing {
		w.kin = nil
	}
	x := w.At(u.index)
	switch {
	case x.due != 0:
		w.Unset(u.index)
	default: // it was released
		w.remove(&w.free, u.index)
		w.count++
	}
	*x = u.was
	switch {
	case u.fresh:
		w.used--
		w.count--
	case u.added:
		w.relink(&w.free, u.index)
		w.count--
	default:
		w.relink(w.slot(x.due), u.index)
		w.rejoin(u.index, u.kin)
	}
}

// Calm ends the time in which the Wheel is Still.
func (w *Wheel) Calm() {
	w.Still = false
	if w.kin != nil {
		w.kin.passing = false
	}
	w.grow()
}

// relink puts an entry that remove has taken out of a list between its former neighbours.
func (w *Wheel) relink(l *list, index int) {
	x := w.At(index)
	if x.prev == 0 {
		l.first = uint32(index) + 1
	} else {
		w.At(int(x.prev - 1)).next = uint32(index) + 1
	}
	if x.next == 0 {
		l.last = uint32(index) + 1
	} else {
		w.At(int(x.next - 1)).prev = uint32(index) + 1
	}
	l.len++
}
