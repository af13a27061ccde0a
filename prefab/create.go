package prefab

import (
	"cmp"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Create makes an instance, and returns the handle of its root. with are values for the root, of
// components that it has, and a shard.
//
// All entities are made in one shard: by a *World, a *Context and an *EntityContext at once; by a
// *Port by requests, in one batch or in the one that is under way. By a *World the children have their
// parents at once. By a system they get them at the end of the tick, by a function or a hook at the
// end of the next one: those whose parent is gone by then have none. A port's get them as they are
// created. A system declares the prefab with Build.Creates.
//
// It returns ErrIndexes or ErrChunks if the world is full, and ErrFull if a port's queue, or the outbox
// of a system, has no room for the whole instance. Nothing is made then. The errors of Relation.Put are
// returned to a *World alone; what it has made then is destroyed by the next refresh. Port.Within
// waits for room; Port.Notify learns the outcome of the root. An instance costs as much as its entities
// by Bundle.Create, and its children by Relation.AddChild.
func (p *Prefab) Create(by world.Actor, with ...Part) (handle.Handle, error) {
	x := p.take(by, "Prefab.Create")
	x.setAll(by, with)
	err := x.create(by)
	h := handle.None
	if err == nil {
		h = x.handles[0]
	}
	p.put(x)
	return h, err
}

// Append is Create that appends the handles of all entities of the instance to dst, by their numbers.
func (p *Prefab) Append(dst []handle.Handle, by world.Actor, with ...Part) ([]handle.Handle, error) {
	x := p.take(by, "Prefab.Append")
	x.setAll(by, with)
	err := x.create(by)
	if err == nil {
		dst = append(dst, x.handles...)
	}
	p.put(x)
	return dst, err
}

// CreateN makes n instances, each as Create does, and returns how many it made before an error. Each is
// made whole or not at all; all of them together are not, because no queue has room for many. each, if
// not nil, may change an instance before it is made. A *Port waits for room for each instance, until
// the context of Port.Within ends; within a Port.Batch all instances are part of that. It panics if n
// is negative.
func (p *Prefab) CreateN(by world.Actor, n int, each func(i int, x *Instance)) (made int, err error) {
	const call = "Prefab.CreateN"
	p.mustBe(call)
	if n < 0 {
		p.refuse(by)
		panic(fmt.Sprintf("prefab: %s of %q: %d instances; want 0 or more", call, p.name, n))
	}
	if n == 0 {
		return 0, p.group.Nothing(by, call)
	}
	ctx := p.group.Within(by)
	for ; made < n; made++ {
		x := p.take(by, call)
		if each != nil {
			x.callEach(by, each, made)
		}
		if ctx != nil && made > 0 {
			by.(*world.Port).Within(ctx)
		}
		err := x.create(by)
		p.put(x)
		if err != nil {
			return made, fmt.Errorf("%w (after %d of %d)", err, made, n)
		}
	}
	return made, nil
}

// create makes the instance.
func (x *Instance) create(by world.Actor) (err error) {
	p := x.of
	m := &x.making
	x.cloneAll(by) // before handles are given: what a CloneBy creates would get them
	if *m, x.handles, err = p.group.Begin(by, x.call, x.shard, x.handles[:0]); err != nil {
		return err
	}
	hs, made, done := x.handles, 0, false
	defer func() {
		if !done {
			p.undo(by, hs[:made])
			err = p.group.End(m, cmp.Or(err, errPanicked))
		}
	}()
	x.complete()
	for i := range p.nodes {
		p.group.Create(m, i, x.row(i))
		made++
	}
	for i := range p.nodes[1:] {
		n := &p.nodes[i+1]
		parent, child := hs[n.parent], hs[i+1]
		if n.place < 0 {
			err = n.relation.AddChild(by, parent, child)
		} else {
			err = n.relation.Put(by, child, parent, n.place)
		}
		if err != nil {
			return err
		}
	}
	done = true
	return p.group.End(m, nil)
}

// errPanicked is what a port's batch returns in which a call panicked, if that was recovered.
var errPanicked = fmt.Errorf("%w: a call of a Prefab in the batch; so nothing of it is sent", world.ErrFailed)

// undo destroys what was made at once.
func (p *Prefab) undo(by world.Actor, made []handle.Handle) {
	p.refuse(by)
	space := p.driver.Space()
	for _, h := range made {
		if l := space.Locate(h); l != 0 {
			space.Mark(l)
		}
	}
}

// refuseUnless refuses if a call has not come to its end, for a panic or Goexit of the caller's code.
func (p *Prefab) refuseUnless(done *bool, by world.Actor) {
	if !*done {
		p.refuse(by)
	}
}

// refuse ends a port's call that is about to panic, and refuses the batch that it is in.
func (p *Prefab) refuse(by world.Actor) {
	if port, ok := by.(*world.Port); ok && port != nil {
		_ = p.driver.Refuse(port, errPanicked)
	}
}
