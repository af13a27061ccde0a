package names

import (
	"hash/maphash"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/world"
)

// change is a request: that an entity has a name, or none.
type change[K Name] struct {
	name K
	bind bool
}

// do makes a change: at once with an idle world, otherwise by a request.
func (n *Names[K]) do(by world.Actor, h handle.Handle, c change[K]) error {
	w, ok := by.(*world.World)
	if !ok {
		return n.requests.Send(by, h, c)
	}
	n.requests.Check(by)
	if err := w.Err(); err != nil {
		return err
	}
	if c.bind {
		n.mustIdle("Names.Bind")
	} else {
		n.mustIdle("Names.Unbind")
	}
	var err error
	switch {
	case w.Locate(h) == 0:
		return world.ErrStale
	case !c.bind:
		err = n.unbind(h)
	default:
		_, err = n.bind(h, c.name)
	}
	if err == nil {
		n.driver.Touched()
	}
	return err
}

// apply is what a request does at the refresh. Its entity is alive and not dying.
func (n *Names[K]) apply(h handle.Handle, c *change[K]) world.Outcome {
	n.forget()
	if !c.bind {
		if n.unbind(h) != nil {
			return world.Missing
		}
		return world.Applied
	}
	holder, err := n.bind(h, c.name)
	if err == nil {
		return world.Applied
	}
	if len(n.refused) < n.options.Refusals {
		n.refused = append(n.refused, Refusal[K]{Entity: h, Name: c.name, Holder: holder})
	}
	return world.Refused
}

// bind gives a living entity a name. If another entity has the name, bind returns that.
func (n *Names[K]) bind(h handle.Handle, name K) (holder handle.Handle, err error) {
	b := &binding[K]{hash: maphash.Comparable(n.seed, name), name: name, handle: h}
	had, other := n.byHandle.of(h), n.byName.named(b.hash, name)
	switch {
	case had != nil && had == other:
		return h, nil
	case other != nil && !n.driver.IsDying(other.handle):
		return other.handle, ErrTaken
	case other != nil:
		n.byHandle.remove(other)
		n.byName.replace(other, b)
		n.count.Add(-1)
	default:
		n.byName.put(b)
	}
	if had == nil {
		n.byHandle.put(b)
		n.count.Add(1)
		return h, nil
	}
	n.byHandle.replace(had, b)
	n.byName.remove(had) // last, so that a reader that looks for either name meanwhile finds one
	return h, nil
}

// unbind takes the name of an entity away.
func (n *Names[K]) unbind(h handle.Handle) error {
	b := n.byHandle.of(h)
	if b == nil {
		return ErrUnnamed
	}
	n.byName.remove(b)
	n.byHandle.remove(b)
	n.count.Add(-1)
	return nil
}

// forget drops what earlier refreshes refused.
func (n *Names[K]) forget() {
	if n.stale {
		clear(n.refused)
		n.refused, n.stale = n.refused[:0], false
	}
}

// adapter is Names as the world sees it. It keeps its methods out of the exported ones of
// Names.
type adapter[K Name] struct{ *Names[K] }

// Begin has nothing to do: names change at once.
func (k adapter[K]) Begin() {}

// Spare spares no entity.
func (k adapter[K]) Spare(*drive.DyingSet) bool { return false }

// Spread removes the names of dying entities.
func (k adapter[K]) Spread(d *drive.DyingSet, from int) {
	for _, h := range d.All()[from:] {
		if k.count.Load() == 0 {
			return
		}
		_ = k.unbind(h)
	}
}

// Settle ends the refresh.
func (k adapter[K]) Settle() {
	k.forget()
	k.stale = true
}

// Measure reports how many names there are.
func (k adapter[K]) Measure(add func(drive.Measured)) {
	add(drive.Measured{Name: "atoll_names", Help: "Names that entities have.", Of: k.label, Value: float64(k.Len())})
}
