package prefab

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/extend/remap"
	"github.com/atoll-sim/atoll/world"
)

// Copy copies an entity with all that are below it by the relations, and returns the handle of its
// copy. Each copy is in the shard of its original, with its components and flags, and with its
// place among the copies. The copy of the root has no parent, because that of the original may have
// no room: give it one by Relation.AddChild or Put. Where a component's handle.Handle names one of
// the copied entities, the copy's names the copy of that, also within arrays, slices, maps,
// pointers and interfaces, as with snapshot.Insert. Everything else is copied by Component.CloneBy
// or assignment, and refused if inputs are recorded or replayed, as by world.Copy. Names, timers,
// asks and messages are not copied, and a timer.ID or async.ID in a component is None.
//
// With a *World everything exists at once. With a *Context the copies do; their places are
// requests, which are applied at the end of the tick. Then all originals must be in the system's
// shard, and the system must have declared, with Write or Creates, that it writes their components.
// Other actors cannot copy.
//
// Copy copies nothing and returns an error if an entity is not alive or not of the system's shard
// (ErrStale), the world is full (ErrIndexes, ErrChunks), the outbox has no room (ErrFull), or a
// component has a reference.Owner, or a relation has no room with a *World (hierarchy.ErrRoom,
// ErrLimit). After an error for a value that contains itself, the next refresh destroys what was
// copied. Lists longer than PlacesMax are copied, too. It costs about 300 ns an entity, and a
// change of a relation for each child.
func Copy(by world.Actor, root handle.Handle, rs ...*hierarchy.Relation) (handle.Handle, error) {
	if by == nil {
		panic("prefab: Copy by a nil Actor; pass a *world.World or a *world.Context")
	}
	x := copiers.Get().(*copier)
	x.engine, x.by = engine.Of(by), by
	err := x.find(by, root, rs)
	if err == nil {
		err = x.engine.CopyAll(by, &x.Copying, x.linking)
	}
	if err == nil {
		err = x.complete(by)
	}
	h := handle.None
	if err == nil {
		h = x.Made[0]
	}
	x.reset()
	copiers.Put(x)
	return h, err
}

// copiers keeps what Copy needs for the next call.
var copiers = sync.Pool{New: func() any {
	x := &copier{at: map[handle.Handle]int{}}
	x.linking = x.link
	x.mapper = remap.New(nil, ownerType, func(h handle.Handle) (handle.Handle, bool) {
		if i, ok := x.at[h]; ok {
			return x.Made[i], true
		}
		return h, true
	})
	return x
}}

// copier is a Copy that is under way.
type copier struct {
	extend.Copying
	engine    *engine.World
	by        world.Actor
	linking   func() error // link
	relations []copiedRelation
	at        map[handle.Handle]int // in Of
	mapper    *remap.Mapper
	types     []copiedType // by number of the component
}

// copiedRelation is a relation that Copy follows.
type copiedRelation struct {
	*hierarchy.Relation
	family engine.Family
}

// copiedType is what Copy knows of the type of a component.
type copiedType struct {
	of    reflect.Type
	owner bool      // it holds a reference.Owner
	remap remap.Map // or nil
}

// reset empties it, so that it keeps no world alive.
func (c *copier) reset() {
	c.Reset()
	clear(c.at)
	clear(c.relations)
	c.engine, c.by, c.relations = nil, nil, c.relations[:0]
}

// typeOf returns what is known of a component's type.
func (c *copier) typeOf(component int) *copiedType {
	for component >= len(c.types) {
		c.types = append(c.types, copiedType{})
	}
	t := &c.types[component]
	if of := c.engine.Space().TypeOf(component).Of; t.of != of {
		*t = copiedType{of, remap.Holds(of, ownerType), c.mapper.Of(of)}
	}
	return t
}

