package engine

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Copy makes an entity with the same components as another, in its shard and at once, each copied
// by Component.CloneBy or, if it has none, by assignment. It is for the idle world and for systems.
// After an error there is no copy.
func Copy(by Self, h handle.Handle) (handle.Handle, error) {
	const call = "world.Copy"
	if t, ok := by.(*Tx); ok {
		return t.copyIn(h)
	}
	if err := mayCopy(by, call); err != nil {
		return handle.None, err
	}
	l, err := copied(by, h)
	if err != nil {
		return handle.None, err
	}
	w := by.world()
	if err := w.mayShare(l); err != nil {
		return handle.None, fmt.Errorf("world: Copy of %v: %w", h, err)
	}
	clones := w.clone(by, l)
	w.copies(by)
	return w.shardOf(l).Copy(l, clones)
}

// mayCopy panics about an actor that cannot copy, or not now. It returns the error of a closed
// world. It changes nothing, but refuses the batch of a port.
func mayCopy(by Self, call string) error {
	mustActor(by, call)
	switch by := by.(type) {
	case *World:
		return by.ready(call)
	case *Context:
		by.mustRun(call)
		return nil
	case *Tx:
		if err := by.mayWrite(call); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s", ErrNotInTx, call)
	}
	turnDownBy(by)
	panic(fmt.Sprintf("world: %s by a %s, which cannot look at an entity's components; pass a *World or a *Context", call, nameOf(by)))
}

// copies notes that an actor is about to copy: by the idle world that is a change.
func (w *World) copies(by Self) {
	if by == Self(w) {
		w.Touched()
	}
}

// clone copies the components that have a CloneBy, which must not move rows: its calls panic on the
// idle world. A panic of the function goes on to the caller, before anything is made.
func (w *World) clone(by Self, l slots.Loc) []mem.Address {
	if by == Self(w) {
		defer w.Hold("a CloneBy")()
	}
	return w.shardOf(l).Clone(l)
}

// mayShare returns an error, and changes nothing, if a copy of the entity at l would share
// something, in a world whose inputs are recorded or replayed.
func (w *World) mayShare(l slots.Loc) error {
	if !w.logged.Load() {
		return nil
	}
	for id := range w.space.Set(l).All {
		if err := w.Shared(id, w.space.Columns[id].At(l), nil); err != nil {
			return err
		}
	}
	return nil
}

// Shared returns what a plain copy of a component's value would share with the value, as an error
// that says what to do; or nil, also if the component has a CloneBy, or if the world's inputs are
// neither recorded nor replayed. copied, which may be nil, reports that slices, pointers and maps
// of a type are copied as well. Safe from any goroutine.
func (w *World) Shared(component int, value mem.Address, copied func(reflect.Type) bool) error {
	of := w.space.TypeOf(component)
	if !w.logged.Load() || of.Plain || w.space.Cloned(component) {
		return nil
	}
	var err error
	shared(reflect.NewAt(of.Of, value).Elem(), of.Of.String(), func(v reflect.Value, path string) bool {
		if copied == nil || !copied(v.Type()) || sharesWithin(v.Type()) {
			err = w.sharedError(component, path, v.Kind())
		}
		return err == nil
	})
	return err
}

// sharedError is the error of Shared for a part of a component's value.
func (w *World) sharedError(component int, path string, kind reflect.Kind) error {
	return fmt.Errorf("component %q: two entities would share %s, a %s, which would be two in a world that is loaded or replayed; copy it by Component.CloneBy, which may assign what is never written",
		w.components[component].name, path, kind)
}

// sharesWithin reports whether a copy of a slice, pointer or map of this type, with its elements,
// still shares something.
func sharesWithin(t reflect.Type) bool {
	_, kind := sharing(t.Elem(), "")
	if kind == 0 && t.Kind() == reflect.Map {
		_, kind = sharing(t.Key(), "")
	}
	return kind != 0
}

// MayShare reports whether values that share something with each other are to be refused, because
// the world's inputs are recorded or replayed. Safe from any goroutine.
func (c *Component) MayShare() bool {
	return c.w.logged.Load() && !c.w.space.TypeOf(c.id).Plain && !c.w.space.Cloned(c.id)
}

// MustNotShare returns an error, and refuses the call and the batch of a port, if two of the values
// of a SetN share something. values is a slice of the component's type.
func (c *Component) MustNotShare(by Self, values any) error {
	w := c.w
	var err error
	all, seen := reflect.ValueOf(values), map[uintptr]bool{}
	for i := range all.Len() {
		shared(all.Index(i), w.components[c.id].typ.String(), func(v reflect.Value, path string) bool {
			if at := v.Pointer(); seen[at] {
				err = fmt.Errorf("world: Component.SetN: %w", w.sharedError(c.id, path, v.Kind()))
			} else {
				seen[at] = true
			}
			return err == nil
		})
	}
	if p, ok := by.(*Port); ok && err != nil {
		return p.turnDown(err)
	}
	return err
}

// shared calls f with each part of a value that a plain copy shares with it, and the path to the
// part, until f returns false; then it returns false. It does not go on behind such a part.
func shared(v reflect.Value, path string, f func(v reflect.Value, path string) bool) bool {
	t := v.Type()
	if _, kind := sharing(t, path); kind == 0 {
		return true
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if !shared(v.Field(i), path+"."+t.Field(i).Name, f) {
				return false
			}
		}
	case reflect.Array:
		for i := range t.Len() {
			if !shared(v.Index(i), fmt.Sprintf("%s[%d]", path, i), f) {
				return false
			}
		}
	case reflect.Interface:
		return v.IsNil() || shared(v.Elem(), path, f)
	case reflect.Slice:
		return v.Cap() == 0 || f(v, path)
	default:
		return v.IsNil() || f(v, path)
	}
	return true
}

