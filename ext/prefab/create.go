package prefab

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive/remap"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/world"
)

// Create makes an instance, and returns the handle of its root. with may have values for components
// of the root, and a shard.
//
// All entities are made in one shard. A *World, a *Context and an *EntityContext make them at once;
// a *Port sends requests, in one batch or in the one that is under way. When the children get their
// parents depends on the actor: at once with a *World, at the end of the tick in a system, at the
// end of the next tick in a function or a hook, and as they are created with a port. A child whose
// parent is gone by then has none. A system declares the prefab with Build.Creates.
//
// It returns ErrIndexes or ErrChunks if the world is full, and ErrFull if a port's queue, or the
// outbox of a system, has no room for the whole instance. Only a *World gets the errors of
// Relation.Put. With an error nothing is made. Port.Within waits for room; Port.Notify learns the
// outcome of the root. An instance costs as much as creating its entities by Bundle.Create, and a
// Relation.AddChild for each child.
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

// Append is Create that appends the handles of all entities of the instance to dst, by their
// numbers.
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

// CreateN makes n instances, each as Create does, and returns how many it made before an error.
// Each is made whole or not at all. All together are not, because no queue has room for many. If
// each is not nil, it may change an instance before it is made. With a *Port it waits for room for
// each instance, until the context of Port.Within ends; within a Port.Batch all instances are part
// of that. It panics if n is negative.
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
	if err := p.mayShare(); err != nil {
		return p.driver.Refuse(by, err)
	}
	x.cloneAll(by) // before handles are allocated: entities that a CloneBy creates must not get them
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
	_, atOnce := by.(*world.World)
	if atOnce { // before anything is created, because a relation may have no room
		if err = x.link(); err != nil {
			return err
		}
	}
	for i := range p.nodes {
		p.group.Create(m, i, x.row(i))
		made++
	}
	for i := range p.nodes[1:] {
		if atOnce {
			break
		}
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

// link gives the children their parents, all or none, before they are created.
func (x *Instance) link() (err error) {
	linked := 0
	defer func() {
		if linked == len(x.handles)-1 {
			return
		}
		for i := linked; i > 0; i-- {
			n := &x.of.nodes[i]
			n.family.Unlink(x.handles[n.parent])
		}
	}()
	for i := range x.of.nodes[1:] {
		n := &x.of.nodes[i+1]
		if err = n.family.Link(x.handles[i+1], x.handles[n.parent], n.place); err != nil {
			return err
		}
		linked++
	}
	return nil
}

// mayShare returns an error if instances would share something.
func (p *Prefab) mayShare() error {
	for i := range p.nodes {
		n, copied := &p.nodes[i], func(reflect.Type) bool { return false }
		if !n.copied {
			continue
		}
		if n.local {
			copied = remap.HoldsHandles
		}
		for _, f := range n.fields {
			if err := p.driver.Shared(f.component, mem.Pointer{Address: n.value}.At(1, f.offset).Address, copied); err != nil {
				return fmt.Errorf("prefab: an instance of %q: %w", p.name, err)
			}
		}
	}
	return nil
}

// errPanicked is what a port's batch returns if a call in it panicked and the caller recovered.
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

// refuseUnless refuses the batch if a call has not returned, because of a panic or Goexit in the
// caller's code.
func (p *Prefab) refuseUnless(done *bool, by world.Actor) {
	if !*done {
		p.refuse(by)
	}
}

// refuse ends a port's call that is about to panic, and refuses the batch that the call is in.
func (p *Prefab) refuse(by world.Actor) {
	if port, ok := by.(*world.Port); ok && port != nil {
		_ = p.driver.Refuse(port, errPanicked)
	}
}