// find lists the entities, and counts the requests.
func (c *copier) find(by world.Actor, root handle.Handle, rs []*hierarchy.Relation) error {
	for _, r := range rs {
		if r == nil {
			panic("prefab: Copy with a nil Relation; pass those of hierarchy.New")
		}
		f, ok := c.engine.Extension(r).(engine.Family)
		if !ok {
			panic(fmt.Sprintf("prefab: Copy with relation %q, which belongs to another world; use that world's own", r.Name()))
		}
		if one := (copiedRelation{r, f}); !slices.Contains(c.relations, one) {
			c.relations = append(c.relations, one)
		}
		c.RequestSize = f.LinkSize()
	}
	c.Of, c.at[root] = append(c.Of, root), 0
	for i := 0; i < len(c.Of); i++ {
		components, err := c.engine.MayCopy(by, "prefab.Copy", c.Of[i])
		if err != nil {
			return err
		}
		for id := range components.All {
			t, space := c.typeOf(id), c.engine.Space()
			if t.owner {
				return fmt.Errorf("prefab: Copy of %v: component %q: %w", c.Of[i], c.engine.ComponentName(id), remap.ErrOwner)
			}
			if err := c.engine.Shared(id, space.Columns[id].At(space.Locate(c.Of[i])), remap.HoldsHandles); err != nil {
				return fmt.Errorf("prefab: Copy of %v: %w", c.Of[i], err)
			}
		}
		for _, r := range c.relations {
			c.follow(r, c.Of[i])
		}
	}
	return nil
}

// follow lists the children of an entity.
func (c *copier) follow(r copiedRelation, parent handle.Handle) {
	all, fixed := r.family.Children(parent)
	switch {
	case len(all) == 0:
	case fixed:
		c.Requests++
	case r.Options().Places > 0:
		c.Requests += 2
	}
	for _, h := range all {
		if h == handle.None {
			continue
		}
		c.Requests++
		if _, ok := c.at[h]; !ok {
			c.at[h] = len(c.Of)
			c.Of = append(c.Of, h)
		}
	}
}

// complete gives the copies each other's handles, and their places.
func (c *copier) complete(by world.Actor) (err error) {
	space, done := c.engine.Space(), false
	defer func() {
		if done {
			return
		}
		for _, h := range c.Made {
			space.Mark(space.Locate(h))
		}
	}()
	defer remap.Catch(func(e error) { err = fmt.Errorf("prefab: Copy of %v: %w", c.Of[0], e) })
	for _, h := range c.Made {
		l := space.Locate(h)
		for id := range space.Set(l).All {
			if f := c.typeOf(id).remap; f != nil {
				f(space.Columns[id].AtWrite(l))
			}
		}
	}
	if _, atOnce := engine.Is(by).(*engine.World); !atOnce {
		err = c.placeAll(by)
	}
	done = err == nil
	return err
}

// link gives the copies that the idle world is about to make their places, all or none.
func (c *copier) link() error {
	err := c.placeAll(c.by)
	if err != nil {
		for _, h := range c.Made {
			for _, r := range c.relations {
				r.family.Unlink(h)
			}
		}
	}
	return err
}

// placeAll gives the copies their places.
func (c *copier) placeAll(by world.Actor) error {
	for i := range c.Of {
		for _, r := range c.relations {
			if err := c.place(by, r, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// place gives the children of a copy their places.
func (c *copier) place(by world.Actor, r copiedRelation, i int) error {
	old, parent := c.Of[i], c.Made[i]
	all, fixed := r.family.Children(old)
	if len(all) == 0 {
		return nil
	}
	free := !fixed && r.Options().Places > 0 // a fixed list of others could refuse the copy
	if fixed || free {
		if err := r.family.Fix(by, parent, len(all)); err != nil {
			return err
		}
	}
	hole := fixed || free
	for at := range all {
		all, _ = r.family.Children(old) // asked again, because a change of the relation may move it
		if all[at] == handle.None {
			hole = true
			continue
		}
		child, err := c.Made[c.at[all[at]]], error(nil)
		switch _, atOnce := engine.Is(by).(*engine.World); {
		case atOnce && hole:
			err = r.family.Link(child, parent, at)
		case atOnce:
			err = r.family.Link(child, parent, -1)
		case hole:
			err = r.family.Place(by, child, parent, at)
		default:
			err = r.AddChild(by, parent, child)
		}
		if err != nil {
			return err
		}
	}
	if free {
		return r.family.Fix(by, parent, 0)
	}
	return nil
}
