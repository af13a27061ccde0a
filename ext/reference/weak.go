package reference

import (
	"encoding/json"

	"github.com/atoll-sim/atoll/internal/slots"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// Weak refers to an entity without keeping it alive. The zero value is empty.
//
// A Weak that finds its entity gone empties itself. For an entity that is marked it returns what
// World.Alive does. An entity that a port has created since the last refresh is not alive yet; a
// reference to it is kept, and finds it after the refresh.
//
// Ownership: a variable is for one goroutine at a time; copies are variables of
// their own.
type Weak struct {
	liveness *extend.Liveness // nil if empty, or not bound to a world yet
	handle   handle.Handle
}

// To returns a reference to an entity. It is empty if the entity is neither alive nor
// pending; for a system, function or hook, if it is not alive: what is pending depends on
// time. It may be called wherever by may be used.
func To(by world.Actor, h handle.Handle) Weak {
	if liveness, ok := find(by, h); ok {
		return Weak{liveness, h}
	}
	return Weak{}
}

// find returns the liveness of the actor's world, and whether the actor may refer to h: its entity
// is alive or, unless the actor is part of a tick, a port has given h to a caller. This is not
// by.Status, which reports Dying to some actors only.
func find(by world.Actor, h handle.Handle) (*extend.Liveness, bool) {
	d := engine.Of(by)
	liveness := d.Liveness()
	switch engine.Is(by).(type) {
	case *engine.Context, *engine.EntityContext:
		return liveness, by.Alive(h)
	}
	state, ok := liveness.State(h)
	if ok && state == slots.StatePending {
		ok = d.Given(h)
	}
	return liveness, ok
}

// Get returns the entity and whether it is alive. It costs what World.Alive does.
func (w *Weak) Get() (handle.Handle, bool) {
	if w.liveness != nil && w.liveness.Alive(w.handle) {
		return w.handle, true
	}
	return w.lost()
}

// lost empties a reference whose entity is gone. It keeps one that is not bound yet, and one
// whose entity is pending.
func (w *Weak) lost() (handle.Handle, bool) {
	if w.liveness == nil {
		return handle.None, false
	}
	switch state, ok := w.liveness.State(w.handle); {
	case !ok:
		*w = Weak{}
	case state == slots.StateAlive: // by now
		return w.handle, true
	}
	return handle.None, false
}

// Alive reports whether there is an entity and it is alive.
func (w *Weak) Alive() bool {
	_, ok := w.Get()
	return ok
}

// Clear empties the variable.
func (w *Weak) Clear() { *w = Weak{} }

// Destroy empties the variable at once. The next refresh destroys the
// entity, or if it is still pending the refresh that creates it. It reports whether there
// was an entity, alive or pending. Safe while a tick runs; it cannot be refused.
func (w *Weak) Destroy() bool {
	w.Get()
	if w.liveness == nil {
		return false
	}
	w.liveness.Release(w.handle)
	*w = Weak{}
	return true
}

// Equal reports whether both refer to the same entity of the same world, which is alive or
// not yet found to be dead. A reference that is empty, or whose world is gone,
// equals nothing, not even itself.
func (w Weak) Equal(s Weak) bool {
	return w.liveness != nil && w == s && !w.liveness.Gone()
}

// Bind makes a reference that was read from text or JSON refer to an entity of a
// world. It reports whether the entity is alive; if To would return an empty reference, this one is
// empty.
func (w *Weak) Bind(by world.Actor) bool {
	if w.handle == handle.None {
		return false
	}
	*w = To(by, w.handle)
	return w.Alive()
}

// String returns the handle as text, or "none".
func (w Weak) String() string {
	if w.handle == handle.None {
		return "none"
	}
	return w.handle.String()
}

// MarshalText writes the handle, or nothing for an empty reference.
func (w Weak) MarshalText() ([]byte, error) {
	if w.handle == handle.None {
		return []byte{}, nil
	}
	return w.handle.MarshalText()
}

// UnmarshalText reads what MarshalText wrote. Call Bind afterwards to give the reference its
// world. On an error the reference is unchanged.
func (w *Weak) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*w = Weak{}
		return nil
	}
	var h handle.Handle
	if err := h.UnmarshalText(text); err != nil {
		return err
	}
	*w = Weak{handle: h}
	return nil
}

// MarshalJSON writes the handle as JSON, or null for an empty reference.
func (w Weak) MarshalJSON() ([]byte, error) {
	if w.handle == handle.None {
		return []byte("null"), nil
	}
	return json.Marshal(w.handle)
}

// UnmarshalJSON reads what MarshalJSON wrote. As UnmarshalText.
func (w *Weak) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*w = Weak{}
		return nil
	}
	var h handle.Handle
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	*w = Weak{handle: h}
	return nil
}