// copied returns the location of an entity that an idle world or a system is about to copy. It
// returns ErrStale, and changes nothing, if the system does not have it; it panics if the system
// has not asked to write its components.
func copied(by Self, h handle.Handle) (slots.Loc, error) {
	w := by.world()
	l := w.space.Locate(h)
	c, system := by.(*Context)
	switch {
	case l == 0 || system && !c.owns(l):
		return 0, ErrStale
	case w.engine.Extensions.Left(h):
		return 0, ErrAway
	case !system:
		w.shardOf(l).Loop = w.loop
	default:
		if missing := w.space.Set(l).Minus(c.acting.Access.Writes); missing.Len() > 0 {
			panic(fmt.Sprintf("world: %s copies an entity with %s without having asked to write it; call world.Write or b.Creates in its constructor",
				c.who(), w.ComponentNames(missing)))
		}
	}
	return l, nil
}

// MayCopy returns the components of an entity that an actor may copy, as Copy says; call is the
// name for messages. It changes nothing.
func (w *World) MayCopy(by Actor, call string, h handle.Handle) (*store.Set, error) {
	self := SelfOf(by, call)
	if err := mayCopy(self, call); err != nil {
		return nil, err
	}
	l, err := copied(self, h)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", err, h)
	}
	return w.space.Set(l), nil
}

// CopyAll copies entities that MayCopy has accepted, with their flags, all or none, if there is
// room for them and for the requests. For the idle world it calls link before it copies, when
// x.Made has the handles that the copies are going to have; an error of link is its own. After an
// error of another actor than the idle world, room may have been made, and no entity.
func (w *World) CopyAll(by Actor, x *extend.Copying, link func() error) error {
	actor := by.self()
	for _, h := range x.Of { // before there is room, because a CloneBy may create
		x.Clones = append(x.Clones, w.clone(actor, w.space.Locate(h)))
	}
	if err := w.roomFor(actor, x); err != nil {
		return err
	}
	if actor == Self(w) {
		if err := w.link(x, link); err != nil {
			return err
		}
	}
	w.copies(actor)
	for i, h := range x.Of {
		l := w.space.Locate(h)
		s := w.shardOf(l)
		made, err := s.Copy(l, x.Clones[i])
		if err != nil {
			panic(fmt.Sprintf("world: a copy has less room than was reserved: %v", err))
		}
		if f := w.space.FlagsAt(l); f != 0 {
			s.SetFlags(w.space.Locate(made), f, 0)
			if actor == Self(w) {
				s.PublishFlags()
			}
		}
		x.Made = append(x.Made, made)
	}
	return nil
}

// link has the copies linked that the idle world is about to make, and then makes room for them:
// room is a change, too. After an error nothing was copied.
func (w *World) link(x *extend.Copying, link func() error) error {
	for len(x.Next) < len(w.shards) {
		x.Next = append(x.Next, nil)
	}
	for i, n := range x.Shards {
		x.Next[i], _ = w.shards[i].AppendNext(x.Next[i][:0], n) // roomFor has checked it
		x.Shards[i] = 0                                         // from here on: how many are given
	}
	for _, h := range x.Of {
		i := w.space.Owner(w.space.Locate(h))
		x.Made = append(x.Made, x.Next[i][x.Shards[i]])
		x.Shards[i]++
	}
	if err := link(); err != nil {
		return err
	}
	x.Made = x.Made[:0]
	return w.prepare(x)
}

// roomFor makes sure that there is room for copies, or returns why not. The idle world only looks.
func (w *World) roomFor(actor Self, x *extend.Copying) error {
	if c, ok := actor.(*Context); ok && x.Requests > 0 {
		if q := c.out.open(); !q.Room(x.Requests, x.RequestSize) {
			return c.out.refuse(q, x.Requests, x.RequestSize)
		}
	}
	if x.Tables == nil {
		x.Tables = map[*store.Table]int{}
	}
	x.Shards = append(x.Shards, make([]int, len(w.shards))...)
	for _, h := range x.Of {
		c, _ := w.space.At(w.space.Locate(h))
		x.Tables[c.Table()]++
		x.Shards[c.Table().Shard().ID()]++
	}
	for i, n := range x.Shards {
		if n == 0 { // 0: the actor may not be allowed to look at it
			continue
		}
		if err := w.shards[i].CheckLeft(n); err != nil {
			return err
		}
	}
	if actor == Self(w) {
		chunks := 0
		for t, n := range x.Tables {
			chunks += t.Needs(n)
		}
		return w.space.CheckChunks(chunks)
	}
	return w.prepare(x)
}

// prepare makes room for copies, in the tables of the entities, whose shards the actor of CopyAll
// has. After an error some tables have it.
func (w *World) prepare(x *extend.Copying) error {
	for _, h := range x.Of { // in this order, because the order of a map varies
		c, _ := w.space.At(w.space.Locate(h))
		t := c.Table()
		if err := t.Shard().Prepare(t, x.Tables[t]); err != nil {
			return err
		}
		x.Tables[t] = 0
	}
	return nil
}
